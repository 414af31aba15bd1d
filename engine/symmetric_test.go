package engine

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
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
