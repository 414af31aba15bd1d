package cpu

import (
	"math"

	"dyad/engine"
)

// These costs are in nanoseconds of one core with the best variant. BenchmarkCosts
// measured them (bench/results/costs-xeon-2.5GHz.txt). Only the ratios of the costs
// matter, because they determine the crossover between methods. kernel.seconds adds the
// costs that all methods have in common.
const (
	nsFactoredPair = 0.35  // LogisticTile, per unordered pair
	nsLogisticPair = 2.9   // LogisticPairTile, per unordered pair
	nsPair         = 9.4   // SlopeTile, per unordered pair
	nsDirectCall   = 2900  // fixed
	nsPoint        = 2.8   // Split, Join and the loops per record
	nsTerm         = 0.084 // PowerSums and Polynomial, per record and term
	nsGroup        = 230   // one group of a block
	nsGrouped      = 7.2   // Locate, places and the way back, per record
	nsNode         = 0.2   // one product of the node matrix
	nsNodeRow      = 35    // one row of it
	nsNearCall     = 720   // fixed
	nsSorted       = 26    // sorting and the loops per record
	nsStep         = 3.2   // Merge, per record and step
	nsStepCall     = 530   // a step of a pair of labels
	nsSortedCall   = 170   // fixed
	nsFeature      = 0.8   // per feature of a record that is read from memory for a score, and again for the sum
	nsProduct      = 0.06  // metric losses, per ordered pair and feature
)

// The kernels use 1 + 4k terms for a bin, and at most 33. More powers would lose digits:
// converting p Chebyshev coefficients to coefficients of powers amplifies errors by up to
// (1 + sqrt 2)^p, which is 3e12 for 33 terms.
const maxTerms, termStep = 33, 4

