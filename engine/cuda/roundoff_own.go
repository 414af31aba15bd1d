package cuda

import (
	"math"

	"dyad/engine"
)

// slopeRange are the bounds of phi' that Constants rests on. For engine.Logistic they are
// [-sigm(2 R r l), 0], which margins in the ball leave by at most 2^-32: the last part of
// logisticSlope's error.
func (k *kernel) slopeRange() (lo, hi float64) {
	if _, ok := k.loss.(engine.Logistic); ok {
		p := k.problem
		return k.loss.DPhi(-2*p.Bounds.FeatureNorm*p.Radius*k.scores.LabelSpan) * (1 - 0x1p-40), 0
	}
	return k.scores.SlopeMin, k.scores.SlopeMax
}

// ownError returns E and A such that the computed term v^_ij of a pair of the direct method
// is within E |D_ij| + A of q_ij D_ij, with a slope q_ij that depends on the two records and
// w alone and is in the range that Constants rests on. Notation as at roundoff.
//
// So q_ij D_ij (x_i - x_j) is a term as engine.Kernel asks for of losses that are not
// smooth, and as engine.QueryBounds.Neighbour asks for of all: Constants hold for slopes in that
// range at any margin (engine.Score, engine.Logistic).
//
// Pairs. Let p_ij be the slope that the kernel computes, whatever its error is, clamped to
// slopeRange rounded outward to float32, and q_ij the nearest number of slopeRange itself,
// |p_ij - q_ij| <= 2 w Q. p_ij comes from the labels and computed scores of both records by one
// thread, whose instructions fix their rounding, so no compiler may fuse some of them in one
// place and not in another. An approximate instruction is taken to give the same for the same
// operand. A computed score comes from its own row and w in the order of features by one
// thread, wherever the row is (TestSumsOfTermsAreExact here, TestScores of ptxtest). The
// computed v_ij differs from q_ij D_ij by: 2 w Q |D|; the difference of the labels, 2 w |D| +
// 2^-45 l, times Q; and 2^-23 unit for the product, which is rounded once, to fixed point (the
// unit is a power of two). Places do not matter: v_ji is -v_ij, to the last bit. QED
//
// Factored. Here q_ij is the number of slopeRange nearest to the exact slope at the exact
// margin, which is in slopeRange up to 2^-32; the computed one is within E of roundoff of
// it, whatever the partner is. D_ij is the difference of the only two labels; if a record is
// the only one with its label, no pair without it has a term. QED
func (k *kernel) ownError() (relative, absolute float64) {
	s := k.scores
	if k.factored {
		relative, absolute = k.termError(2)
		return relative + 0x1p-32, absolute
	}
	relative, absolute = k.termRounding()
	return relative + 4*u32*s.Slope + 3*u64*s.Slope, absolute + 0x1p-44*s.LabelSpan*s.Slope
}

// neighbourRoundoff is engine.QueryBounds.Neighbour (docs/theory.md#neighbour-roundoff). With E and A of ownError, and the
// rest as at roundoff, it is
//
//	R l g(m + 2) Q sum_g s_g^2 + max_g 4 (1 + b) (s_g - 1) R (E l + A):
//
// only the pairs of 1 + b records count with their roundings in float32: b = partnersMoved if
// terms are factored, and 0 otherwise. For groups that are
// summed by the near-linear method the second summand is their roundoff.
//
// Proof. Let D and D' differ in a record k of group h. c_i is 2 sum_j v^_ij, an exact sum of
// integers times 2 unit 2^-22, a power of two, or times 2 D 2^-23, with one rounding of
// the product and one of D. With v^_ji = -v^_ij the computed sum is
// sum_ij v^_ij (x_i - x_j) + e, where e is the error of X^T c and of those two roundings,
// ||e|| <= g(m + 2) R sum_i |c_i|, and sum_i |c_i| <= 2 sum_ij |v^_ij|, which is Q l sum_g
// s_g^2 up to second order. Now compare with the sum of q_ij D_ij (x_i - x_j). The
// differences v^_ij - q_ij D_ij of pairs without k are functions of records that are the
// same in D and D', and cancel. With k there are 2 (s_h - 1) ordered pairs in D, and in D',
// each of them with a difference of at most (E l + A) 2 R. Half of the sum of both is the
// claim for b = 0.
//
// A factored v^_ij is a function of its two records, of w, and of the exponential of the partner of
// its row. The labels of rows and columns are the same in D and D', or no pair without k has a term
// (ownError). At most b records but k have another partner in D' (partners), so that at most b (s_h
// - 2) unordered pairs without k have a term that may differ: with their columns, and none is k. All
// others cancel as before. Of these pairs there are at most 2 b (s_h - 1) ordered ones in each of D
// and D', with a difference of at most (E l + A) 2 R from the same q_ij D_ij (x_i - x_j): half of
// the sum of both is 4 b (s_h - 1) R (E l + A).
//
// For persons: docs/theory.md#person-terms, with P for n.
//
// A near-linear sum is computed from the records of its group alone; another group's
// is the same in D and D', to the last bit. QED
func (k *kernel) neighbourRoundoff(pairs engine.Pairs) float64 {
	if !k.whole(pairs) {
		return math.Inf(1)
	}
	R, l := k.problem.Bounds.FeatureNorm, k.scores.LabelSpan
	var squares, most, moved float64
	if k.factored {
		moved = float64(partnersMoved(k.problem.N))
	}
	for _, size := range k.groups() {
		n := float64(size)
		if size < 2 {
			continue
		}
		squares += n * n
		if size >= k.nearFrom {
			relative, absolute := k.termError(size)
			most = max(most, k.groupRoundoff(size, relative, absolute))
			continue
		}
		relative, absolute := k.ownError()
		most = max(most, 4*(1+moved)*(n-1)*R*(relative*l+absolute))
	}
	own := (R*l*(engine.Gamma(k.sumDepth()+2)*k.scores.Slope+k.personError())*squares+most)*secondOrder + k.underflow()
	return min(own, k.roundoff(pairs)) // which is less for few records
}
