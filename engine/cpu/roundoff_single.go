package cpu

import "dyad/engine"

// singleError is E, as at Roundoff, of the direct method in float32 without the three
// roundings 3 u Q of D, its product with a sum and their unit.
//
// For labels lo < hi, D = hi - lo, a_i = exp(D s_i) of a positive and b_j = exp(-D s_j) of a
// negative record have a relative error u V + 4 u as at Roundoff and one of w = 2^-24, from
// float32. That changes sigma = 1/(1 + a_i b_j) by at most (u V + 4 u + w)/2, since
// |d sigma / d log(a b)| <= 1/4. A term has an error of 6 w sigma from a and b on and of half
// a unit, 2^-23 (kernels.LogisticTile32), and the sums of terms are exact: halves of integers
// below 2^52 (maxSingle; docs/theory.md#exact-sums). With the error of the scores,
//
//	E = 2 C l ds + (u V + 4 u + w)/2 + 6 w + 2 w.
//
// There is no underflow: |D s| <= V/2 <= MaxLogisticMargin32/2.
func (k *kernel) singleError() float64 {
	s := k.scores
	return 2*s.Curvature*s.LabelSpan*s.ScoreErr + (u*s.Margin+4*u+u32)/2 + 8*u32
}

// NeighbourRoundoff implements engine.NeighbourKernel (docs/theory.md#neighbour-roundoff). It is Roundoff but for all pairs in
// float32, where it is, notation as at Roundoff and E = singleError,
//
//	4 R l (n-1) E + R l n^2 (g(m) + 3 u) Q.
//
// Proof. The gradient is the sum over positive i and negative j of -2 D T_ij (x_i - x_j), with
// T_ij the term of the pair, up to roundings of float64 that are bounded by the last summand
// in either data set. Let record k change, and take two others. The problem has two labels
// (Problem.LabelLimit), so if theirs differ, D is the same in both data sets. Their scores are
// computed from their own rows and w by operations that depend on their places alone, a and b
// from their scores and D, and T_ij from a and b by the same operations wherever they are:
// the places of rows and columns, which depend on all labels, do not matter, nor does the
// order of the sums, which are exact. So T_ij has the same bits in both data sets. The at most
// n-1 pairs with k have errors of at most 2 l E 2 R each, in either data set. QED
func (k *kernel) NeighbourRoundoff(pairs engine.Pairs) float64 {
	all := k.Roundoff(pairs)
	if q, ok := pairs.(engine.AllPairs); !ok || q.N != k.problem.N || !k.single {
		return all
	}
	R, l, n := k.problem.Bounds.FeatureNorm, k.scores.LabelSpan, float64(k.problem.N)
	e := 4*(n-1)*k.singleError() + n*n*(engine.Gamma(k.rowSumDepth())+3*u)*k.scores.Slope
	return min(all, R*l*e*secondOrder+k.underflow())
}
