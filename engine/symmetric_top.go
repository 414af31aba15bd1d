package engine

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"dyad/internal/tasks"
	"dyad/kernels"
)

// Frame is an orthonormal basis of R^d that is stored as a product of reflections. It consists of some given vectors
// and of vectors that complete them to a basis.
type Frame struct {
	dim   int
	axes  [][]float64 // vector of reflection k, from coordinate k on, with length sqrt 2; nil is the identity
	signs []float64   // signs of the given vectors
}

// newFrame returns a Frame that begins with the given orthonormal vectors. It overwrites the vectors.
func newFrame(dim int, vectors [][]float64) *Frame {
	f := &Frame{dim: dim}
	for k, v := range vectors {
		f.reflect(v, true)
		x := v[k:]
		length := math.Sqrt(kernels.Dot(x, x))
		sign := math.Copysign(1, x[0])
		x[0] += sign * length
		if square := kernels.Dot(x, x); square > 0 {
			for i := range x {
				x[i] *= math.Sqrt(2 / square)
			}
		}
		f.axes, f.signs = append(f.axes, x), append(f.signs, -sign)
	}
	return f
}

// reflect multiplies x by all reflections, in increasing order if first is true, and otherwise in decreasing order.
func (f *Frame) reflect(x []float64, first bool) {
	for i := range f.axes {
		k := i
		if !first {
			k = len(f.axes) - 1 - i
		}
		axis := f.axes[k]
		if by := kernels.Dot(axis, x[k:]); by != 0 {
			addScaled(x[k:], -by, axis)
		}
	}
}

// Along returns the coordinates of x in the basis: first the coordinates along the given vectors, in
// their order, and then the other coordinates.
func (f *Frame) Along(x []float64) []float64 {
	y := slices.Clone(x)
	f.reflect(y, true)
	for k, s := range f.signs {
		y[k] *= s
	}
	return y
}

// Sum returns the vector that has the coordinates a in the basis.
func (f *Frame) Sum(a []float64) []float64 {
	x := slices.Clone(a)
	for k, s := range f.signs {
		x[k] *= s
	}
	f.reflect(x, false)
	return x
}

const (
	topSteps = 512 // largest number of steps of Lanczos' method
	// topParts is the number of parts of a product with the matrix. The parts are summed in order, so the
	// bits do not depend on the processor.
	topParts  = 8
	topSettle = 0.02 // largest residual of an accepted vector, relative to the limit
)

// Top returns the eigenvalues above limit of the symmetric matrix with finite coordinates w, in descending order. It
// also returns a basis that begins with their eigenvectors. Top uses Lanczos' method with a public start, so its result
// is a function of w and limit. It takes up to 512 steps of O(Dim^2) operations each. The result `all` is false if
// there may be further eigenvalues above limit.
func (s Symmetric) Top(w []float64, limit float64) (values []float64, frame *Frame, all bool) {
	var basis [][]float64
	var diagonal, beside []float64
	rng := rand.New(rand.NewPCG(1, uint64(s.Dim)))
	q, y := make([]float64, s.Dim), make([]float64, s.Dim)
	for k := range q {
		q[k] = rng.NormFloat64()
	}
	ScaleTo(q, 1)
	steps := min(s.Dim, topSteps)
	room := make([][]float64, topParts)
	for k := range room {
		room[k] = make([]float64, s.Dim)
	}
	for next := 32; ; {
		basis = append(basis, slices.Clone(q))
		s.times(y, w, q, room)
		diagonal = append(diagonal, kernels.Dot(q, y))
		for range 2 { // remove the parts along earlier vectors that rounding left
			for _, b := range basis {
				addScaled(y, -kernels.Dot(b, y), b)
			}
		}
		length := math.Sqrt(kernels.Dot(y, y))
		last := len(basis) == steps || !(length > 0x1p-40*limit)
		if last || len(basis) == next {
			found, vectors, settled := ritz(diagonal, beside, length, limit)
			if settled || last {
				for k, c := range vectors {
					v := make([]float64, s.Dim)
					for i, b := range basis {
						addScaled(v, c[i], b)
					}
					vectors[k] = v
				}
				orthonormal(vectors)
				return found, newFrame(s.Dim, vectors), settled || len(basis) == s.Dim
			}
			next *= 2
		}
		beside = append(beside, length)
		for k, v := range y {
			q[k] = v / length
		}
	}
}

