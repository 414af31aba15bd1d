package cpu

import (
	"math"
	"math/bits"

	"dyad/engine"
	"dyad/kernels"
)

const (
	u = 0x1p-53
	// secondOrder covers products of two or more error terms. Each term is below 2^-20 of
	// its quantity (usable checks this), and there are fewer than 30 terms.
	secondOrder = 1.01
)

// roundoff returns engine.QueryBounds.Sum. docs/theory.md#roundoff describes the arithmetic
// and the theorem about all pairs.
//
// Notation: n, d and R are as in package engine. l, S, V and ds = ScoreErr are as in
// engine.ScoreRange. Q = Slope is sup |phi'|, and C = Curvature is the sup of the slope
// of phi', where each sup is over [-V, V]. This interval contains every exact and
// computed argument. e = SlopeErr is the error of phi' at a float64 argument. D_ij = y_i
// - y_j, and g(k) = engine.Gamma(k).
//
// # All pairs
//
// Claim. If every computed sum of phi'(u_ij) D_ij over j has an error of at most
// E sum_j |D_ij|, then ||error of X^T c|| <= R l n^2 (E + g(m) Q), where m is the
// depth of the sums over rows.
//
// Proof. ||X^T (c^ - c)|| <= R sum_i |c^_i - c_i| <= 2 R E sum_ij |D_ij|. The summation
// adds at most g(m) sum_i |c^_i| ||x_i|| <= g(m) R 2 Q sum_ij |D_ij| to first order.
// sum_ij |D_ij| is convex in every label, so it is largest for labels at the ends of
// their interval, where it is 2 l k (n-k) <= l n^2 / 2. QED
//
// # Direct
//
// A computed argument of phi' has an error of at most l 2 ds + 4 u V, because the label
// difference, the score difference and the product are rounded. So phi' has an error of
// at most C (2 l ds + 4 u V) + e. The label difference and the product are rounded, and
// the sum over j has depth directDepth. Together this gives
//
//	E = C (2 l ds + 4 u V) + e + (3 u + g(directDepth)) Q.
//
// For a loss that is not smooth, the computed sum is compared with the exact sum of the
// terms v^_ij D_ij (x_i - x_j), where v^_ij is the computed slope (see
// engine.QueryBounds.Sum). Then E consists of its last part only. v^_ij is a function of the
// records i and j and w alone, bit for bit. It does not depend on the other records in the
// same tile or list, or on their places. A score is a function of its own row and w, because
// the plain kernels sum every row in the same way (kernels.Dots and GatherDots of
// kernels.Generic, SparseDots). The margin is a product of two differences, so it has the
// same bits for (i, j) and (j, i). A slope is a function of its margin (the contract of
// engine.Scalar.Slopes), and it is clamped to [SlopeMin, SlopeMax].
//
// LogisticTile: a_i = exp(D s_i) has the relative error u V + 4 u, because D and the
// argument are rounded with |D s_i| <= V/2, and the exponential is rounded. b_j has the
// same relative error. So the logistic function changes by at most C (2 u V + 8 u), and
// its own roundings add 9 u Q. The sum is below the same E, since C = 1/4 and Q >= 1/2.
//
// # Near-linear
//
// For a record i and one other label, let F(x, y) = phi'(D (s_i - s_j)), where x and y are
// the positions of s_i and s_j in their bins. Let p = Terms, B = bins, L = Lebesgue, A =
// PowerNorm, A2 = PowerGrowth, tau = Truncation and T = PowerNoise. The method computes
// I_x I_y F, summed over j, where I_x and I_y interpolate in x and in y. It computes the
// sums of powers of y, and their products with the polynomials of F(node of x, .). From
// the values at the nodes of x it computes Chebyshev coefficients and coefficients of
// powers. It evaluates the polynomials by Horner's rule. The errors are, in units of N |D|
// for N records of the label:
//
//	(1 + L) tau            |F - I_x F| <= tau and |I_x (F - I_y F)| <= L tau
//	C 2 l (ds + 7 u S)     scores, w/S by u S. Locate rounds z <= B twice (2 u B bins of
//	                       width 2 S/B), and y once
//	L^2 (14 C u V + e)     values at nodes: nodes within 8 u (16 u on a difference of
//	                       at most 2 B), l S / B and 4 more roundings; both
//	                       interpolations pass an error on with factor L
//	L (22 p u Q + 2 u (A + v))
//	                       tables: a factor of toCoefs is within (2/p) 10 u and
//	                       compensatedDot rounds once, so the p Chebyshev coefficients in
//	                       y are within 22 u Q. What that adds to the coefficients of
//	                       powers is at most v = 22 u Q T. These round once, and
//	                       (2 p u)^2 (A2 + v) is less
//	L (A + v) g(sumDepth + p)
//	                       sums of powers: each term within p u, in absolute value up to 1
//	L (A + v) g(DotDepth(Bp) + 18)
//	                       values at the nodes of x, up to 16 labels, times D
//	2 p Q (g(q) + 12 u)    Chebyshev coefficients: (2/p) T_a(x_k) is within (2/p) 10 u, the
//	                       dot product has depth q = DotDepth(p), |value at a node| <= (Q+tau) N
//
// These errors add up to an error E' at the nodes, which may change each Chebyshev
// coefficient in x by 2 E'. I_y F is a sum of F(., node) with factors whose absolute
// values add up to at most L. So without these errors, the absolute values of the
// coefficients of powers add up to L A, and the absolute values of their terms add up to L
// A2. Hence the remaining errors are
//
//	g(q) (L A2 + 2 E' T)           coefficients of powers
//	g(2p + 2) (L A + 2 E' T)       kernels.Polynomial
//	3 u Q                          D
//
// # Sorted
//
// Let (From, a, b) be the steps of phi', A = sum |a| + |b| V and r = sum |b|. c_i is a sum of D (a + b D (s_i - s_j))
// over the steps with s_j <= fl(s_i - fl(From/D)). In units of D, the error of the sums is 8 u A (kernels.Merge).
// Adding up to plainSums of the sums without a low part has an error of 3 u A. The error of the coefficients of steps
// and pieces is 4 u A. The rounding of D adds 2 u Q, and the result adds 2 u Q once. A step of a pair may be taken too
// early or too late by up to 3 u V, which changes a continuous slope by 3 u V r. The errors of the scores and of D
// change the margin by 2 l ds + 2 u V. So
//
//	E = C (2 l ds + 2 u V) + e + (17 A + 4 Q + 8 r V) u.
//
// For a loss that is not smooth, the computed sum is compared with the exact sum of the
// pairs' own pieces at the computed scores, clamped to the bounds of phi'. A piece
// exceeds these bounds by at most 3 u V r plus the errors of its coefficients, so E is
// its last part. The method is used for all labels, so the rule for a pair is the same in
// all data sets.
//
// # Persons
//
// Persons add the E of the pairs within a person and the roundings of weights: see
// docs/theory.md#person-sums. Depths hold for the largest number of rows.
//
// # Prefix pairs
//
// The T terms phi'(u) D (x_T - x_i) have norms of at most Q l 2R and errors as in the
// direct method. x_T sum v_i - sum v_i x_i has depth prefixDepth. So the bound is T 2 R l
// (E + g(prefixDepth) Q).
//
// The last summand covers every underflow. There are fewer than 2^10 n^2 d operations
// whose result can underflow. Each loses at most 2^-1021, and the loss is multiplied by
// at most 1 + R l.
func (k *kernel) roundoff(pairs engine.Pairs) float64 {
	p := k.problem
	R, l := p.Bounds.FeatureNorm, k.scores.LabelSpan
	n, tiny := float64(p.N), k.underflow()
	switch q := pairs.(type) {
	case engine.AllPairs:
		if q.N != p.N {
			return math.Inf(1)
		}
		e := k.directError() + engine.Gamma(directDepth(k.rows))*k.scores.Slope
		switch {
		case k.method == NearLinear:
			e = k.nearError()
		case k.method == Sorted:
			e = k.sortedError()
		}
		if p.ByPerson() {
			e += 8*u*k.scores.Slope + k.ownError()/n
		}
		return R*l*n*n*(e+engine.Gamma(k.rowSumDepth())*k.scores.Slope)*secondOrder + tiny
	case engine.PrefixPairs:
		if p.ByPerson() || k.team != nil || q.T < 1 || q.T >= p.N {
			return math.Inf(1)
		}
		e := k.directError() + engine.Gamma(k.prefixDepth(q.T))*k.scores.Slope
		return float64(q.T)*2*R*l*e*secondOrder + tiny
	}
	return math.Inf(1)
}

