package cpu

import (
	"math"
	"math/bits"

	"dyad/engine"
	"dyad/kernels"
)

const (
	u = 0x1p-53
	// secondOrder covers products of two or more error terms: each term is below
	// 2^-20 of its quantity (checked by usable) and there are fewer than 30.
	secondOrder = 1.01
)

// roundoff is engine.QueryBounds.Sum. docs/theory.md#roundoff describes the arithmetic and the
// theorem about all pairs.
//
// Notation: n, d, R as in package engine; l, S, V, ds = ScoreErr as in
// engine.ScoreRange; Q = Slope = sup |phi'|, C = Curvature, the sup of its slope, both
// on [-V, V], which contains every exact and computed argument; e = SlopeErr, the error
// of phi' at a float64 argument; D_ij = y_i - y_j; g(k) = engine.Gamma(k).
//
// # All pairs
//
// Claim. If every computed sum of phi'(u_ij) D_ij over j has an error of at most
// E sum_j |D_ij|, then ||error of X^T c|| <= R l n^2 (E + g(m) Q), where m is the
// depth of the sums over rows.
//
// Proof. ||X^T (c^ - c)|| <= R sum_i |c^_i - c_i| <= 2 R E sum_ij |D_ij|; the
// summation adds at most g(m) sum_i |c^_i| ||x_i|| <= g(m) R 2 Q sum_ij |D_ij|
// to first order. sum_ij |D_ij| is convex in every label, so it is largest for
// labels at the ends of their interval, where it is 2 l k (n-k) <= l n^2 / 2. QED
//
// # Direct
//
// A computed argument of phi' differs by at most l 2 ds + 4 u V (label
// difference, score difference and product are rounded), so phi' by
// C (2 l ds + 4 u V) + e; two roundings of the label difference and the
// product, and the sum over j of depth directDepth, give
//
//	E = C (2 l ds + 4 u V) + e + (3 u + g(directDepth)) Q.
//
// For a loss that is not smooth the sum is compared with that of the terms v^_ij D_ij (x_i -
// x_j) in exact arithmetic, where v^_ij is the computed slope (see engine.Kernel): then only
// the last part of E is left. v^_ij is a function of the records i and j and w alone, bit
// for bit, whatever other records are in the same tile or list, and where. A score is a
// function of its own row and w, because the plain kernels sum every row alike (kernels.Dots
// and GatherDots of kernels.Generic, SparseDots). The margin is a product of two
// differences, so it has the same bits for (i, j) and (j, i). A slope is a function of its
// margin (engine.Scalar's contract of Slopes), and is clamped to [SlopeMin, SlopeMax].
//
// LogisticTile: a_i = exp(D s_i) has relative error u V + 4 u (D and the argument
// are rounded, |D s_i| <= V/2; exponential), b_j too, so the logistic function
// changes by at most C (2 u V + 8 u), and its own 9 u Q follow: below the same E,
// since C = 1/4 and Q >= 1/2.
//
// Pairs in float32: see singleError.
//
// # Near-linear
//
// For a record i and one other label, put F(x, y) = phi'(D (s_i - s_j)) with x, y
// the positions of s_i, s_j in their bins, p = Terms, B = bins, L = Lebesgue,
// A = PowerNorm, A2 = PowerGrowth, tau = Truncation, T = PowerNoise. The method computes
// I_x I_y F, interpolation in both variables, summed over j: the sums of powers of y,
// their products with the polynomials of F(node of x, .), Chebyshev coefficients of the
// values at the nodes of x, those of powers, Horner's rule. Errors in units of N |D| for N
// records of the label:
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
// These add up to an error E' at the nodes, which may change each Chebyshev coefficient in
// x by 2 E'. Without them the coefficients of powers add up to L A and their terms to L A2,
// since I_y F is a sum of F(., node) with factors of sum at most L in absolute value. So
//
//	g(q) (L A2 + 2 E' T)           coefficients of powers
//	g(2p + 2) (L A + 2 E' T)       kernels.Polynomial
//	3 u Q                          D
//
// # Sorted
//
// With the steps (From, a, b) of phi', A = sum |a| + |b| V and r = sum |b|, c_i is a sum
// of D (a + b D (s_i - s_j)) over the steps with s_j <= fl(s_i - fl(From/D)). Errors in
// units of D: 8 u A in the sums (kernels.Merge), 3 u A where up to plainSums of these are
// added without a low part, 4 u A in the coefficients of steps and pieces, 2 u Q for the
// rounding of D and 2 u Q once for the result. The step of a pair is taken up to 3 u V too early or too late, which changes a continuous slope by
// 3 u V r. The scores and D change the margin by 2 l ds + 2 u V. So
//
//	E = C (2 l ds + 2 u V) + e + (17 A + 4 Q + 8 r V) u.
//
// For a loss that is not smooth the sum is compared with that of the pairs' own pieces
// at the computed scores, clamped to the bounds of phi': a piece leaves these by at most
// 3 u V r plus the errors of its coefficients, so E is its last part. The method is
// used for any labels, so all data sets have the same rule for a pair.
//
// # Persons
//
// See docs/theory.md#person-sums for what is added: E of the pairs within a person, and
// weights. Depths hold for the largest number of rows.
//
// # Prefix pairs
//
// The T terms phi'(u) D (x_T - x_i) have norm at most Q l 2R and errors as in the
// direct method; x_T sum v_i - sum v_i x_i has depth prefixDepth, so the bound
// is T 2 R l (E + g(prefixDepth) Q).
//
// The last summand covers every underflow: there are fewer than 2^10 n^2 d
// operations whose result can underflow, each loses at most 2^-1021 and is
// multiplied by at most 1 + R l.
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

