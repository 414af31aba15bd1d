package account

import "math"

// Planned returns the smallest epsilon for budgets that were fixed in advance. It is the smaller of Epsilon
// and, if pure releases were composed, the epsilon of PLD. Epsilon composes pure releases only by their sum
// of epsilons or by a mu, so the epsilon of PLD can be smaller. Planned does not use PLD for more than
// maxKinds kinds of releases, because this would take too long. Renyi divergences and zero-concentrated
// differential privacy give weaker bounds than PLD, so Planned does not use them (docs/theory.md#looking).
func (a *Total) Planned(delta float64) float64 {
	best := a.Epsilon(delta)
	if delta > 0 && best > 0 && a.gdp.pure.value() > 0 && len(a.pld.releases) <= maxKinds {
		best = min(best, a.pld.Epsilon(delta))
	}
	return best
}

// maxKinds is the largest number of kinds of releases for which Planned uses PLD. It bounds the time of
// Planned.
const maxKinds = 256

// Filter returns the epsilon of a privacy filter. Suppose that an epsilon and a delta are fixed before the
// first release, and that a composition stops before Filter(delta) exceeds this epsilon. Then the composition
// is (epsilon, delta)-DP, even if its budgets were chosen by looking at earlier releases.
//
// The result is the smaller of two filters. The first filter composes the mu of all releases. The second
// filter adds up the pure epsilons; it needs no delta and applies only if all releases are pure
// (docs/theory.md#looking). Batches are treated as known. Random stopping is charged by the mu of all
// runs. A privacy profile is not a filter: Planned may be smaller than Filter, and TestProfilesAreNoFilter
// shows a composition whose cost exceeds Planned.
func (a *Total) Filter(delta float64) float64 {
	if a.gdp.rest == 0 {
		return min(GDPEpsilon(a.Mu(), delta), a.gdp.pure.value())
	}
	return GDPEpsilon(a.Mu(), delta)
}

// Odometer returns an epsilon that is valid whenever it is read, even if budgets were chosen by looking at
// earlier releases. For the composition so far, on every path, P(S) <= integral over S of e^Odometer dQ +
// delta. If a composition stops before Odometer exceeds a bound, its epsilon is at most this bound, even if
// the bound was chosen or raised by looking at releases.
//
// The result is the smaller of two readings, which share delta and a grid of values of mu. The first reading uses the
// mu of all releases. The second reading adds the epsilons of the pure releases to an epsilon for the mu of the other
// releases (docs/theory.md#looking). A reading is +Inf if its mu is above 16, the last value of the grid.
func (a *Total) Odometer(delta float64) float64 {
	share := math.Nextafter(delta/(2*odometerCells), 0)
	return min(odometer(a.Mu(), share), addUp(a.gdp.pure.value(), odometer(rootUp(a.gdp.rest), share)))
}

// The grid of mu is 2^(k/8) from 2^-6 to 2^4. It must never change: it was fixed before the first release.
const odometerCells, odometerFirst = 81, -48

// odometer returns the epsilon of the smallest mu of the grid that is not below mu.
func odometer(mu, share float64) float64 {
	if mu == 0 {
		return 0
	}
	for k := range odometerCells {
		if cell := math.Exp2(float64(odometerFirst+k) / 8); mu <= cell {
			return GDPEpsilon(cell, share)
		}
	}
	return math.Inf(1)
}
