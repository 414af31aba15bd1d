package engine

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// eigenSolver decomposes the row-major symmetric d x d matrix a as V diag(lambda) V^T. It
// does not change a. The matrix v is row-major, and its columns are the eigenvectors.
// clipEigenvalues checks the result, so a solver may be wrong.
type eigenSolver func(a []float64, d int) (v, lambda []float64, ok bool)

// solveLAPACK calls gonum's translation of LAPACK's dsyev.
func solveLAPACK(a []float64, d int) (v, lambda []float64, ok bool) {
	defer func() {
		if recover() != nil { // gonum panics on some values, such as NaN
			v, lambda, ok = nil, nil, false
		}
	}()
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(d, append([]float64(nil), a...)), true) {
		return nil, nil, false
	}
	v = make([]float64, d*d)
	e.VectorsTo(mat.NewDense(d, d, v))
	return v, e.Values(nil), true
}

// jacobi is the cyclic Jacobi method (Golub and Van Loan, Matrix Computations, 8.5.5). It
// is slower than the QR method and about as accurate. It is used if the first solver
// fails.
type jacobi struct {
	sweeps int // largest number of sweeps; 0 means 40
}

// solve stops when a sweep finds no off-diagonal entry above a tenth of a unit in the
// last place of the norm divided by d. It reports false if sweeps is 0 and there is still
// such an entry after the last sweep.
func (o jacobi) solve(a []float64, d int) (v, lambda []float64, ok bool) {
	sweeps := o.sweeps
	if sweeps == 0 {
		sweeps = 40
	}
	m := append([]float64(nil), a...)
	q := make([]float64, d*d) // rows are the vectors
	for i := range d {
		q[i*d+i] = 1
	}
	negligible := frobenius(a) / float64(d) * 0x1p-56
	done := false
	for ; sweeps > 0 && !done; sweeps-- {
		done = true
		for i := range d {
			for j := i + 1; j < d; j++ {
				if math.Abs(m[i*d+j]) > negligible {
					done = false
					rotate(m, q, d, i, j)
				}
			}
		}
	}
	lambda = make([]float64, d)
	for i := range lambda {
		lambda[i] = m[i*d+i]
	}
	return transpose(q, d), lambda, done || o.sweeps > 0
}

// rotate makes m_ij zero by the smaller of the two rotations that make it zero.
func rotate(m, q []float64, d, i, j int) {
	theta := (m[j*d+j] - m[i*d+i]) / 2 / m[i*d+j]
	t := math.Copysign(1, theta) / (math.Abs(theta) + math.Hypot(1, theta))
	c := 1 / math.Sqrt(1+t*t)
	s := c * t
	mix := func(x, y []float64) {
		for k := range x {
			x[k], y[k] = c*x[k]-s*y[k], s*x[k]+c*y[k]
		}
	}
	mix(m[i*d:(i+1)*d], m[j*d:(j+1)*d])
	for k := 0; k < d; k++ {
		x, y := m[k*d+i], m[k*d+j]
		m[k*d+i], m[k*d+j] = c*x-s*y, s*x+c*y
	}
	m[i*d+j], m[j*d+i] = 0, 0
	mix(q[i*d:(i+1)*d], q[j*d:(j+1)*d])
}

// frobenius returns the Euclidean norm of x, without overflow of squares. Its relative
// error is below gamma(len(x) + 4). It is not finite if a value of x is not finite.
func frobenius(x []float64) float64 {
	var largest float64
	for _, v := range x {
		largest = max(largest, math.Abs(v)) // max of NaN is NaN
	}
	if largest == 0 || math.IsInf(largest, 0) || math.IsNaN(largest) {
		return largest
	}
	var sum float64
	for _, v := range x {
		q := v / largest
		sum += q * q
	}
	return largest * math.Sqrt(sum)
}

// dot returns the inner product. It adds four partial sums in a fixed order. Each product
// takes part in fewer than len(x) additions of numbers that are not zero.
func dot(x, y []float64) float64 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float64
	k := 0
	for ; k+4 <= len(x); k += 4 {
		s0 += x[k] * y[k]
		s1 += x[k+1] * y[k+1]
		s2 += x[k+2] * y[k+2]
		s3 += x[k+3] * y[k+3]
	}
	for ; k < len(x); k++ {
		s0 += x[k] * y[k]
	}
	return (s0 + s1) + (s2 + s3)
}

func transpose(m []float64, d int) []float64 {
	t := make([]float64, d*d)
	for i := range d {
		for j := range d {
			t[j*d+i] = m[i*d+j]
		}
	}
	return t
}

// scaleColumns sets dst to V diag(factors).
func scaleColumns(dst, v, factors []float64, d int) {
	for i := range d {
		for j, f := range factors {
			dst[i*d+j] = v[i*d+j] * f
		}
	}
}
