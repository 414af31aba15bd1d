package account

import "math"

// Planned is the smallest epsilon of all accounts for budgets that were fixed beforehand: that of Epsilon, and that of PLD as
// well if pure releases were composed, for which Epsilon only adds or takes a mu. It is more than PLD
// only in ledgers with more kinds of releases than PLD composes in a second. Renyi divergences and zero-concentrated
// privacy are weaker than the law of the loss that PLD has (docs/theory.md#looking).
func (a *Total) Planned(delta float64) float64 {
	best := a.Epsilon(delta)
	if delta > 0 && best > 0 && a.gdp.pure.value() > 0 && len(a.pld.releases) <= maxKinds {
		best = min(best, a.pld.Epsilon(delta))
	}
	return best
}

// maxKinds bounds the time of Planned.
const maxKinds = 256

// Filter is an epsilon such that a composition which was stopped before Filter(delta) exceeded it is (epsilon, delta)-DP,
// even if its budgets were chosen by looking at earlier releases. That epsilon and delta must be fixed before the first
// release. It is the smaller of two filters: all releases by their mu, and the sum of pure epsilons, which costs no delta
// (docs/theory.md#looking). Batches count as if they were known, and random stopping by the mu of all runs.
// A profile is not a filter: Planned may be smaller, and TestProfilesAreNoFilter exceeds it.
func (a *Total) Filter(delta float64) float64 {
	if a.gdp.rest == 0 {
		return min(GDPEpsilon(a.Mu(), delta), a.gdp.pure.value())
	}
	return GDPEpsilon(a.Mu(), delta)
}

// Odometer is an epsilon that may be read at any time, and after any budgets that were chosen by looking: for
// everything composed, on whatever path, P(S) <= integral over S of e^Odometer dQ + delta. So a bound of it that was
// chosen by looking, or raised, is kept by stopping before Odometer exceeds it. It is +Inf above the last mu of the grid, 16.
//
// It is the smaller of two readings on one grid of mu, which share delta: all releases by their mu, and the others by
// their mu and the pure ones by the sum of their epsilons (docs/theory.md#looking).
func (a *Total) Odometer(delta float64) float64 {
	share := math.Nextafter(delta/(2*odometerCells), 0)
	return min(odometer(a.Mu(), share), addUp(a.gdp.pure.value(), odometer(rootUp(a.gdp.rest), share)))
}

// The grid of mu is 2^(k/8) from 2^-6 to 2^4. It must never change: it was fixed before the first release.
const odometerCells, odometerFirst = 81, -48

// odometer is the epsilon of the smallest mu of the grid that is not below mu.
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
