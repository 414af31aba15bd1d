package cuda

import (
	"math"
	"slices"

	"dyad/engine"
)

// secondOrder covers products of error terms. Each error term is below 2^-16 of its quantity
// (checked by usable), and there are fewer than 30 terms.
const secondOrder = 1.01

// roundoff returns engine.QueryBounds.Sum (docs/theory.md#roundoff).
//
// Notation: n, d and R are as in package engine. l, S, V, ds = ScoreErr, Q = Slope and C = Curvature are as in
// engine.ScoreRange, for scores of depth d. D_ij = y_i - y_j, g(k) = engine.Gamma(k), u = 2^-53 and w = 2^-24.
//
// # All pairs within groups
//
// Claim. Let s_g be the sizes of the groups (only n if there are no groups) and m the depth of sums over rows.
// If the computed term of each pair has an error of at most E |D_ij| + A, and sums of terms are exact, then
// ||error of X^T c|| <= R sum_g s_g^2 (l (E + g(m) Q) + 2 A). E and A may differ between groups.
//
// The claim also holds under a weaker condition: every sum of terms over j has an error of at most E sum_j |D_ij|.
//
// Proof. c_i = 2 sum_j v_ij, so ||X^T (c^ - c)|| <= 2 R sum_ij (E |D_ij| + A), where i and j are in the same
// group. The summation adds at most g(m) R 2 Q sum_ij |D_ij| to first order. Within a group of s records,
// sum_ij |D_ij| is convex in every label, so it is largest for labels at the ends of their interval. With k
// labels at the upper end it is 2 l k (s-k) <= l s^2 / 2. QED
//
// Sums of terms are exact (docs/theory.md#exact-sums), because they are integers. The sums of a thread stay
// below 2^31. The sums of a block and the whole sum stay below 2^53, since n < 2^30 and a term has at most 23
// bits (logistic_tiles and pair_tiles state their counts). The sums do not depend on the order. A term is a
// function of its two records, w and public constants. A factored term is also a function of a third record.
// Every term is within [0, 1] or [-1, 1] of its unit.
//
// # Factored
//
// For labels lo < hi, let D = hi - lo, a_i = exp(D s_i) for a positive record and b_j = exp(-D s_j) for a
// negative record. Then -phi'(u_ij) = sigma = 1/(1 + a_i b_j). The clamp at V/2 and more does not act. The
// argument of an exponential has error u V (D and the product are rounded), the exponential has error 4 u, and
// its rounding to float32 has error w. So the relative error of a and b is e = w + u V + 4 u. The relative
// error of a b is twice e, which changes sigma by at most 2 e sigma (1 - sigma), since d sigma / d log(a b) =
// -sigma (1 - sigma). With x = 2 + 2 a_i b_j, and y the same number for the partner of row i, sigma/2 = y / (x
// y). The roundings of y cancel. The relative rounding errors are w each for x and for the product,
// reciprocalError = 3 w for the reciprocal, and w for rounding to units of 2^-23. The sum 2 w sigma (1 - sigma)
// + 5 w sigma + w is largest, 6 w, for sigma = 1. If x y is so large that the reciprocal is flushed or the
// product infinite, x is above 2^28. Then the computed sigma is 0 and the exact sigma is below 2^-27. Without a
// partner, y belongs to padding, and the same argument applies. With the error of the scores, |D| 2 ds on u,
//
//	E = 2 C l ds + (u V + 4 u)/2 + 6 w + 2^-100 + 3 u Q,   A = 0,
//
// where 3 u Q covers D, the product with 2 D and the unit.
//
// # Pairs
//
// Scores and labels are scaled by powers of two and split into two floats, with error 2^-47 of their largest
// size. A difference of split numbers has relative error 2 w. Its low parts and the splitting add an absolute
// error below 2^-45 of the largest size. Labels that are equal have a difference of exactly 0, and so a term of
// exactly 0. Hence the argument of phi' has an error of 5 w |u| + 2^-43 V + 2 l ds, and
//
//	E = min(C 5 w V, Q5) + 2 C l ds + slopeError + 2 w Q,
//	A = unit 2^-23 + 2^-43 l (Q + C V) + 2^-100 unit
//
// where slopeError bounds the error of the code for phi' (autodiff.Expr.PTXRoundoff, plus the loss's own SlopeErr), 2
// w is the error of D, and a term is rounded once, to units of 2^-22 unit. Q5 is 5 w 0.2241 for the logistic loss, as
// |u sigma'(u)| <= 0.2240.., and infinite for other losses. The clamps of the argument to [-V, V] (which the logistic
// loss does not need) and of phi' to [-Q, Q] only move values towards the exact values, which are inside. So a term is
// at most Q l (1 + 2^-21), which is within the unit (planPairs checks this), for any scores and any code for phi'.
//
// # Pairs of a loss that is not smooth
//
// Such an E does not exist for a loss that is not smooth. The bound is then the distance to a sum of terms
// (engine.QueryBounds.Sum), with E and A of ownError.
//
// # Near-linear
//
// See nearError. E is the error of a sum of phi'(u_ij) D_ij over j in units of sum_j |D_ij|, and A = 0.
//
// # Persons
//
// See docs/theory.md#person-sums. The bound is the bound for all pairs, where persons replace records and E + 8
// u Q + E'/P replaces E. The depths are for the largest possible number of rows.
//
// # Prefix pairs
//
// The host computes prefix pairs in float64 from scores of the GPU. The T terms v_i = phi'(D (s_T - s_i)) D
// have norm at most Q l 2R and error C (2 l ds + 4 u V) + SlopeErr + 3 u Q. The sum over i is compensated
// (error 3 u, Higham 2002, Section 4.3), and X^T c has depth m. The bound is T 2 R l (E + g(m + 3) Q). For a
// loss that is not smooth, the terms have the computed slopes, clamped as in package cpu, so only 3 u Q of
// their error remains.
//
// The last summand covers underflow, as in package cpu.
func (k *kernel) roundoff(pairs engine.Pairs) float64 {
	p, s := k.problem, k.scores
	if k.whole(pairs) {
		var sum float64
		for _, size := range k.groups() {
			relative, absolute := k.termError(size)
			sum += k.groupRoundoff(size, relative, absolute)
		}
		return sum*secondOrder + k.underflow()
	}
	q, ok := pairs.(engine.PrefixPairs)
	if !ok || q.T < 1 || q.T >= p.N || len(p.Groups) > 0 || p.ByPerson() {
		return math.Inf(1)
	}
	e := 3*u64*s.Slope + engine.Gamma(k.grid.depth()+3)*s.Slope
	if s.Smooth() {
		e += s.Curvature*(2*s.LabelSpan*s.ScoreErr+4*u64*s.Margin) + s.SlopeErr
	}
	return float64(q.T)*2*p.Bounds.FeatureNorm*s.LabelSpan*e*secondOrder + k.underflow()
}

