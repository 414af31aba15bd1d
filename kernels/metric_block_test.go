package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

func TestMetricBlock(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 14))
	slope := each(func(x float64) float64 { return x / (1 + x*x) })
	variants(t, func(t *testing.T, set *Set) {
		for _, d := range []int{1, 2, 7, 33, 260} {
			blocks := []MetricBlock{set.NewMetricBlock(96, d, nil), set.NewMetricBlock(96, d, slope)}
			for _, m := range []int{0, 1, 7, 23, 24, 25, 67, 96} {
				for _, n := range []int{0, 1, 3, 47, 48, 67, 130} {
					if d > 100 && m*n > 2000 {
						continue
					}
					for at, skip := range []int{-m, 1, -5, n} {
						if (m+n+at)%3 != 0 && !sizes.Full() {
							continue
						}
						custom := rng.IntN(2)
						f := []func([]float64){LogisticSlopes, slope}[custom]
						checkMetricBlock(t, fmt.Sprintf("m=%d n=%d d=%d skip=%d custom=%d", m, n, d, skip, custom), rng, blocks[custom], m, n, d, skip, f)
						if t.Failed() {
							return
						}
					}
				}
			}
		}
	})
}

func checkMetricBlock(t *testing.T, name string, rng *rand.Rand, b MetricBlock, m, n, d, skip int, f func([]float64)) {
	t.Helper()
	g := func(n int) *guarded { return newGuarded(uniform(n, -1, 1), rng.IntN(4)) }
	xw, s, y := g(m*d), g(m), g(m)
	x, tt, z := g(n*d), g(n), g(n)
	cx, row, col := g(m*d), g(m), g(n)
	wantCX, wantRow, wantCol := append([]float64(nil), cx.data...), append([]float64(nil), row.data...), append([]float64(nil), col.data...)
	for i := range m {
		for j := max(i+skip, 0); j < n; j++ {
			c := 0.0
			for a := range d {
				c += xw.data[i*d+a] * x.data[j*d+a]
			}
			p := y.data[i] * z.data[j]
			v := []float64{p * (1 - (s.data[i] + tt.data[j] - 2*c))}
			f(v)
			wantRow[i] -= v[0] * p
			wantCol[j] -= v[0] * p
			for a := range d {
				wantCX[a*m+i] -= v[0] * p * x.data[j*d+a]
			}
		}
	}
	b.Start(xw.data, s.data, y.data)
	half := n / 2
	b.Add(col.data, x.data, tt.data[:half], z.data[:half], skip)
	b.Add(col.data[half:], x.data[half*d:], tt.data[half:], z.data[half:], skip-half)
	b.Sums(cx.data, row.data)
	allNear(t, name+", cx", cx.data, wantCX, 1, 1e-13)
	allNear(t, name+", row", row.data, wantRow, 1, 1e-13)
	allNear(t, name+", col", col.data, wantCol, 1, 1e-13)
	kept(t, name, []guard{cx, row, col}, xw, s, y, x, tt, z)
}

// BenchmarkMetricBlock counts 4 d operations a pair.
func BenchmarkMetricBlock(b *testing.B) {
	const m, n = 96, 480
	for _, d := range []int{8, 32, 128} {
		for _, v := range Variants() {
			b.Run(fmt.Sprintf("d=%d/%v", d, v), func(b *testing.B) {
				set := must.Get(Select(v))(b)
				k := set.NewMetricBlock(m, d, nil)
				xw, s, y := uniform(m*d, -.1, .1), uniform(m, -1, 1), uniform(m, -1, 1)
				x, t, z, col := uniform(n*d, -.1, .1), uniform(n, -1, 1), uniform(n, -1, 1), make([]float64, n)
				k.Start(xw, s, y)
				for b.Loop() {
					k.Add(col, x, t, z, -m)
				}
				b.ReportMetric(4*float64(m*n*d)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GF/s")
			})
		}
	}
}

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
