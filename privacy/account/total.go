package account

import (
	"maps"
	"slices"
)

// Total is the accountant of plans and ledgers: GDP, and where batches were drawn in
// secret PLD as well, whichever answer is smaller. Both are bounds for everything
// composed.
//
// GDP counts a release about a batch as if the batch were known. It may
// (docs/theory.md#total): given the coins, which are the same for two neighbours, it is a
// Gaussian release whose query moves by at most its sensitivity (on Poisson batches twice
// that for every record of the owner), or does not move. PLD counts the release with its
// amplification, and everything else by a Gaussian release of the same mu (a mu-GDP release
// is dominated by one: Dong, Roth and Su 2022, Corollary 2.13 and Theorem 2.10).
//
// The zero value has composed nothing. Not safe for concurrent use.
type Total struct {
	gdp GDP
	pld PLD
}

var _ Accountant = (*Total)(nil)

// Compose adds the event. It knows every event that a ledger records.
func (a *Total) Compose(e Event) error {
	next := a.gdp
	if err := next.compose(e, true); err != nil {
		return err
	}
	if err := a.pld.composeByGDP(e); err != nil {
		return err
	}
	a.gdp = next
	return nil
}

// Mu is a mu such that everything composed is mu-GDP, rounded up. If Sampled, it holds
// even for batches that become known, and Epsilon and Delta are better.
func (a *Total) Mu() float64 { return a.gdp.Mu() }

// Sampled says that a release about a secret batch was composed.
func (a *Total) Sampled() bool { return a.gdp.sampled }

// Epsilon implements Accountant.
func (a *Total) Epsilon(delta float64) float64 {
	if !a.gdp.sampled {
		return a.gdp.Epsilon(delta)
	}
	return min(a.gdp.Epsilon(delta), a.pld.Epsilon(delta))
}

// Delta implements Accountant.
func (a *Total) Delta(epsilon float64) float64 {
	if !a.gdp.sampled {
		return a.gdp.Delta(epsilon)
	}
	return min(a.gdp.Delta(epsilon), a.pld.Delta(epsilon))
}

// composeByGDP composes e, with events that PLD does not know counted by their mu or
// their pure epsilon. GDP has composed e: it is valid.
func (a *PLD) composeByGDP(e Event) error {
	f := e.facts()
	if f.shape == composed {
		next := *a
		next.releases, next.index = slices.Clone(a.releases), maps.Clone(a.index)
		err := each(f.parts, next.composeByGDP)
		if err == nil {
			*a = next
		}
		return err
	}
	if !f.joint && f.shape != parallel {
		return a.Compose(e)
	}
	var g GDP
	if err := g.compose(e, true); err != nil {
		return err
	}
	switch mu := g.Mu(); {
	case mu == 0:
		return nil
	case !(mu < maxMu):
		return a.Compose(NonPrivateEvent{})
	case g.rest == 0:
		return a.Compose(PureEvent{Epsilon: g.pure.value()})
	default:
		return a.Compose(GaussianEvent{Sensitivity: mu, Sigma: 1})
	}
}

// maxMu is more than any guarantee is worth.
const maxMu = 1e6
