package cuda

import (
	"math"

	"dyad/engine"
)

// slopeRange returns the bounds of phi' that Constants relies on. For engine.Logistic they are [-sigm(2 R r l),
// 0]. Margins in the ball exceed this range by at most 2^-32, which is the last part of logisticSlope's error.
func (k *kernel) slopeRange() (lo, hi float64) {
	if _, ok := k.loss.(engine.Logistic); ok {
		p := k.problem
		return k.loss.DPhi(-2*p.Bounds.FeatureNorm*p.Radius*k.scores.LabelSpan) * (1 - 0x1p-40), 0
	}
	return k.scores.SlopeMin, k.scores.SlopeMax
}

// ownError returns E (relative) and A (absolute) for the direct method: the computed term v^_ij of a pair is
// within E |D_ij| + A of q_ij D_ij. The slope q_ij depends only on the two records and w and is in the range
// that Constants relies on. The notation is the notation of roundoff.
//
// So q_ij D_ij (x_i - x_j) is a term as engine.QueryBounds.Sum requires for losses that are not smooth, and
// as engine.QueryBounds.Neighbour requires for all losses. Constants hold for slopes in this range at any
// margin (engine.Score, engine.Logistic).
//
// Pairs. Let p_ij be the slope that the kernel computes, with any error, clamped to slopeRange rounded outward
// to float32. Let q_ij be the nearest number of slopeRange itself, so that |p_ij - q_ij| <= 2 w Q. One thread
// computes p_ij from the labels and computed scores of both records. The instructions fix the rounding, so no
// compiler may fuse some of them in one place and not in another. We assume that an approximate instruction
// gives the same result for the same operand. One thread computes a score from the score's own row and w in the
// order of features, wherever the row is (TestSumsOfTermsAreExact here, TestScores of ptxtest). The computed
// v_ij differs from q_ij D_ij by three errors. The error is 2 w Q |D| for the slope, and Q times 2 w |D| +
// 2^-45 l for the difference of the labels. It is 2^-23 unit for the product, which is rounded once, to fixed
// point (the unit is a power of two). Places do not matter: v_ji is -v_ij, to the last bit. QED
//
// Factored. Here q_ij is the number of slopeRange nearest to the exact slope at the exact margin. The exact
// slope is in slopeRange up to 2^-32, and the computed slope is within E of roundoff of the exact slope for
// every partner. D_ij is the difference of the only two labels. If a record is the only record with its label,
// no pair without this record has a term. QED
func (k *kernel) ownError() (relative, absolute float64) {
	s := k.scores
	if k.factored {
		relative, absolute = k.termError(2)
		return relative + 0x1p-32, absolute
	}
	relative, absolute = k.termRounding()
	return relative + 4*u32*s.Slope + 3*u64*s.Slope, absolute + 0x1p-44*s.LabelSpan*s.Slope
}

// neighbourRoundoff returns engine.QueryBounds.Neighbour (docs/theory.md#neighbour-roundoff). With E and A of ownError
// and the other notation of roundoff, the bound is
//
//	R l g(m + 2) Q sum_g s_g^2 + max_g 4 (1 + b) (s_g - 1) R (E l + A):
//
// Only the pairs of 1 + b records contribute roundings in float32, where b = partnersMoved if terms are
// factored, and b = 0 otherwise. For a group that is summed by the near-linear method, the roundoff of the
// group replaces the second summand.
//
// Proof. Let D and D' differ in a record k of group h. c_i is 2 sum_j v^_ij. It is an exact sum of integers
// times 2 unit 2^-22, a power of two, or times 2 D 2^-23, with one rounding of the product and one rounding of
// D. With v^_ji = -v^_ij the computed sum is sum_ij v^_ij (x_i - x_j) + e, where e is the error of X^T c and of
// the two roundings. The error satisfies ||e|| <= g(m + 2) R sum_i |c_i| with sum_i |c_i| <= 2 sum_ij |v^_ij|,
// which is at most Q l sum_g s_g^2 up to second order. Now compare with the sum of q_ij D_ij (x_i - x_j). The
// differences v^_ij - q_ij D_ij of pairs without k are functions of records that are the same in D and D', so
// they cancel. There are 2 (s_h - 1) ordered pairs with k in D and the same number in D', each with a
// difference of at most (E l + A) 2 R. Half of the sum of all these differences is the claim for b = 0.
//
// A factored v^_ij is a function of its two records, of w, and of the exponential of the partner of its row.
// The labels of rows and columns are the same in D and D', or no pair without k has a term (ownError). At most
// b records other than k have another partner in D' (partners). So at most b (s_h - 2) unordered pairs without
// k have a term that may differ: the pairs of these b records with their columns, where no column is k. All
// other pairs without k cancel as before. The pairs that may differ give at most 2 b (s_h - 1) ordered pairs in
// each of D and D', with a difference of at most (E l + A) 2 R from the same q_ij D_ij (x_i - x_j). Half of the
// sum of these differences is 4 b (s_h - 1) R (E l + A).
//
// For persons, P replaces n: docs/theory.md#person-terms.
//
// A near-linear sum is computed only from the records of its group. The sums of all groups except h are the
// same in D and D', to the last bit. QED
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
	return min(own, k.roundoff(pairs)) // roundoff is smaller for few records
}