// ritz returns the eigenvalues above limit of the tridiagonal matrix, in descending order, and their eigenvectors. It
// returns only eigenvalues whose residual is small. settled is false if the residual of an eigenvalue above limit is
// not small.
func ritz(diagonal, beside []float64, length, limit float64) (values []float64, vectors [][]float64, settled bool) {
	m := len(diagonal)
	t := Symmetric{Dim: m}
	w := make([]float64, t.Len())
	for k, v := range diagonal {
		w[t.Index(k, k)] = v
		if k+1 < m {
			w[t.Index(k, k+1)] = beside[k] * math.Sqrt2
		}
	}
	all, rows := t.Eigen(w)
	settled = true
	for k := m - 1; k >= 0 && all[k] > limit; k-- {
		if length*math.Abs(rows[k][m-1]) > topSettle*math.Abs(limit) {
			settled = false
			continue
		}
		values, vectors = append(values, all[k]), append(vectors, rows[k])
	}
	return values, vectors, settled
}

// orthonormal makes the vectors orthonormal up to rounding. They are nearly orthonormal before.
func orthonormal(vectors [][]float64) {
	for k, v := range vectors {
		for range 2 {
			for _, u := range vectors[:k] {
				addScaled(v, -kernels.Dot(u, v), u)
			}
		}
		length := math.Sqrt(kernels.Dot(v, v))
		for i := range v {
			v[i] /= length
		}
	}
}

// times sets y to W x. room holds topParts scratch vectors.
func (s Symmetric) times(y, w, x []float64, room [][]float64) {
	// Part k begins with the row above which k/topParts of the triangle lies.
	row := func(k int) int {
		return s.Dim - int(float64(s.Dim)*math.Sqrt(1-float64(k)/topParts))
	}
	_ = tasks.Each(context.Background(), runtime.GOMAXPROCS(0), topParts, func(_, k int) { // nothing ends it early
		part, to := room[k], row(k+1)
		clear(part)
		if k == topParts-1 {
			to = s.Dim
		}
		for i := row(k); i < to; i++ {
			at := s.Index(i, i)
			off, rest, sums := w[at+1:][:s.Dim-i-1], x[i+1:], part[i+1:]
			part[i] += w[at]*x[i] + kernels.Dot(off, rest)*(math.Sqrt2/2)
			addScaled(sums, x[i]*(math.Sqrt2/2), off)
		}
	})
	clear(y)
	for _, part := range room {
		for k, v := range part {
			y[k] += v
		}
	}
}

// addScaled adds by times x to dst.
func addScaled(dst []float64, by float64, x []float64) {
	x = x[:len(dst)]
	for k := range dst {
		dst[k] += by * x[k]
	}
}

// TopValues describes the eigenvalues of a matrix after Top. Values are the eigenvalues that Top found, in descending
// order. Rest is the number of the remaining eigenvalues, and Mean and Variance are their mean and variance, which
// follow from the trace and the norm.
type TopValues struct {
	Values         []float64
	Rest           int
	Mean, Variance float64
}

// Rest describes all eigenvalues of the matrix with coordinates w. The argument `values`
// must hold the eigenvalues that Top found.
func (s Symmetric) Rest(w, values []float64) TopValues {
	var trace, square float64
	for i := range s.Dim {
		trace += w[s.Index(i, i)]
	}
	for _, v := range w {
		square += v * v
	}
	for _, v := range values {
		trace, square = trace-v, square-v*v
	}
	t := TopValues{Values: values, Rest: s.Dim - len(values)}
	if t.Rest > 0 {
		t.Mean = trace / float64(t.Rest)
		t.Variance = max(square/float64(t.Rest)-t.Mean*t.Mean, 0)
	}
	return t
}
