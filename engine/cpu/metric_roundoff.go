package cpu

import (
	"math"

	"dyad/engine"
	"dyad/kernels"
)

// roundoff returns engine.QueryBounds.Sum. It bounds the Frobenius norm of the error,
// which is the Euclidean norm in Symmetric coordinates (docs/theory.md#roundoff).
//
// Notation: n, d and R are as in package engine. q, A, V, Q, C and the error dV of a
// margin are as in engine.MetricRange. g(k) = engine.Gamma(k), and v_ij = x_i - x_j.
//
// # Coefficients
//
// With t = y_i y_j, the computed c = -phi'(margin) t differs from the exact one by q E with
//
//	E = C dV + e + 2 u Q
//
// where e is the error of phi', and 2 u is the relative rounding error of the product with
// the two labels. For a loss that is not smooth, the computed sum is compared with the exact
// sum of terms that have the computed slopes, so E is only 2 u Q (see engine.QueryBounds.Sum,
// and kernel.roundoff for score losses). A computed slope is a function of the two records,
// their order and W alone, bit for bit, whatever else is in the tile. This holds for two
// reasons. The plain kernels sum every element of X W and of X W X^T in the same way
// (kernels.AddProducts, Dot). A slope is a clamped function of its margin (the contract of
// engine.Scalar.Slopes).
//
// A loss may be smooth at the margins of members of its domain, but not up to V. It then has
// the Constants of a smooth loss, so E must also bound the distance to the exact
// coefficient. E is then larger by MetricRange.WithinErr.
//
// # All pairs
//
// The result is 2 [X^T diag(C1) X - (M + M^T)] with M = X^T U X. U is the strict upper
// triangle of c, and C1 are the row sums of U plus its column sums. For the computed U
// this is exactly sum_(i != j) c_ij v_ij v_ij^T, so the errors of c add at most
//
//	q E sum_(i != j) ||v_ij||^2 = q E (2 n sum ||x_i||^2 - 2 ||sum x_i||^2) <= 2 n^2 R^2 q E.
//
// Each product c_ij x_ia x_jb of the sums takes part in at most k = allDepth roundings,
// including packing and its constant sqrt 2. An unordered pair and an entry have four
// such products, with factor 2. Their absolute values are the entries of |c_ij| (|x_i| +
// |x_j|)(|x_i| + |x_j|)^T, a matrix of norm at most q Q 4 R^2. Hence the sums add at most
// g(k) 4 n (n-1) R^2 q Q.
//
// Pairs in float32: see singleRoundoff.
//
// # Persons
//
// The sums have products a_i a_j c_ij x_ia x_jb of rows of different persons: see docs/theory.md#person-sums.
//
// # Prefix pairs
//
// Prefix pairs are always computed in float64. The same argument holds with ||v||^2 summed
// over T pairs, which is at most 4 R^2 T, and with the products c v_a v_b. It gives T 4
// R^2 q (E + g(prefixDepth) Q).
//
// The last summand covers every underflow outside the distances. An entry is a sum of
// fewer than 2^4 n^2 products of c, x and x' (or v and v'). Each multiplication of a
// product loses at most 2^-1073, multiplied by at most 1 + R. Each c loses as much,
// multiplied by 4 R^2 and C q (1 + A). There are d^2 entries.
func (k *metricKernel) roundoff(pairs engine.Pairs) float64 {
	p, m := k.problem, k.limits
	R, n, d := p.Bounds.FeatureNorm, float64(p.N), float64(p.D)
	curved := 0.0
	if m.Smooth() {
		curved = m.Curvature * m.Margin
	}
	rows := float64(k.rows)
	tiny := rows * rows * d * d * (1 + R) * (1 + R) * (1 + m.Labels) * (1 + curved + m.Slope) * 0x1p-1000
	switch q := pairs.(type) {
	case engine.AllPairs:
		if q.N != p.N {
			return math.Inf(1)
		}
		if k.single {
			return k.singleRoundoff() + tiny
		}
		coefficient, sums := k.coefficientError(), 4*n*(n-1)
		if p.ByPerson() {
			coefficient, sums = coefficient+8*u*m.Slope, 4*n*n
		}
		e := 2*n*n*coefficient + sums*engine.Gamma(k.allDepth())*m.Slope
		return R*R*m.Labels*e*secondOrder + tiny
	case engine.PrefixPairs:
		if p.ByPerson() || k.team != nil || q.T < 1 || q.T >= p.N {
			return math.Inf(1)
		}
		e := k.coefficientError() + engine.Gamma(k.prefixDepth(q.T))*m.Slope
		return float64(q.T)*4*R*R*m.Labels*e*secondOrder + tiny
	}
	return math.Inf(1)
}

