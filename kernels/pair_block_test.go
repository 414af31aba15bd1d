package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/sizes"
)

// TestPairBlock compares the sums of columns with their definition, and sees that the sums of rows keep
// their bits.
func TestPairBlock(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 15))
	slope := each(func(x float64) float64 { return x / (1 + x*x) })
	variants(t, func(t *testing.T, set *Set) {
		for _, d := range []int{1, 7, 24, 33} {
			for k, f := range []func([]float64){nil, slope} {
				block, alone := set.NewMetricBlock(96, d, f).(PairBlock), set.NewMetricBlock(96, d, f)
				want := f
				if f == nil {
					want = LogisticSlopes
				}
				for _, m := range []int{1, 24, 67, 96} {
					for _, n := range []int{1, 48, 67, 130} {
						for at, skip := range []int{-m, 1, -5, n} {
							if (m+n+at)%3 != 0 && !sizes.Full() {
								continue
							}
							name := fmt.Sprintf("m=%d n=%d d=%d skip=%d f=%d", m, n, d, skip, k)
							checkPairBlock(t, name, rng, block, alone, m, n, d, skip, want)
						}
					}
				}
			}
		}
	})
}

func checkPairBlock(t *testing.T, name string, rng *rand.Rand, b PairBlock, alone MetricBlock, m, n, d, skip int, f func([]float64)) {
	t.Helper()
	g := func(n int) []float64 { return uniform(n, -1, 1) }
	xw, right, s, y, x, tt, z := g(m*d), g(m*d), g(m), g(m), g(n*d), g(n), g(n)
	stride := GramStride(d)
	colx := newGuarded(uniform(n*stride, -1, 1), rng.IntN(4))
	want := append([]float64(nil), colx.data...)
	for i := range m {
		for j := max(i+skip, 0); j < n; j++ {
			p := y[i] * z[j]
			v := []float64{p * (1 - (s[i] + tt[j] - 2*Dot(xw[i*d:][:d], x[j*d:])))}
			f(v)
			for a := range d {
				want[j*stride+a] -= v[0] * p * right[i*d+a]
			}
		}
	}
	sums := func(b MetricBlock, add func(col []float64)) []float64 {
		cx, row, col := make([]float64, m*d), make([]float64, m), make([]float64, n)
		add(col)
		b.Sums(cx, row)
		return append(append(cx, row...), col...)
	}
	b.StartPairs(xw, right, s, y)
	both := sums(b, func(col []float64) { b.AddPairs(col, colx.data, x, tt, z, skip) })
	alone.Start(xw, s, y)
	rows := sums(alone, func(col []float64) { alone.Add(col, x, tt, z, skip) })
	if !slices.EqualFunc(rows, both, sameBits) {
		t.Fatalf("%s: sums of rows changed with the sums of columns", name)
	}
	for j := range n {
		allNear(t, fmt.Sprintf("%s, column %d", name, j), colx.data[j*stride:][:d], want[j*stride:][:d], 1, 1e-13*float64(m+d))
	}
	kept(t, name, []guard{colx})
}
