package ledger

import "dyad/privacy/account"

// Counted is the name of the total that a cap limits. The line of the cap in the ledger contains this name.
// Cap lines of earlier versions have no name, which means Planned.
type Counted string

// The totals and the budgets for which they are valid (docs/theory.md#looking).
const (
	Planned  Counted = ""         // for budgets that were fixed beforehand: account.Total.Planned
	Filtered Counted = "filter"   // for budgets chosen by looking, under a cap from before the first charge: Filter
	Odometer Counted = "odometer" // for budgets chosen by looking, under any cap: Odometer
)

func (c Counted) known() bool { return c == Planned || c == Filtered || c == Odometer }

// String returns the total in words.
func (c Counted) String() string {
	switch c {
	case Filtered:
		return "budgets chosen after looking at earlier results, under a cap set before the first run"
	case Odometer:
		return "budgets chosen after looking at earlier results, with a cap that was set or raised after the first " +
			"run"
	}
	return "budgets that were fixed beforehand"
}

// spent returns the epsilon of a composition by the total of the cap.
func (c limit) spent(t *account.Total) float64 {
	switch c.by {
	case Filtered:
		return t.Filter(c.Delta)
	case Odometer:
		return t.Odometer(c.Delta)
	}
	return t.Planned(c.Delta)
}
