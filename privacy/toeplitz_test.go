package privacy

import (
	"math"
	"math/big"
	"testing"

	"dyad/internal/must"
)

// coefficients are c_0..c_(rows-1) as the filter computes them.
func (f *ToeplitzFactor) coefficients(rows int) []float64 {
	filter := NewToeplitzFilter(f, 1)
	c := make([]float64, rows)
	for j := range c {
		x := []float64{0}
		if j == 0 {
			x[0] = 1
		}
		row := []float64{x[0]}
		filter.AddPast(row, 1)
		filter.Push(x)
		c[j] = row[0]
	}
	return c
}

func TestSquareRootToeplitz(t *testing.T) {
	for _, rows := range []int{2, 3, 63, 1023, 40_000} {
		f, err := SquareRootToeplitz(rows)
		if err != nil || f.Validate() != nil {
			t.Fatal(err, f.Validate())
		}
		want := 1.0
		for j, c := range f.coefficients(rows) {
			if j > 0 {
				want *= float64(2*j-1) / float64(2*j)
			}
			if !(c >= 0) || math.Abs(c/want-1) > 2e-5 {
				t.Fatalf("%d rows: c_%d = %v, binom(2j, j)/4^j = %v", rows, j, c, want)
			}
		}
		must.AtMost(t, len(f.Decay), 24, "%d rows take", rows)
	}
	for _, rows := range []int{-1, 0, 1, maxToeplitzRows + 1} {
		must.Fail(SquareRootToeplitz(rows))(t, errCertificate, rows, " rows")
	}
	for name, f := range map[string]*ToeplitzFactor{
		"a negative weight": {Weight: []float64{-1}, Decay: []float64{0.5}},
		"growth":            {Weight: []float64{1}, Decay: []float64{1.5}},
		"a decay too many":  {Weight: []float64{1}, Decay: []float64{0.5, 0.5}},
	} {
		if f.Validate() == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// C^-1 (C x) = x, and the prefix noise is the noise of the dense A C^-1.
func TestToeplitzFilterInverts(t *testing.T) {
	const rows, d = 40, 3
	f := must.Get(SquareRootToeplitz(rows))(t)
	product, inverse := NewToeplitzFilter(f, d), NewToeplitzFilter(f, d)
	for b := range rows {
		x := []float64{math.Sin(float64(b)), 1, float64(b)}
		y := append([]float64(nil), x...)
		product.AddPast(y, 1)
		product.Push(x)
		inverse.AddPast(y, -1)
		inverse.Push(y)
		for k := range x {
			if math.Abs(x[k]-y[k]) > 1e-12*rows {
				t.Fatalf("row %d: %v, back %v", b, x, y)
			}
		}
	}
	c := f.coefficients(rows)
	inv := make([]float64, rows) // first column of C^-1, by substitution
	inv[0] = 1
	for b := 1; b < rows; b++ {
		for s := range b {
			inv[b] -= c[b-s] * inv[s]
		}
	}
	var entry, square, sum float64
	for b := range inv {
		entry += inv[b]
		square += entry * entry
		sum += math.Sqrt(square)
		last, mean := f.PrefixNoise(b + 1)
		if math.Abs(last-math.Sqrt(square)) > 1e-12 || math.Abs(mean-sum/float64(b+1)) > 1e-12 {
			t.Fatalf("row %d of B has norm %v, mean %v, by substitution %v, %v", b, last, mean, math.Sqrt(square), sum/float64(b+1))
		}
	}
}

// The bound of the error covers a run of extreme vectors, against big numbers, and
// is not vacuous.
func TestToeplitzRowError(t *testing.T) {
	const rows = 600
	f := must.Get(SquareRootToeplitz(rows))(t)
	filter := NewToeplitzFilter(f, 1)
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(v) }
	memory := make([]*big.Float, len(f.Decay))
	for i := range memory {
		memory[i] = number(0)
	}
	worst := 0.0
	const size, off = 1.5, 1e-9
	for b := range rows {
		exact := size * math.Cos(float64(b*b)) / 1.1
		if b%3 > 0 {
			exact = size / 1.1
		}
		x := []float64{exact + off}
		row := []float64{x[0]}
		filter.AddPast(row, 1)
		filter.Push(x)
		want := number(exact)
		for i, w := range f.Weight {
			want.Add(want, new(big.Float).Mul(number(w), memory[i]))
			memory[i].Add(memory[i].Mul(memory[i], number(f.Decay[i])), number(exact))
		}
		difference, _ := want.Sub(want, number(row[0])).Float64()
		worst = max(worst, math.Abs(difference))
	}
	bound := f.RowError(size, off, rows)
	must.Within(t, worst, 0.5*bound, bound, "error")
	if rounding := f.RowError(size, 0, rows); !(rounding > 0) || rounding > 1e-10 {
		t.Errorf("roundings alone: %v", rounding)
	}
}