// planExpansion chooses the number of bins that minimises nearCost. It returns false if
// there is no expansion.
//
// More bins mean fewer terms per record, but a node matrix of (bins terms)^2. The
// truncation error is set to a quarter of a unit roundoff of sup |phi'|, so it never
// dominates the bound.
func (k *kernel) planExpansion() bool {
	loss, ok := k.loss.(engine.AnalyticLoss)
	if !ok || !k.scores.Smooth() { // a sum of interpolants is not a sum of terms of pairs: engine.QueryBounds.Sum
		return false
	}
	size := loss.StripBound(k.scores.Margin, 0)
	if !(size < math.MaxFloat64) {
		return false
	}
	tol := size * 0x1p-49
	best, labels := kernel{}, min(k.problem.LabelLimit(), maxClasses)
	for _, b := range []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
		2048, 3072, 4096} {
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

// fewLabels reports whether the near-linear method supports the number of labels of the problem.
func (k *kernel) fewLabels() bool { return k.problem.LabelLimit() <= maxClasses }

// counts holds, for each cost of a method, the number of times that it occurs.
type counts []float64

// cost returns the time at the given costs in nanoseconds.
func (c counts) cost(ns ...float64) (sum float64) {
	for i, count := range c {
		sum += ns[i] * count
	}
	return sum
}

// nearCounts returns the counts of the near-linear method for q labels: records, terms of
// records, groups of blocks, records that are grouped by bin, products of q(q-1) node
// matrices, rows of these matrices, and calls. On average, padding adds 4 positions to a
// group of a block.
func (k *kernel) nearCounts() counts {
	n, p, q := float64(k.problem.N), float64(k.terms()), float64(k.problem.LabelLimit())
	groups := math.Ceil(n/min(coefRows, max(leastChunk, n/maxChunks))) * q * float64(k.bins)
	var grouped float64
	if k.bins > 1 {
		grouped = n
	}
	nodes := float64(k.bins) * p
	return counts{n, (n + 4*groups) * p, groups, grouped, q * (q - 1) * nodes * nodes, q * (q - 1) * nodes, 1}
}

// nearCost returns the cost of computing c by the near-linear method.
func (k *kernel) nearCost() float64 {
	return k.nearCounts().cost(nsPoint, nsTerm, nsGroup, nsGrouped, nsNode, nsNodeRow, nsNearCall)
}

// directCounts returns the counts of the direct method: pairs of the factored logistic
// loss, pairs of the logistic loss, pairs of other losses, and calls. For two labels it
// assumes equal frequencies. For more labels all pairs are visited.
func (k *kernel) directCounts() counts {
	n := float64(k.problem.N)
	pairs := n * n / 4
	if k.problem.LabelLimit() > 2 {
		pairs = n * n / 2
	}
	switch {
	case k.factored && k.problem.LabelLimit() <= 2:
		return counts{pairs, 0, 0, 1}
	case k.logistic:
		return counts{0, pairs, 0, 1}
	}
	return counts{0, 0, pairs, 1}
}

// directCost returns the cost of computing c by the direct method.
func (k *kernel) directCost() float64 {
	return k.directCounts().cost(nsFactoredPair, nsLogisticPair, nsPair, nsDirectCall)
}

// sortedCounts returns the counts of the sorted method for q labels: records, combinations
// of a record with a step and another label, combinations of a step with a pair of labels,
// and calls.
func (k *kernel) sortedCounts() counts {
	n, q := float64(k.problem.N), float64(k.problem.LabelLimit())
	steps := float64(len(k.steps))
	return counts{n, n * steps * (q - 1), steps * q * (q - 1) / 2, 1}
}

// sortedCost returns the cost of computing c by the sorted method.
func (k *kernel) sortedCost() float64 {
	return k.sortedCounts().cost(nsSorted, nsStep, nsStepCall, nsSortedCall)
}

// cheapest returns the method with the least cost among the methods that are available for the loss.
func (k *kernel) cheapest(nearLinear, sorted bool) Method {
	method, cost := Direct, k.directCost()
	if nearLinear {
		if c := k.nearCost(); c < cost {
			method, cost = NearLinear, c
		}
	}
	if sorted && k.sortedCost() < cost {
		method = Sorted
	}
	return method
}

// Bounds implements engine.Kernel.
func (k *kernel) Bounds(q engine.Query) engine.QueryBounds {
	if !q.IsPlain() {
		return engine.Unanswered()
	}
	return engine.QueryBounds{Sum: k.roundoff(q.Pairs), Seconds: k.seconds(q.Pairs), Bytes: k.bytes()}
}

// Bounds implements engine.Kernel.
func (k *metricKernel) Bounds(q engine.Query) engine.QueryBounds {
	if !q.IsPlain() {
		return engine.Unanswered()
	}
	seconds := 1e-9 * float64(q.Pairs.Len()) * (nsPair/2 + nsProduct*float64(k.problem.D))
	return engine.QueryBounds{Sum: k.roundoff(q.Pairs), Neighbour: k.neighbourRoundoff(q.Pairs), Seconds: seconds,
		Bytes: k.bytes()}
}

func (k *kernel) seconds(p engine.Pairs) float64 {
	if _, all := p.(engine.AllPairs); !all {
		return 0
	}
	cost := k.directCost()
	switch k.method {
	case NearLinear:
		cost = k.nearCost()
	case Sorted:
		cost = k.sortedCost()
	}
	features := k.problem.D
	if k.problem.NonZerosPerRow > 0 {
		features = k.problem.NonZerosPerRow
	}
	return 1e-9 * (cost + 2*nsFeature*float64(k.problem.N)*float64(features))
}

// These are the bytes that evaluators hold for each record, by method (TestBytes).
const (
	bytesNear    = 10
	bytesBinned  = 13
	bytesSorted  = 42
	bytesDirect  = 50
	bytesMetric  = 40
	bytesCommon  = 1 << 17 // for any n; the following constants are for pairs
	bytesTiles   = 3 << 18
	bytesStripes = 16 // metric losses, for each of d^2 numbers
)

func (k *kernel) bytes() float64 {
	n, nodes := float64(k.problem.N), float64(k.bins*k.terms())
	switch {
	case k.method == Sorted:
		return bytesCommon + bytesSorted*n
	case k.method == Direct:
		return bytesTiles + bytesDirect*n
	case k.bins > 1:
		return bytesCommon + bytesBinned*n + 8*(maxChunks+8)*nodes
	}
	return bytesCommon + bytesNear*n
}

func (k *metricKernel) bytes() float64 {
	n, d := float64(k.problem.N), float64(k.problem.D)
	return bytesTiles + n*(bytesMetric+8*d) + 8*bytesStripes*d*d
}