// whole reports whether pairs are all pairs of the problem.
func (k *kernel) whole(pairs engine.Pairs) bool {
	switch q := pairs.(type) {
	case engine.AllPairs:
		return q.N == k.problem.N && len(k.problem.Groups) == 0
	case engine.GroupPairs:
		return len(k.problem.Groups) > 0 && slices.Equal(q.Sizes, k.problem.Groups)
	}
	return false
}

// groupRoundoff returns the bound of the claim of roundoff for a group of size records.
func (k *kernel) groupRoundoff(size int, relative, absolute float64) float64 {
	if size < 2 {
		return 0
	}
	R, l, n := k.problem.Bounds.FeatureNorm, k.scores.LabelSpan, float64(size)
	return R * n * n * (l*(relative+k.personError()+engine.Gamma(k.sumDepth())*k.scores.Slope) + 2*absolute)
}

// termError returns E (relative) and A (absolute) of roundoff for a group of size records.
func (k *kernel) termError(size int) (relative, absolute float64) {
	s := k.scores
	switch {
	case size >= k.nearFrom:
		return k.nearError(), 0
	case !s.Smooth():
		return k.ownError()
	}
	relative = 2*s.Curvature*s.LabelSpan*s.ScoreErr + 3*u64*s.Slope
	if k.factored {
		return relative + (u64*s.Margin+4*u64)/2 + 6*u32 + 0x1p-100, 0
	}
	margin := s.Curvature * 5 * u32 * s.Margin
	if _, ok := k.loss.(engine.Logistic); ok {
		margin = min(margin, 5*u32*0.2241)
	}
	more, absolute := k.termRounding()
	return relative + margin + k.slopeError + 2*u32*s.Slope + more,
		absolute + 0x1p-43*s.LabelSpan*(s.Slope+s.Curvature*s.Margin)
}

// usable reports whether all first-order error terms are so small that secondOrder covers their products.
func (k *kernel) usable() bool {
	small := func(size int) bool {
		relative, absolute := k.termError(size)
		return relative+absolute/k.scores.LabelSpan < 0x1p-16*k.scores.Slope
	}
	return (!k.direct || small(2)) && (!k.nearLinear() || small(k.nearFrom))
}

// underflow returns a bound on the effect of all underflows, as in package cpu.
func (k *kernel) underflow() float64 {
	n := float64(k.problem.MaxRows())
	return n * n * float64(k.problem.D) * (1 + k.problem.Bounds.FeatureNorm*k.scores.LabelSpan) * 0x1p-1000
}

// termRounding returns the relative and the absolute rounding error of a term. For persons the terms are
// weighted (docs/theory.md#person-terms).
func (k *kernel) termRounding() (relative, absolute float64) {
	if k.problem.ByPerson() {
		return 3 * u32 * k.scores.Slope, float64(k.problem.PersonRows) * k.unit * (personFixed/2 + 0x1p-100)
	}
	return 0, k.unit * (0x1p-23 + 0x1p-100)
}

// personError returns 8 u Q + E'/P of docs/theory.md#person-sums for persons, and 0 for records. The host
// computes the slopes of the pairs within persons from scores of the GPU, as for prefix pairs.
func (k *kernel) personError() float64 {
	p, s := k.problem, k.scores
	if !p.ByPerson() {
		return 0
	}
	if k.direct {
		return 8 * u64 * s.Slope
	}
	own := s.Curvature*(2*s.LabelSpan*s.ScoreErr+4*u64*s.Margin) + s.SlopeErr + 3*u64*s.Slope
	return 8*u64*s.Slope + (own+engine.Gamma(p.PersonRows+8)*s.Slope)/float64(p.N)
}

// sumDepth returns the depth of X^T c. For persons it is at least the depth for any smaller number of rows,
// whose chunks do not have more tiles.
func (k *kernel) sumDepth() int {
	if k.problem.ByPerson() {
		return 8*maxSpan + k.grid.spans + 32*maxSpan + combineDepth(maxChunks)
	}
	return k.grid.depth()
}

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
