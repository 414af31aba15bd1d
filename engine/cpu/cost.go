package cpu

import (
	"math"

	"dyad/engine"
)

// Costs in nanoseconds of one core, measured with the benchmarks of this
// package. Only their ratios matter: they place the crossover between methods.
const (
	nsFactoredPair = 1.0  // LogisticTile, per unordered pair
	nsSmoothPair   = 12   // PairTile with an exponential, per unordered pair
	nsPoint        = 3    // Take and the loops per record
	nsTerm         = 0.2  // PowerSums and Polynomial, per record and term
	nsGrouped      = 12   // Locate and places.set twice, per record
	nsGroup        = 60   // one group of a block
	nsNode         = 0.4  // one product of the node matrix
	nsNearCall     = 3000 // fixed
	nsSorted       = 40   // kernels.Sorting and the loops per record
	nsStep         = 10   // StepRows and StepColumns, per record and step
	nsSortedCall   = 3000 // fixed
)

// The kernels take 1 + 4k terms of a bin, at most 33. Powers of more would lose digits:
// noise in Chebyshev coefficients grows by up to (1 + sqrt 2)^p in them, 3e12 for 33 terms.
const maxTerms, termStep = 33, 4

// planExpansion chooses the number of bins that minimises nearCost. It reports
// false if there is no expansion.
//
// More bins mean fewer terms per record, but a node matrix of (bins terms)^2.
// The truncation error is set to a quarter unit roundoff of sup |phi'|, so it
// never decides the bound.
func (k *kernel) planExpansion() bool {
	loss, ok := k.loss.(engine.AnalyticLoss)
	if !ok {
		return false
	}
	size := loss.StripBound(k.scores.Margin, 0)
	if !(size < math.MaxFloat64) {
		return false
	}
	tol := size * 0x1p-49
	best, labels := kernel{}, min(k.problem.LabelLimit(), maxClasses)
	for _, b := range []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096} {
		e, ok := engine.Expand(loss, k.scores.Margin, k.scores.LabelSpan*k.scores.Score/float64(b), tol, maxTerms, termStep)
		if !ok || labels*(labels-1)*b*e.Terms*e.Terms > maxTable || labels*b > maxGroups {
			continue
		}
		c := kernel{problem: k.problem, bins: b, expansion: e}
		if best.bins > 0 && c.nearCost() > 2*best.nearCost() {
			break // the node matrix grows on
		}
		if best.bins == 0 || c.nearCost() < best.nearCost() {
			best = c
		}
	}
	k.bins, k.expansion = best.bins, best.expansion
	return k.bins > 0
}

// fewLabels says that the near-linear method takes as many labels as the problem has.
func (k *kernel) fewLabels() bool { return k.problem.LabelLimit() <= maxClasses }

// nearCost is the cost of c by the near-linear method for q labels, q(q-1) node
// matrices. A group of a block is filled up by 4 positions.
func (k *kernel) nearCost() float64 {
	n, p, q := float64(k.problem.N), float64(k.terms()), float64(k.problem.LabelLimit())
	groups := q * float64(k.bins)
	blocks := math.Ceil(n / coefRows)
	cost := n*(nsPoint+nsTerm*p) + blocks*groups*(nsGroup+4*nsTerm*p)
	if k.bins > 1 {
		cost += n * nsGrouped
	}
	nodes := float64(k.bins) * p
	return cost + q*(q-1)*nodes*nodes*nsNode + nsNearCall
}

// directCost is the cost of c by the direct method for two labels of equal frequency,
// or for any labels, where all pairs are visited.
func (k *kernel) directCost() float64 {
	n := float64(k.problem.N)
	if k.problem.LabelLimit() > 2 {
		return n * n / 2 * nsSmoothPair
	}
	if k.factored {
		return n * n / 4 * nsFactoredPair
	}
	return n * n / 4 * nsSmoothPair
}
