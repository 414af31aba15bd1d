package engine

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
	"dyad/kernels"
)

func wide(v float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(v) }

var bigSqrt2 = new(big.Float).SetPrec(400).Sqrt(wide(2))

func randomSymmetric(rng *rand.Rand, d int) []float64 {
	m := make([]float64, d*d)
	for i := range d {
		for j := i; j < d; j++ {
			v := rng.NormFloat64() * math.Exp(3*rng.NormFloat64())
			m[i*d+j], m[j*d+i] = v, v
		}
	}
	return m
}

// relativeError is |got - exact| / |exact|, exact not zero.
func relativeError(got float64, exact *big.Float) float64 {
	diff := new(big.Float).Sub(wide(got), exact)
	r, _ := diff.Quo(diff.Abs(diff), new(big.Float).Abs(exact)).Float64()
	return r
}

func TestSymmetricErrorIsABound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var packed, unpacked float64
	for d := 1; d <= 40; d++ {
		s := Symmetric{Dim: d}
		m, back, w := randomSymmetric(rng, d), make([]float64, d*d), make([]float64, s.Len())
		s.Pack(w, m)
		s.Unpack(back, w)
		for i := range d {
			for j := range d {
				k := s.Index(min(i, j), max(i, j))
				scale := wide(1)
				if i != j {
					scale = bigSqrt2
				}
				packed = max(packed, relativeError(w[k], new(big.Float).Mul(wide(m[i*d+j]), scale)))
				unpacked = max(unpacked, relativeError(back[i*d+j], new(big.Float).Quo(wide(w[k]), scale)))
			}
		}
	}
	for name, worst := range map[string]float64{"Pack": packed, "Unpack": unpacked} {
		if !(worst <= SymmetricError) || worst < SymmetricError/4 {
			t.Errorf("%s: relative error up to %g, bound %g", name, worst, SymmetricError)
		}
	}
	// A constant in single precision would be noticed.
	if worst := relativeError(float64(float32(math.Sqrt2)), bigSqrt2); worst <= SymmetricError {
		t.Errorf("a float32 sqrt 2 has error %g only", worst)
	}
}

// tracesAgree compares the inner product of coordinates with the trace.
func tracesAgree(pack func(dst, m []float64), v, w []float64, d int) error {
	p := Symmetric{Dim: d}.Len()
	x, y := make([]float64, p), make([]float64, p)
	pack(x, v)
	pack(y, w)
	var trace, inner, size float64
	for k := range v {
		trace += v[k] * w[k]
		size += math.Abs(v[k] * w[k])
	}
	for k := range x {
		inner += x[k] * y[k]
	}
	if !(math.Abs(trace-inner) <= size*Gamma(2*d*d+8)) {
		return fmt.Errorf("d = %d: tr(VW) = %v, coordinates give %v", d, trace, inner)
	}
	return nil
}

func TestSymmetricIsIsometric(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for d := 1; d <= 12; d++ {
		s := Symmetric{Dim: d}
		v, w := randomSymmetric(rng, d), randomSymmetric(rng, d)
		must.CheckDo(t, tracesAgree(s.Pack, v, w, d))
		plain := func(dst, m []float64) { // without the factor
			for i := range d {
				for j := i; j < d; j++ {
					dst[s.Index(i, j)] = m[i*d+j]
				}
			}
		}
		if err := tracesAgree(plain, v, w, d); (err == nil) != (d == 1) {
			t.Errorf("d = %d: coordinates without sqrt 2: %v", d, err)
		}
		k := 0
		for i := range d {
			for j := i; j < d; j++ {
				if s.Index(i, j) != k {
					t.Fatalf("d = %d: Index(%d, %d) = %d, want %d", d, i, j, s.Index(i, j), k)
				}
				k++
			}
		}
		if s.Len() != k {
			t.Errorf("d = %d: Len() = %d, want %d", d, s.Len(), k)
		}
	}
}

// room is what Symmetric.times works in.
func room(dim int) [][]float64 {
	return slices.Collect(slices.Chunk(make([]float64, topParts*dim), dim))
}

// planted is a matrix of noise with the edge 1 and rank directions that stand out.
func planted(dim, rank int) []float64 {
	rng := rand.New(rand.NewPCG(3, uint64(dim)))
	s := Symmetric{Dim: dim}
	w := scaledBy(normals(rng, s.Len()), 1/math.Sqrt(2*float64(dim)))
	for r := range rank {
		v := normals(rng, dim)
		ScaleTo(v, math.Sqrt(2+float64(r)))
		for i := range v {
			for j := i; j < dim; j++ {
				by := math.Sqrt2
				if i == j {
					by = 1
				}
				w[s.Index(i, j)] += by * v[i] * v[j]
			}
		}
	}
	return w
}

// Top finds the eigenvalues and vectors that Eigen finds above the limit, its basis is orthonormal, and its bits are always the same.
func TestTopIsEigenAboveALimit(t *testing.T) {
	for _, c := range [][2]int{{1, 1}, {3, 0}, {40, 3}, {200, 20}, {300, 0}, {300, 60}} {
		dim, rank := c[0], c[1]
		s, w := Symmetric{Dim: dim}, planted(dim, rank)
		all, vectors := s.Eigen(w)
		values, frame, complete := s.Top(w, 1.2)
		if !complete {
			t.Fatalf("%d, %d: not all were found", dim, rank)
		}
		want := 0
		for k := dim - 1; k >= 0 && all[k] > 1.2; k-- {
			if want >= len(values) || math.Abs(values[want]-all[k]) > 1e-3*all[k] {
				t.Fatalf("%d, %d: values %v, want %v", dim, rank, values, all)
			}
			a := frame.Along(vectors[k])
			if along := kernels.Dot(a[:len(values)], a[:len(values)]); along < 0.99 {
				t.Errorf("%d, %d: vector %d is in the space of those that stand out by %v", dim, rank, want, along)
			}
			want++
		}
		if want != len(values) || rank > 1 && want < rank/2 {
			t.Errorf("%d, %d: %d values, want %d", dim, rank, len(values), want)
		}
		x := make([]float64, dim)
		for k := range dim { // Q Q^T = I, and the first vectors have W's values as their quotients
			axis := make([]float64, dim)
			axis[k] = 1
			v := frame.Sum(axis)
			if k < len(values) {
				s.times(x, w, v, room(dim))
				if q := kernels.Dot(v, x); math.Abs(q-values[k]) > 1e-6*values[0] {
					t.Errorf("%d, %d: vector %d has the quotient %v, want %v", dim, rank, k, q, values[k])
				}
			}
			for i, y := range frame.Along(v) {
				if math.Abs(y-axis[i]) > 1e-12 {
					t.Fatalf("%d, %d: the basis is not orthonormal: %v at %d, %d", dim, rank, y, k, i)
				}
			}
		}
		again, other, _ := s.Top(w, 1.2)
		if !slices.Equal(again, values) || !slices.Equal(other.Sum(x), frame.Sum(x)) {
			t.Errorf("%d, %d: other bits", dim, rank)
		}
	}
	// A product is that of the matrix.
	s, w := Symmetric{Dim: 37}, planted(37, 2)
	m, x, y := make([]float64, 37*37), make([]float64, 37), make([]float64, 37)
	s.Unpack(m, w)
	for k := range x {
		x[k] = math.Sin(float64(k))
	}
	s.times(y, w, x, room(37))
	for i := range y {
		if want := kernels.Dot(m[i*37:][:37], x); math.Abs(y[i]-want) > 1e-13 {
			t.Errorf("entry %d of the product is %v, want %v", i, y[i], want)
		}
	}
}
