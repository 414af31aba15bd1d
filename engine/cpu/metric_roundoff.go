package cpu

import (
	"math"

	"dyad/engine"
	"dyad/kernels"
)

// roundoff is engine.QueryBounds.Sum: the Frobenius norm of the error, which is the
// Euclidean norm in Symmetric coordinates (docs/theory.md#roundoff).
//
// Notation: n, d, R as in package engine; q, A, V, Q, C and the error dV of a margin
// as in engine.MetricRange; g(k) = engine.Gamma(k); v_ij = x_i - x_j.
//
// # Coefficients
//
// With t = y_i y_j, the computed c = -phi'(margin) t differs from the exact one by q E with
//
//	E = C dV + e + 2 u Q
//
// where e is the error of phi' and 2 u that of both labels. For a loss that is not smooth the
// sum is compared with that of the terms at the computed slopes, which leaves 2 u Q: see
// engine.Kernel, and direct score losses. A computed slope is a function of the two records,
// their order and W alone, bit for bit, whatever else is in the tile. The reasons are that
// plain kernels sum every element of X W and of X W X^T alike (kernels.AddProducts, Dot) and
// that a slope is a clamped function of its margin (engine.Scalar's contract of Slopes).
//
// A loss may be smooth at the margins of members of its domain, but not up to V. It then has
// the Constants of a smooth loss, so E must be the distance to the exact coefficient, too:
// it has MetricRange.WithinErr more.
//
// # All pairs
//
// The result is 2 [X^T diag(C1) X - (M + M^T)] with U the strict upper triangle of
// c, C1 its row sums plus its column sums and M = X^T U X. For the computed U this is
// exactly sum_(i != j) c_ij v_ij v_ij^T, so the errors of c add at most
//
//	q E sum_(i != j) ||v_ij||^2 = q E (2 n sum ||x_i||^2 - 2 ||sum x_i||^2) <= 2 n^2 R^2 q E.
//
// Each product c_ij x_ia x_jb of the sums takes part in at most k = allDepth
// roundings, packing and its constant sqrt 2 included. There are four such products
// for an unordered pair and an entry, with factor 2, whose absolute values are the
// entries of |c_ij| (|x_i| + |x_j|)(|x_i| + |x_j|)^T, of norm at most q Q 4 R^2. Hence
// the sums add at most g(k) 4 n (n-1) R^2 q Q.
//
// Pairs in float32: see singleRoundoff.
//
// # Persons
//
// See docs/theory.md#person-sums: products a_i a_j c_ij x_ia x_jb of rows of different persons.
//
// # Prefix pairs
//
// Always in float64. The same with sum over T pairs of ||v||^2 <= 4 R^2 T and the products
// c v_a v_b: T 4 R^2 q (E + g(prefixDepth) Q).
//
// The last summand covers every underflow outside the distances: an entry is a sum of
// fewer than 2^4 n^2 products of c, x and x' (or v and v'), where each loses at most
// 2^-1073 in either multiplication, multiplied by at most 1 + R, and each c loses as
// much, multiplied by 4 R^2 and C q (1 + A); there are d^2 entries.
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

// coefficientError is E.
func (k *metricKernel) coefficientError() float64 {
	m := k.limits
	if !m.Smooth() {
		return m.WithinErr + 2*u*m.Slope
	}
	return m.Curvature*m.MarginErr + m.SlopeErr + 2*u*m.Slope
}

// finish is the depth of the last steps: two sums of entries, and Pack.
const finish = 2 + 3

// allDepth is the largest depth of the two kinds of products. M: a tile and tiles of a
// panel, their product with X; the rows of a tile, the tiles of a stripe, stripes, panels.
// The diagonal term: row sums over a tile, a panel, the panels, or column sums over a
// tile, a stripe, the stripes; rows plus columns and the multiplication; then sums over rows as for M.
func (k *metricKernel) allDepth() int {
	n := k.rows
	panels := (n + k.panel - 1) / k.panel
	panelTiles := k.panel/metricCols + 1
	blocks := k.stripe/metricRows + 1
	reduce := blocks + metricStripes + panels
	block := metricCols + panelTiles + 3 // of kernels.MetricBlock
	product := block + 1
	row := block + panels
	col := metricRows + 1 + reduce
	return max(product, max(row, col)+2) + kernels.AddProductsDepth(metricRows) + reduce + finish
}

// prefixDepth is the depth of a sum over T prefix pairs: two differences, the
// multiplication, a block, the blocks of a job, jobs.
func (k *metricKernel) prefixDepth(T int) int {
	return 3 + kernels.AddProductsDepth(metricRows) + metricJob + T/(metricJob*metricRows) + 1 + finish
}

// usable reports that all first-order error terms are small enough for
// secondOrder to cover their products.
func (k *metricKernel) usable() bool {
	most := max(k.coefficientError(), engine.Gamma(max(k.allDepth(), k.prefixDepth(k.rows)))*k.limits.Slope)
	return most < 0x1p-20*k.limits.Slope
}

// marginDepth is the depth of a margin by either way. Those of all pairs are computed from
// p (1 - (s_i + s_j - 2 x_i^T W x_j)) with p = y_i y_j, in at most 3 (Unpack) +
// AddProductsDepth(d) (X W) + DotDepth(d) (s_i) + MetricMarginDepth(d) roundings. Prefix
// pairs are computed from v^T W v with v = x - x' rounded, in 3 + 2 (v, twice) +
// AddProductsDepth(d) + DotDepth(d) + 3 (p, difference and product) roundings.
func marginDepth(d int) int {
	return 3 + kernels.AddProductsDepth(d) + kernels.DotDepth(d) + kernels.MetricMarginDepth(d)
}
