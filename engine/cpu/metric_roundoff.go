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

// finish is the depth of the last steps, which are two sums of entries and Pack.
const finish = 2 + 3

// allDepth returns the largest depth of the two kinds of products. Products of M take part in sums
// over a tile and over the tiles of a panel, and in the product with X. They also take part in sums
// over the rows of a tile, the tiles of a stripe, the stripes and the panels. Products of the
// diagonal term take part in row sums over a tile, a panel and the panels, or in column sums over a
// tile, a stripe and the stripes. Then they take part in the sum of row and column sums, in the
// multiplication, and in the same sums over rows as products of M.
func (k *metricKernel) allDepth() int {
	n := k.rows
	panels := (n + k.panel - 1) / k.panel
	panelTiles := k.panel/metricCols + 1
	blocks := k.stripe/metricRows + 1
	reduce := blocks + metricStripes + panels
	block := metricCols + panelTiles + 3 // depth of kernels.MetricBlock
	product := block + 1
	row := block + panels
	col := metricRows + 1 + reduce
	return max(product, max(row, col)+2) + kernels.AddProductsDepth(metricRows) + reduce + finish
}

// prefixDepth returns the depth of a sum over T prefix pairs. It counts two differences,
// the multiplication, a block, the blocks of a job, and the jobs.
func (k *metricKernel) prefixDepth(T int) int {
	return 3 + kernels.AddProductsDepth(metricRows) + metricJob + T/(metricJob*metricRows) + 1 + finish
}

// usable reports whether all first-order error terms are so small that secondOrder covers
// their products.
func (k *metricKernel) usable() bool {
	most := max(k.coefficientError(), engine.Gamma(max(k.allDepth(), k.prefixDepth(k.rows)))*k.limits.Slope)
	return most < 0x1p-20*k.limits.Slope
}

// marginDepth returns the larger depth of the two ways to compute a margin. Margins of all
// pairs are computed as p (1 - (s_i + s_j - 2 x_i^T W x_j)) with p = y_i y_j, in at most 3
// (Unpack) + AddProductsDepth(d) (X W) + DotDepth(d) (s_i) + MetricMarginDepth(d)
// roundings. Margins of prefix pairs are computed from v^T W v, where v is x - x' rounded,
// in 3 (Unpack) + 2 (v, twice) + AddProductsDepth(d) + DotDepth(d) + 3 (p, difference and
// product) roundings.
func marginDepth(d int) int {
	return 3 + kernels.AddProductsDepth(d) + kernels.DotDepth(d) + kernels.MetricMarginDepth(d)
}
