package account

import (
	"maps"
	"math"
	"slices"
)

// Total is the accountant of plans and ledgers: GDP, and where batches were drawn in
// secret PLD as well, and RDP where the number of runs was, whichever answer is smaller. All are
// bounds for everything composed.
//
// GDP counts a release about a batch as if the batch were known. It may
// (docs/theory.md#total): given the coins, which are the same for two neighbours, it is a
// Gaussian release whose query moves by at most its sensitivity (on Poisson batches twice
// that for every record of the owner), or does not move. PLD counts the release with its
// amplification, and everything else by a Gaussian release of the same mu (a mu-GDP release
// is dominated by one: Dong, Roth and Su 2022, Corollary 2.13 and Theorem 2.10). RDP, and the profile if there is one
// random stopping, count everything but random stopping by a Gaussian release of the same mu, which dominates it as well.
//
// The zero value has composed nothing. Not safe for concurrent use.
type Total struct {
	gdp GDP
	pld PLD

	stopped    RDP // of what has a secret number of runs
	selection  RandomStoppingEvent
	selections int // how many, 2 for more; selection is the last
	others     GDP // of the rest
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
	return a.split(e)
}

// split adds e, which is known to be valid, to stopped and others.
func (a *Total) split(e Event) error {
	switch f := e.facts(); {
	case f.shape == composed:
		return each(f.parts, a.split)
	case f.stopped:
		a.stopped.Orders = stoppedOrders
		a.selection, a.selections = f.event.(RandomStoppingEvent), min(a.selections+min(f.count, 2), 2)
		return a.stopped.Compose(e)
	}
	return a.others.compose(e, true)
}

// stoppedOrders are 1 + 1.08^k from 1.2 to about 5000.
var stoppedOrders = func() (orders []float64) {
	for t := 0.2; t < 5000; t *= 1.08 {
		orders = append(orders, 1+t)
	}
	return orders
}()

// renyi is random stopping and a release of mu, which stands for the rest.
func (a *Total) renyi(mu float64) *RDP {
	all := a.stopped
	switch {
	case mu == 0:
	case !(mu < maxMu):
		_ = all.Compose(NonPrivateEvent{}) // always known
	default:
		_ = all.Compose(GaussianEvent{Sensitivity: mu, Sigma: 1})
	}
	return &all
}

// stoppedEpsilon is the epsilon of random stopping and a release of mu, by Renyi divergences or the profile.
func (a *Total) stoppedEpsilon(mu, delta float64) float64 {
	best := a.renyi(mu).Epsilon(delta)
	if a.selections == 1 && best > 0 && delta > 0 {
		if p, ok := a.selection.profile(mu); ok {
			best = min(best, smallestEpsilon(delta, best, p.delta))
		}
	}
	return best
}

// stoppedDelta is the delta of the same.
func (a *Total) stoppedDelta(mu, epsilon float64) float64 {
	best := a.renyi(mu).Delta(epsilon)
	if a.selections == 1 {
		if p, ok := a.selection.profile(mu); ok {
			best = min(best, p.delta(epsilon))
		}
	}
	return best
}

func (a *Total) hidesRuns() bool { return a.selections > 0 }

// Mu is a mu such that everything composed is mu-GDP, rounded up. If Sampled, it holds
// even for batches and numbers of runs that become known, and Epsilon and Delta are better.
func (a *Total) Mu() float64 { return a.gdp.Mu() }

// Sampled reports whether a release about a secret batch, or with a secret number of runs, was
// composed.
func (a *Total) Sampled() bool { return a.gdp.sampled || a.hidesRuns() }

// Epsilon implements Accountant.
func (a *Total) Epsilon(delta float64) float64 {
	best := a.gdp.Epsilon(delta)
	if a.gdp.sampled {
		best = min(best, a.pld.Epsilon(delta))
	}
	if a.hidesRuns() {
		best = min(best, a.stoppedEpsilon(a.others.Mu(), delta))
		if pure := a.others.pure.value(); pure > 0 {
			best = min(best, addUp(pure, a.stoppedEpsilon(rootUp(a.others.rest), delta)))
		}
	}
	return best
}

// Delta implements Accountant.
func (a *Total) Delta(epsilon float64) float64 {
	best := a.gdp.Delta(epsilon)
	if a.gdp.sampled {
		best = min(best, a.pld.Delta(epsilon))
	}
	if a.hidesRuns() {
		best = min(best, a.stoppedDelta(a.others.Mu(), epsilon))
		if pure := a.others.pure.value(); pure > 0 && epsilon > pure {
			best = min(best, a.stoppedDelta(rootUp(a.others.rest), math.Nextafter(epsilon-pure, 0)))
		}
	}
	return best
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
