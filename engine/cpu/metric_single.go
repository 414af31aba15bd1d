package cpu

import (
	"dyad/engine"
	"dyad/kernels"
)

const (
	u32 = 0x1p-24 // roundoff of float32
	// spread32 bounds the range of features and labels whose products are normal float32
	// numbers.
	spread32 = 0x1p10
)

// singleRoundoff returns roundoff for all pairs in float32, without the last summand for
// float64.
//
// The notation is as at roundoff. q Q = largest, w = 2^-24, and x^_j is x_j rounded to float32.
//
// A product of a margin takes part in kernels.MetricMarginDepth(d) roundings of float32,
// besides the roundings of float64. The absolute values of the products add up to at most V.
// So a margin has an error of at most dV + gamma V, where gamma is the float32 analogue of
// g(MetricMarginDepth(d)). The slope has an error of at most C (dV + gamma V) + 10 w Q
// (kernels.MetricBlock32). One label is rounded to float32. So a coefficient has an error of
// at most
//
//	E = q (C (dV + gamma V) + 12 w Q).
//
// Row sums over a tile and column sums over a block take at most T roundings of float32.
// Products with rounded features over a span take at most Z roundings. T is singleDepth
// and includes the rounding of the label of a row. Z is singleSpanDepth. For an unordered
// pair with coefficient c the result has
//
//	2 (c x_i x_i^T + c x_j x_j^T - c (x_i x_j^T + x_j x_i^T))
//
// with three computed c: in a row sum, in a column sum, and in c_ij x_j. So for a pair,
// errors of coefficients add at most 8 R^2 E, and the sums add at most 2 R^2 2 T w qQ and
// 4 R^2 (Z + 1) w qQ. The roundings of float64 add as much as at roundoff. Altogether the
// bound is
//
//	n (n-1) R^2 (4 E + 2 qQ w (T + Z + 1) + 4 qQ g(allDepth)).
//
// Underflow of float32 loses at most 2^-149 in an operation. The bounds of features and
// labels are between 1/spread32 and spread32, and q (1 + A) <= MaxLogisticMargin32. So no
// factor of an operand is above 2^37, and the loss of a margin is within 2^-100 for each
// feature. The loss of every other operation is also within 2^-100 of the unit of its
// result.
func (k *metricKernel) singleRoundoff() float64 {
	R, n := k.problem.Bounds.FeatureNorm, float64(k.problem.N)
	e := 4*k.singleCoefficientError() +
		2*k.largest()*u32*(singleDepth+singleSpanDepth+1) +
		4*k.largest()*engine.Gamma(k.allDepth())
	return n*(n-1)*R*R*e*k.singleSecondOrder() + k.singleUnderflow()
}

// These constants describe sums of pairs in float32 (kernels.MetricBlock32). singleDepth is
// the depth of a sum of C1 over a tile of a row or a block of a column, and singleTerms is
// its number of terms. singleSpanDepth is the depth of a sum over a span.
const (
	singleDepth     = max(metricCols, metricRows/8+8)
	singleTerms     = max(metricCols, metricRows)
	singleSpanDepth = metricCols + kernels.MetricSpan32/metricCols + 1
)

// largest returns the bound q Q of coefficients.
func (k *metricKernel) largest() float64 { return k.limits.Labels * k.limits.Slope }

// singleCoefficientError returns E.
func (k *metricKernel) singleCoefficientError() float64 {
	m, depth := k.limits, float64(kernels.MetricMarginDepth(k.problem.D))*u32
	margin := m.MarginErr + depth/(1-depth)*m.Margin
	return m.Labels * (m.Curvature*margin + 12*u32*m.Slope)
}

// relativeError returns the largest of the first-order errors, each relative to its quantity.
func (k *metricKernel) relativeError() float64 {
	return max(k.singleCoefficientError()/k.largest(), (singleDepth+singleSpanDepth)*u32, engine.Gamma(k.allDepth()))
}

// singleSecondOrder returns a factor that covers products of error terms. There are fewer
// than 16 terms, each below 2^-8.
func (k *metricKernel) singleSecondOrder() float64 { return 1 + 16*k.relativeError() + 0x1p-20 }

// singleUnderflow returns a bound of the errors by underflow of float32.
func (k *metricKernel) singleUnderflow() float64 {
	m, R, n := k.limits, k.problem.Bounds.FeatureNorm, float64(k.problem.N)
	return 16 * n * n * R * R * float64(k.problem.D+8) * (1 + m.Labels) * (1 + m.Curvature*m.Labels) * 0x1p-100
}

// narrow holds the inputs of pairs in float32. Every number is computed from its own
// record and rounded.
type narrow struct {
	matrix
	dense []float32 // n x d, nil if the records are sparse
	y     []float32
	own   []float32 // x_i^T W x_i, set by allPairs
}

func newNarrow(x matrix, y []float64) *narrow {
	r := &narrow{matrix: x, y: make([]float32, len(y)), own: make([]float32, len(y))}
	narrowTo(r.y, y)
	switch {
	case x.narrow != nil:
		r.dense = x.narrow
	case x.start == nil:
		r.dense = make([]float32, len(y)*x.d)
		row := make([]float64, x.d)
		for i := range y {
			narrowTo(r.dense[i*x.d:][:x.d], x.rows(row, i, 1))
		}
	}
	return r
}

// rows is matrix.rows for float32.
func (r *narrow) rows(dst []float32, from, count int) []float32 {
	if r.start == nil {
		return r.dense[from*r.d:][:count*r.d]
	}
	dst = dst[:count*r.d]
	clear(dst)
	for i := range count {
		row := dst[i*r.d:][:r.d]
		for k := r.start[from+i]; k < r.start[from+i+1]; k++ {
			row[r.index[k]] = float32(r.value[k])
		}
	}
	return dst
}

// narrowTo rounds numbers to float32.
func narrowTo(dst []float32, x []float64) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = float32(v)
	}
}