// underflow returns the last summand of roundoff.
func (k *kernel) underflow() float64 {
	p, n := k.problem, float64(k.rows)
	return n * n * float64(p.D) * (1 + p.Bounds.FeatureNorm*k.scores.LabelSpan) * 0x1p-1000
}

// directError returns E without the error of the summation.
func (k *kernel) directError() float64 {
	s := k.scores
	if !s.Smooth() {
		return 3 * u * s.Slope
	}
	return s.Curvature*(2*s.LabelSpan*s.ScoreErr+4*u*s.Margin) + s.SlopeErr + 3*u*s.Slope
}

// nearError returns E of the near-linear method.
func (k *kernel) nearError() float64 {
	s, e := k.scores, k.expansion
	p, L, Q, C := float64(e.Terms), e.Lebesgue, s.Slope, s.Curvature
	dot, noise := engine.Gamma(kernels.DotDepth(e.Terms)), e.PowerNoise()
	sum := (1 + L) * e.Truncation
	sum += C * 2 * s.LabelSpan * (s.ScoreErr + 7*u*s.Score)
	sum += L * L * (C*14*u*s.Margin + s.SlopeErr)
	tables := e.PowerNorm + 22*u*Q*noise
	sum += L * (22*p*u*Q + 2*u*tables)
	sum += L * tables * engine.Gamma(k.sumDepth()+e.Terms)
	sum += L * tables * engine.Gamma(kernels.DotDepth(k.bins*e.Terms)+maxClasses+2)
	sum += 2 * p * Q * (dot + 12*u)
	noise *= 2 * sum
	sum += dot * (L*e.PowerGrowth + noise)
	sum += engine.Gamma(2*e.Terms+2) * (L*e.PowerNorm + noise)
	return sum + 3*u*Q
}

