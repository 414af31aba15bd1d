package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"dyad/engine"
	"dyad/kernels"
)

// MetricFactor is a linear map L with L^T L = W. The Mahalanobis distance of x and x' under W is the Euclidean
// distance of L x and L x'.
type MetricFactor struct {
	// Dim is d, the number of features. Rank is the number of rows of L.
	Dim, Rank int
	// L is a row-major Rank x Dim matrix. Its rows are orthogonal and have descending norms: row k is
	// sqrt(lambda_k) times the k-th unit eigenvector of W.
	L []float64
	// Norm is the largest eigenvalue of W, which equals ||L||^2. It is 0 if Rank is 0.
	Norm float64
}

// Tolerances. Negative eigenvalues down to -negativeSlack times the largest eigenvalue are treated as rounding
// errors of a positive semidefinite matrix. Entries may differ from their mirror image by symmetrySlack times
// the largest entry.
const (
	negativeSlack = 0x1p-20
	symmetrySlack = 0x1p-40
)

// FactorMetric factors the row-major symmetric positive semidefinite d x d matrix w by its eigenvalues.
// (engine.Symmetric.Unpack computes w from the coordinates that a metric loss trains.) Eigenvalues below d
// 2^-52 times the largest, including negative ones, count as 0, so singular matrices need no special case. Then
// ||L^T L - W||_2 is at most the largest omitted magnitude plus the error of the eigensolver, which is of the
// order d 2^-52 ||W||_2. For a diagonal matrix the only errors are rounded square roots. FactorMetric returns
// an error if w is not d x d, finite and symmetric within 2^-40, or has an eigenvalue below -2^-20 times the
// largest.
func FactorMetric(w []float64, d int) (MetricFactor, error) {
	if d < 1 || len(w) != d*d {
		return MetricFactor{}, fmt.Errorf("metrics: a metric has %d entries for %d features, want %d x %d", len(w), d, d, d)
	}
	var largest float64
	for _, v := range w {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return MetricFactor{}, errors.New("metrics: the metric has an entry that is not finite; the model may have diverged")
		}
		largest = max(largest, math.Abs(v))
	}
	f := MetricFactor{Dim: d}
	if largest == 0 {
		return f, nil
	}
	_, e := math.Frexp(largest)
	e += e & 1 // make e even, so that the root of 2^e is exact
	largest = math.Ldexp(largest, -e)
	scaled := mat.NewSymDense(d, nil) // scaled by 2^-e, exact except for underflow
	diagonal := true
	for i := range d {
		for j := i; j < d; j++ {
			a, b := math.Ldexp(w[i*d+j], -e), math.Ldexp(w[j*d+i], -e)
			if math.Abs(a-b) > symmetrySlack*largest {
				return MetricFactor{}, errors.New("metrics: the metric is not symmetric")
			}
			scaled.SetSym(i, j, (a+b)/2)
			diagonal = diagonal && (i == j || a+b == 0)
		}
	}
	values, vectors, err := eigenpairs(scaled, diagonal)
	if err != nil {
		return MetricFactor{}, err
	}
	top := values[d-1]
	if values[0] < -negativeSlack*top {
		return MetricFactor{}, errors.New("metrics: the metric has a negative eigenvalue; first project it to a " +
			"positive semidefinite matrix")
	}
	for k := d - 1; k >= 0 && values[k] > float64(d)*0x1p-52*top; k-- {
		root := math.Sqrt(values[k])
		for j := range d {
			f.L = append(f.L, math.Ldexp(root*vectors.At(j, k), e/2))
		}
		f.Rank++
	}
	f.Norm = math.Ldexp(top, e)
	return f, nil
}

// eigenpairs returns the eigenvalues of s in ascending order and its eigenvectors as columns. The eigenpairs of
// a diagonal matrix are exact, so that equal distances stay equal under such a metric.
func eigenpairs(s *mat.SymDense, diagonal bool) ([]float64, *mat.Dense, error) {
	d := s.SymmetricDim()
	vectors := mat.NewDense(d, d, nil)
	if diagonal {
		order, values := make([]int, d), make([]float64, d)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.At(a, a), s.At(b, b)) })
		for k, i := range order {
			values[k] = s.At(i, i)
			vectors.Set(i, k, 1)
		}
		return values, vectors, nil
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(s, true) {
		return nil, nil, errors.New("metrics: the eigenvalues of the metric did not converge")
	}
	eigen.VectorsTo(vectors)
	return eigen.Values(nil), vectors, nil
}

// Transform returns the rows L x of all records as a row-major Len() x f.Rank matrix. The Euclidean distances
// of the rows are the Mahalanobis distances of the records. Each entry is a dot product of depth
// kernels.DotDepth(d). So a row differs from the exact product by at most sqrt(Rank) gamma(depth) ||L|| ||x||.
// Transform allocates memory for the result only. It returns an error if f does not fit the records or a value
// overflows.
func Transform(r *engine.Records, f MetricFactor) ([]float64, error) {
	if f.Dim != r.Dim() || f.Rank < 0 || len(f.L) != f.Rank*f.Dim {
		return nil, fmt.Errorf("metrics: a factor of %d x %d with %d entries does not fit records of %d features", f.Rank,
			f.Dim, len(f.L), r.Dim())
	}
	out := make([]float64, r.Len()*f.Rank)
	x := make([]float64, r.Dim())
	for i := range r.Len() {
		r.Row(i, x)
		f.apply(out[i*f.Rank:(i+1)*f.Rank], x)
	}
	for _, v := range out {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errors.New("metrics: a transformed feature overflows; rescale the metric or the features")
		}
	}
	return out, nil
}

func (f MetricFactor) apply(dst, x []float64) { kernels.Dots(dst, f.L, x) }
