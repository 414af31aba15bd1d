package account

import (
	"maps"
	"math"
	"slices"
)

// Total is the accountant of plans and ledgers. It uses GDP for all events. It also uses PLD if batches were
// drawn in secret, and RDP if a number of runs is secret. Its answer is the smallest of these bounds; each of
// them holds for the whole composition.
//
// GDP counts a release about a batch as if the batch were known, which is valid (docs/theory.md#total). The
// coins that select the batch are the same for two neighbouring data sets. Given these coins, the release is
// Gaussian. Its query moves by at most its sensitivity, or not at all if the changed record is not in the
// batch. On Poisson batches the query moves by at most twice the sensitivity for every record of the owner.
//
// PLD takes the amplification by the secret batch into account. If PLD does not support an event, it counts
// a pure event as a pure release of the same epsilon. It counts any other such event as a Gaussian release
// of the same mu, because a Gaussian release dominates every mu-GDP release [Dong, Roth and Su 2022,
// Corollary 2.13 and Theorem 2.10]. RDP counts everything except random stopping as a Gaussian release of
// the same mu, for the same reason. If the composition contains exactly one random stopping, the profile of
// this event is used in the same way.
//
// The zero value is an empty composition. A Total is not safe for concurrent use.
type Total struct {
	gdp GDP
	pld PLD

	stopped    RDP // events with a secret number of runs
	selection  RandomStoppingEvent
	selections int // number of these events, 2 for more; selection is the last of them
	others     GDP // all other events
}

var _ Accountant = (*Total)(nil)

// Compose adds the event. It supports every event that a ledger records.
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

// split adds e, which is known to be valid, to stopped or to others.
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

// stoppedOrders are the orders 1 + 0.2 1.08^k from 1.2 to about 5000.
var stoppedOrders = func() (orders []float64) {
	for t := 0.2; t < 5000; t *= 1.08 {
		orders = append(orders, 1+t)
	}
	return orders
}()

// renyi returns an accountant of random stopping and of one Gaussian release of mu, which stands for all
// other events.
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

// stoppedEpsilon returns the epsilon of random stopping and a release of mu, by Renyi divergences or by the
// profile.
func (a *Total) stoppedEpsilon(mu, delta float64) float64 {
	best := a.renyi(mu).Epsilon(delta)
	if a.selections == 1 && best > 0 && delta > 0 {
		if p, ok := a.selection.profile(mu); ok {
			best = min(best, smallestEpsilon(delta, best, p.delta))
		}
	}
	return best
}

// stoppedDelta returns the delta of random stopping and a release of mu, by Renyi divergences or by the
// profile.
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

// Mu returns a value, rounded up, for which the whole composition is mu-GDP. This holds even if
// secret batches and secret numbers of runs become known. If Sampled reports true, Epsilon and Delta
// can be smaller than the values that follow from Mu.
func (a *Total) Mu() float64 { return a.gdp.Mu() }

// Sampled reports whether the composition contains a release about a secret batch or with a secret number of
// runs.
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

// composeByGDP composes e. It counts events that PLD does not support by their mu or their pure epsilon. GDP
// has composed e before, so e is valid.
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

// maxMu is a mu so large that the guarantee is worthless.
const maxMu = 1e6