// rowSumDepth returns the depth of X^T c. Rows of a block are added, then blocks of a
// chunk one after the other, and then chunks in a binary tree.
func (k *kernel) rowSumDepth() int {
	return kernels.AddRowsDepth(k.blockRows) + k.chunkRows/k.blockRows + k.treeDepth()
}

// treeDepth returns the depth of the sum of chunks. The number of rows of persons is not
// public, so for persons it is the depth for the largest possible number of rows.
func (k *kernel) treeDepth() int {
	if k.problem.ByPerson() {
		return bits.Len(maxChunks)
	}
	return bits.Len(uint(k.chunks()))
}

// sumDepth returns the depth of the sums of powers. kernels.PowerSums adds len/8 + 1 times to a
// partial sum, and its terms have depth 2. The count of a run is its length plus 8. The sums
// are flushed before a run that would make the total count exceed runRows + 8. A flush takes 3
// additions and one addition to the sum of a chunk. A group has at most 7 zeros in a block. Two
// successive flushes of a group together sum more than runRows rows, so a group is flushed less
// than 2.1 chunkRows/runRows + 2 times. Chunks are added in a binary tree. The weights of
// persons are summed over a run in depth runRows/4 + 5, and runs are added to the sum of a
// chunk.
func (k *kernel) sumDepth() int {
	run := runRows/8 + 1 + 2 + 3
	if k.problem.ByPerson() {
		run = runRows/4 + 5
	}
	return run + 2*(k.chunkRows+k.chunkRows/20)/runRows + 3 + k.treeDepth()
}

// directDepth returns the depth of c by the direct method. A record is a row in at most
// n/tileCols + 1 tiles of tileCols pairs. It is a column in tiles of tileRows pairs.
// There are at most n/(tileRows maxStripes) + 2 such tiles for each of the maxStripes
// stripes.
func directDepth(n int) int {
	row := tileCols + 2 + n/tileCols
	col := tileRows + 8 + n/(tileRows*maxStripes) + maxStripes
	return max(row, col) + 4
}

// prefixDepth returns the depth of a sum over T prefix pairs.
func (k *kernel) prefixDepth(T int) int {
	jobRows := prefixJob * k.blockRows
	return kernels.AddRowsDepth(min(T, k.blockRows)) + prefixJob + T/jobRows + 5
}

// usable reports whether all first-order error terms are so small that secondOrder covers
// their products.
func (k *kernel) usable() bool {
	most := max(k.directError(), engine.Gamma(directDepth(k.rows))*k.scores.Slope,
		engine.Gamma(k.rowSumDepth())*k.scores.Slope)
	if k.problem.ByPerson() {
		most = max(most, k.ownError())
	}
	switch k.method {
	case NearLinear:
		most = max(most, k.nearError())
	case Sorted:
		most = max(most, k.sortedError())
	}
	return most < k.smallError()
}

// smallError returns the largest E whose square is negligible.
func (k *kernel) smallError() float64 { return 0x1p-20 * k.scores.Slope }

// ownError returns E' of docs/theory.md#person-sums. It is the error of a sum of up to
// PersonRows single slopes, which are added one after the other. For the sorted method, a
// slope is a sum over the steps. Each step adds one rounding to the roundings of
// sortedError.
func (k *kernel) ownError() float64 {
	depth := engine.Gamma(k.problem.PersonRows+8) * k.scores.Slope
	switch k.method {
	case NearLinear:
		return k.directError() + depth
	case Sorted:
		var size float64
		for _, p := range k.steps {
			size += math.Abs(p.Slope) + math.Abs(p.Rise)*k.scores.Margin
		}
		return k.sortedError() + engine.Gamma(len(k.steps)+8)*size + depth
	}
	return 0
}

// sortedError returns E of the sorted method (see roundoff).
func (k *kernel) sortedError() float64 {
	s := k.scores
	var size, rise float64
	for _, p := range k.steps {
		size += math.Abs(p.Slope) + math.Abs(p.Rise)*s.Margin
		rise += math.Abs(p.Rise)
	}
	sums := 17 * u
	if rows := float64(k.rows) * u; k.problem.ByPerson() {
		sums = 21*u + 4*rows*rows // kernels.Merge.AddSteps with weights
	}
	e := sums*size + (4*s.Slope+8*rise*s.Margin)*u
	if s.Smooth() {
		e += s.Curvature*(2*s.LabelSpan*s.ScoreErr+2*u*s.Margin) + s.SlopeErr
	}
	return e
}