// coefficientError returns E.
func (k *metricKernel) coefficientError() float64 {
	m := k.limits
	if !m.Smooth() {
		return m.WithinErr + 2*u*m.Slope
	}
	return m.Curvature*m.MarginErr + m.SlopeErr + 2*u*m.Slope
}

// usable reports whether all first-order error terms are so small that secondOrder covers
// their products.
func (k *metricKernel) usable() bool {
	most := max(k.coefficientError(), engine.Gamma(max(k.allDepth(), k.prefixDepth(k.rows)))*k.limits.Slope)
	return most < 0x1p-20*k.limits.Slope
}

// neighbourRoundoff returns engine.QueryBounds.Neighbour. It is smaller than roundoff
// only for all pairs in float32, and otherwise equal to roundoff. The notation is as at
// singleRoundoff.
//
// Claim. If record k changes, the error over all pairs changes by at most twice
//
//	(n-1) R^2 (8 E + qQ w (2 T (F_T + 1) + 4 Z (F_Z + 1) + 4)) + 4 n (n-1) R^2 qQ g(allDepth)
//
// where F_Z = kernels.MetricSpan32 and F_T = singleTerms are the numbers of terms of sums.
//
// Proof. The computed margin and coefficient of a pair are functions of its two records,
// their order and W. The reasons are as follows. kernels.MetricBlock32 computes margins
// and coefficients by the same operations whatever the other rows and columns are. x_i^T W
// and x_i^T W x_i depend on one row only. A number rounded to float32 depends on this
// number only. The same holds for x^_j. So for pairs without k, the errors of coefficients
// and of x^_j are the same for the two data sets, and cancel. For each of the n-1
// unordered pairs with k these errors are at most 8 R^2 E + 4 R^2 qQ w, for each of the
// two data sets.
//
// The pairs of a sum in float32 depend on n alone. A sum without k has the same terms in the same order
// for the two data sets, hence the same bits and the same error. Every other record i has one sum of C1
// that contains k, with at most F_T terms. It is a sum of the row of i if i < k, and of the column of i if
// i > k. Its error is at most T w F_T qQ for each data set. The sums of record k itself have n-1 terms, so
// their error is at most (n-1) T w qQ. Errors of C1 are multiplied by 2 R^2. Likewise, if i < k, the sum
// of c_ij x_j over the span that contains k has an error of at most Z w F_Z qQ R. The sums of record k
// together have an error of at most (n-1) Z w qQ R. These errors are multiplied by 4 R. For each data set,
// the last summand bounds the roundings of float64. QED
//
// Relative to the sensitivity 2 (n-1) Dg, only the last summand grows with n.
func (k *metricKernel) neighbourRoundoff(pairs engine.Pairs) float64 {
	all := k.roundoff(pairs)
	if q, ok := pairs.(engine.AllPairs); !ok || q.N != k.problem.N || !k.single {
		return all
	}
	R, n := k.problem.Bounds.FeatureNorm, float64(k.problem.N)
	e := 8*k.singleCoefficientError() +
		k.largest()*u32*(2*singleDepth*(singleTerms+1)+4*singleSpanDepth*(kernels.MetricSpan32+1)+4) +
		4*n*k.largest()*engine.Gamma(k.allDepth())
	return min(all, (n-1)*R*R*e*k.singleSecondOrder()+2*k.singleUnderflow())
}
