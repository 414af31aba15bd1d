package engine

import "math"

// SolveFloored returns (W+ + ridge I)^-1 v for the symmetric matrix W with finite coordinates
// w, where W+ is W with its negative eigenvalues set to 0, and ridge > 0. It costs O(Dim^3).
func (s Symmetric) SolveFloored(w, v []float64, ridge float64) []float64 {
	d := s.Dim
	a := make([]float64, d*d)
	s.Unpack(a, w)
	var vectors, values []float64
	for _, solve := range []eigenSolver{solveLAPACK, jacobi{}.solve, solveWide} {
		var ok bool
		if vectors, values, ok = solve(a, d); ok {
			break
		}
	}
	x := make([]float64, d)
	for k, value := range values {
		var along float64
		for i, u := range v {
			along += vectors[i*d+k] * u
		}
		along /= max(value, 0) + ridge
		for i := range x {
			x[i] += vectors[i*d+k] * along
		}
	}
	return x
}

// ScaleTo scales x to the length r; a vector that is zero or not finite becomes zero.
func ScaleTo(x []float64, r float64) {
	var largest float64
	for _, v := range x {
		largest = math.Max(largest, math.Abs(v)) // NaN stays
	}
	if !(largest > 0 && largest <= math.MaxFloat64) {
		clear(x)
		return
	}
	var square float64
	for i := range x {
		x[i] /= largest
		square += x[i] * x[i]
	}
	for i := range x {
		x[i] *= r / math.Sqrt(square)
	}
	ProjectBall(x, r)
}
