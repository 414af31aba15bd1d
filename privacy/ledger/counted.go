package ledger

import "dyad/privacy/account"

// Counted names the total that a cap uses, as a cap line does. Lines of earlier versions have none: Planned.
type Counted string

// The totals, and what they may claim (docs/theory.md#looking).
const (
	Planned  Counted = ""         // of budgets that were fixed beforehand: account.Total.Planned
	Filtered Counted = "filter"   // of budgets chosen by looking, under a cap from before the first charge: Filter
	Odometer Counted = "odometer" // of budgets chosen by looking, under any cap: Odometer
)

func (c Counted) known() bool { return c == Planned || c == Filtered || c == Odometer }

// String is the total in words.
func (c Counted) String() string {
	switch c {
	case Filtered:
		return "budgets chosen by looking, under a cap from before the first run"
	case Odometer:
		return "budgets chosen by looking, under a cap that was set or raised later"
	}
	return "budgets that were fixed beforehand"
}

// spent is the epsilon of everything composed, as the cap counts.
func (c limit) spent(t *account.Total) float64 {
	switch c.by {
	case Filtered:
		return t.Filter(c.Delta)
	case Odometer:
		return t.Odometer(c.Delta)
	}
	return t.Planned(c.Delta)
}
