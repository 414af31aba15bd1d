package cpu

import (
	"fmt"

	"dyad/engine"
	"dyad/kernels"
)

const (
	u32 = 0x1p-24 // roundoff of float32
	// spread32 is the range of features and labels whose products are normal numbers of
	// float32.
	spread32 = 0x1p10
)

// planSingle checks that pairs in float32 are within the range of their proof.
func (k *metricKernel) planSingle(logistic bool) error {
	b, m := k.problem.Bounds, k.limits
	if !logistic {
		return fmt.Errorf("%w: loss %q in float32 on the CPU: leave out --precision, which is float64", engine.ErrUnsupported, k.loss.Name())
	}
	for _, v := range []float64{b.FeatureNorm, b.LabelAbs} {
		if !(v >= 1/spread32 && v <= spread32) {
			return fmt.Errorf("%w: features or labels of size %.3g in float32; rescale them or take float64", engine.ErrUnsupported, v)
		}
	}
	if m.Margin*(1+0x1p-10) > kernels.MaxLogisticMargin32 || !(k.relativeError() < 0x1p-8) {
		return fmt.Errorf("%w: margins up to %.3g of %d features in float32; take a smaller radius or float64", engine.ErrUnsupported, m.Margin, k.problem.D)
	}
	return nil
}

// singleRoundoff is roundoff over all pairs in float32, without the last summand for
// float64.
//
// Notation as at roundoff, q Q = largest, and w = 2^-24. x^_j is x_j rounded to float32.
//
// A product of a margin takes part in kernels.MetricMarginDepth(d) roundings of float32,
// besides those of float64. Their absolute values add up to V. So a margin has an error of
// at most dV + gamma V with gamma the float32 analogue of g(MetricMarginDepth(d)), its slope
// C times that and 10 w Q (kernels.MetricBlock32), and one label is rounded to float32: a
// coefficient has an error of at most
//
//	E = q (C (dV + gamma V) + 12 w Q).
//
// Row sums over a tile, column sums over a block and products over a span, of rounded
// features, take at most T, T and Z roundings of float32. T is singleDepth and covers the
// rounding of the label of a row, Z is singleSpanDepth. For an unordered pair with
// coefficient c the result has
//
//	2 (c x_i x_i^T + c x_j x_j^T - c (x_i x_j^T + x_j x_i^T))
//
// with three computed c: of a row, of a column, and in c_ij x_j. So errors of coefficients
// add at most 8 R^2 E for a pair, the sums 2 R^2 2 T w qQ and 4 R^2 (Z + 1) w qQ, and
// float64 as at roundoff:
//
//	n (n-1) R^2 (4 E + 2 qQ w (T + Z + 1) + 4 qQ g(allDepth)).
//
// Underflow of float32 loses at most 2^-149 in an operation. Features and labels are
// between 1/spread32 and spread32 in size and q (1 + A) <= MaxLogisticMargin32, so no factor
// of an operand is above 2^37 and that of a margin is within 2^-100 for each feature; the
// other operations are within that of their unit, too.
func (k *metricKernel) singleRoundoff() float64 {
	R, n := k.problem.Bounds.FeatureNorm, float64(k.problem.N)
	e := 4*k.singleCoefficientError() +
		2*k.largest()*u32*(singleDepth+singleSpanDepth+1) +
		4*k.largest()*engine.Gamma(k.allDepth())
	return n*(n-1)*R*R*e*k.singleSecondOrder() + k.singleUnderflow()
}

// neighbourRoundoff is engine.QueryBounds.Neighbour: roundoff but for all pairs in
// float32. Notation as at singleRoundoff.
//
// Claim. Where record k changes, the error over all pairs changes by at most twice
//
//	(n-1) R^2 (8 E + qQ w (2 T (F_T + 1) + 4 Z (F_Z + 1) + 4)) + 4 n (n-1) R^2 qQ g(allDepth)
//
// with F_Z = kernels.MetricSpan32 and F_T = singleTerms, for the numbers of terms of a sum.
//
// Proof. The computed margin and coefficient of a pair are functions of its two records,
// their order and W. Proof: kernels.MetricBlock32 computes them by the same operations
// whatever the other rows and columns are, x_i^T W and x_i^T W x_i come from one row, and
// rounding to float32 does. The same is true of x^_j. So the errors of coefficients and of
// x^_j of pairs without k are the same in both data sets, and cancel. Those of the n-1
// unordered pairs with k are at most 8 R^2 E + 4 R^2 qQ w each, in either data set.
//
// Which pairs a sum in float32 has depends on n alone. One without k has the same terms in the
// same order, hence the same bits, in both data sets, and so the same error. Every other
// record i has one sum of C1 with k, of at most F_T terms: of its row if i < k, of its
// column if i > k. Its error is at most T w F_T qQ, in either data set. The sums of record k
// itself have n-1 terms: (n-1) T w qQ. Errors of C1 count 2 R^2 times. Likewise the sum c_ij x_j
// over the span with k, if i < k, is within Z w F_Z qQ R, those of k together within
// (n-1) Z w qQ R, and they count 4 R times. The roundings of float64 are bounded in either data set by the
// last summand. QED
//
// Relatively to the sensitivity 2 (n-1) Dg none of this grows with n but for the last summand.
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

// Sums of pairs in float32 (kernels.MetricBlock32): the depth of a sum of C1, over a tile of
// a row or a block of a column, and its number of terms; and the depth over a span.
const (
	singleDepth     = max(metricCols, metricRows/8+8)
	singleTerms     = max(metricCols, metricRows)
	singleSpanDepth = metricCols + kernels.MetricSpan32/metricCols + 1
)

// largest is the largest coefficient.
func (k *metricKernel) largest() float64 { return k.limits.Labels * k.limits.Slope }

// singleCoefficientError is E.
func (k *metricKernel) singleCoefficientError() float64 {
	m, depth := k.limits, float64(kernels.MetricMarginDepth(k.problem.D))*u32
	margin := m.MarginErr + depth/(1-depth)*m.Margin
	return m.Labels * (m.Curvature*margin + 12*u32*m.Slope)
}

// relativeError is the largest of the first-order errors, relatively to its quantity.
func (k *metricKernel) relativeError() float64 {
	return max(k.singleCoefficientError()/k.largest(), (singleDepth+singleSpanDepth)*u32, engine.Gamma(k.allDepth()))
}

// singleSecondOrder covers products of error terms; there are fewer than 16 below
// 2^-8.
func (k *metricKernel) singleSecondOrder() float64 { return 1 + 16*k.relativeError() + 0x1p-20 }

// singleUnderflow covers underflow of float32.
func (k *metricKernel) singleUnderflow() float64 {
	m, R, n := k.limits, k.problem.Bounds.FeatureNorm, float64(k.problem.N)
	return 16 * n * n * R * R * float64(k.problem.D+8) * (1 + m.Labels) * (1 + m.Curvature*m.Labels) * 0x1p-100
}

// narrow holds the inputs of pairs in float32: every number is a function of its own
// record, rounded.
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

// rows is matrix.rows in float32.
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