// underflow is the last summand of roundoff.
func (k *kernel) underflow() float64 {
	p, n := k.problem, float64(k.rows)
	return n * n * float64(p.D) * (1 + p.Bounds.FeatureNorm*k.scores.LabelSpan) * 0x1p-1000
}

// directError is E without the summation.
func (k *kernel) directError() float64 {
	s := k.scores
	if !s.Smooth() {
		return 3 * u * s.Slope
	}
	return s.Curvature*(2*s.LabelSpan*s.ScoreErr+4*u*s.Margin) + s.SlopeErr + 3*u*s.Slope
}

// nearError is E of the near-linear method.
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

// rowSumDepth is the depth of X^T c: rows of a block, blocks of a chunk one after
// the other, chunks in a binary tree.
func (k *kernel) rowSumDepth() int {
	return kernels.AddRowsDepth(k.blockRows) + k.chunkRows/k.blockRows + k.treeDepth()
}

// treeDepth is the depth of the sum of chunks; of persons, whose number of rows is not
// public, of as many as there may be.
func (k *kernel) treeDepth() int {
	if k.problem.ByPerson() {
		return bits.Len(maxChunks)
	}
	return bits.Len(uint(k.chunks()))
}

// sumDepth is the depth of the sums of powers. kernels.PowerSums adds len/8 + 1 times to a
// partial sum, of terms of depth 2. A run counts as its length and 8 more, and the sums are
// flushed before a run that would make that exceed runRows + 8, by 3 additions and one to the
// sum of a chunk. A group has at most 7 zeros in a block. Two successive flushes of a group sum
// more than runRows rows together, so a group is flushed less than 2.1 chunkRows/runRows + 2
// times. Chunks are added in a binary tree. The weights of persons are summed over a run in
// depth runRows/4 + 5, and runs are added to the sum of a chunk.
func (k *kernel) sumDepth() int {
	run := runRows/8 + 1 + 2 + 3
	if k.problem.ByPerson() {
		run = runRows/4 + 5
	}
	return run + 2*(k.chunkRows+k.chunkRows/20)/runRows + 3 + k.treeDepth()
}

// directDepth is the depth of c by the direct method. A record is a row in at
// most n/tileCols + 1 tiles of tileCols pairs, and a column in tiles of tileRows
// pairs: at most n/(tileRows maxStripes) + 2 of them per stripe, maxStripes
// stripes.
func directDepth(n int) int {
	row := tileCols + 2 + n/tileCols
	col := tileRows + 8 + n/(tileRows*maxStripes) + maxStripes
	return max(row, col) + 4
}

// prefixDepth is the depth of a sum over T prefix pairs.
func (k *kernel) prefixDepth(T int) int {
	jobRows := prefixJob * k.blockRows
	return kernels.AddRowsDepth(min(T, k.blockRows)) + prefixJob + T/jobRows + 5
}

// usable reports that all first-order error terms are small enough for
// secondOrder to cover their products.
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

// smallError is the largest E whose square is negligible.
func (k *kernel) smallError() float64 { return 0x1p-20 * k.scores.Slope }
