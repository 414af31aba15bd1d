package engine

import (
	"cmp"
	"math"
	"slices"
)

// Eigen decomposes the symmetric matrix with finite coordinates w. It returns the
// eigenvalues in ascending order, and their unit eigenvectors as rows. It costs O(Dim^3).
func (s Symmetric) Eigen(w []float64) (values []float64, vectors [][]float64) {
	d := s.Dim
	a := make([]float64, d*d)
	s.Unpack(a, w)
	var v, lambda []float64
	for _, solve := range []eigenSolver{solveLAPACK, jacobi{}.solve, solveWide} {
		var ok bool
		if v, lambda, ok = solve(a, d); ok {
			break
		}
	}
	order := make([]int, d)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(lambda[i], lambda[j]) })
	for _, k := range order {
		row := make([]float64, d)
		for i := range row {
			row[i] = v[i*d+k]
		}
		values, vectors = append(values, lambda[k]), append(vectors, row)
	}
	return values, vectors
}

// ScaleTo scales x to the length r. A vector that is zero or not finite becomes zero.
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
