package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"dyad/internal/must"
)

func uniform(n int, lo, hi float64) []float64 {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	x := make([]float64, n)
	for i := range x {
		x[i] = lo + (hi-lo)*rng.Float64()
	}
	return x
}

// benchVariants runs a benchmark for every variant of this processor.
func benchVariants(b *testing.B, bench func(b *testing.B, kernel *Set)) {
	for _, v := range Variants() {
		s := must.Get(Select(v))(b)
		b.Run("variant="+v.String(), func(b *testing.B) { bench(b, s) })
	}
}

// BenchmarkAddProducts times the two products of a tile of pairs, for d = k and
// d = m.
func BenchmarkAddProducts(b *testing.B) {
	for _, s := range [][3]int{{96, 48, 8}, {96, 48, 32}, {96, 48, 128}, {8, 96, 48}, {32, 96, 48}, {128, 96, 48}} {
		m, n, k := s[0], s[1], s[2]
		b.Run(fmt.Sprintf("m=%d/n=%d/k=%d", m, n, k), func(b *testing.B) {
			x, y, dst := uniform(m*k, -1, 1), uniform(n*k, -1, 1), make([]float64, m*n)
			for b.Loop() {
				AddProducts(dst, n, x, y, m, n, k)
			}
			b.ReportMetric(2*float64(m*n*k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GF/s")
		})
	}
}

func BenchmarkMetricTile(b *testing.B) {
	const rows, cols = 96, 48
	s, t := uniform(rows, 0, 1), uniform(cols, 0, 1)
	inner := uniform(rows*cols, 0, 0.5)
	c, row, col := make([]float64, rows*cols), make([]float64, rows), make([]float64, cols)
	for b.Loop() {
		copy(c, inner)
		metricTile(c, row, col, s, s, t, t, -rows, LogisticSlopes)
	}
	b.ReportMetric(rows*cols*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

func BenchmarkTranspose(b *testing.B) {
	const rows, cols = 48, 128
	x, dst := uniform(rows*cols, 0, 1), make([]float64, rows*cols)
	for b.Loop() {
		Transpose(dst, x, rows, cols)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/(rows*cols), "ns/number")
}

// BenchmarkPeak times multiply-adds in registers, of which other benchmarks reach a share.
func BenchmarkPeak(b *testing.B) {
	for name, peak := range map[string]func(*Set, int) float64{"float64": (*Set).Peak, "float32": (*Set).Peak32} {
		b.Run(name, func(b *testing.B) {
			benchVariants(b, func(b *testing.B, s *Set) {
				var count float64
				for b.Loop() {
					count += peak(s, 1000)
				}
				b.ReportMetric(count/b.Elapsed().Seconds()/1e9, "GF/s")
			})
		})
	}
}

// BenchmarkFloat32 compares kernels in float32 with those in float64: "ratio" of their times,
// and for metrics the share of the peak of its type that each reaches. Times are the shortest of many runs of some 10 us, which other programs
// on the machine hardly disturb, taken in turns.
func BenchmarkFloat32(b *testing.B) {
	const m, n = 96, 480
	for _, d := range []int{8, 32, 128} {
		count := 4 * float64(m*n*d)
		compare(b, fmt.Sprintf("metric/d=%d", d), count, "share", func(set *Set) (float64s, float32s func()) {
			wide, narrowed := set.NewMetricBlock(m, d, nil), set.NewMetricBlock32(m, d)
			xw, s, x, t, col := uniform(m*d, -.1, .1), uniform(m, -1, 1), uniform(n*d, -.1, .1), uniform(n, -1, 1), make([]float64, n)
			x32, t32 := narrow(x), narrow(t)
			wide.Start(xw, s, s)
			narrowed.Start(xw, s, s)
			return func() { wide.Add(col, x, t, t, -m) }, func() { narrowed.Add(col, x32, t32, t32, -m) }
		})
	}
}

const peakRounds = 2000 // some 10 us

func compare(b *testing.B, name string, count float64, unit string, make func(*Set) (float64s, float32s func())) {
	b.Run(name, func(b *testing.B) {
		benchVariants(b, func(b *testing.B, s *Set) {
			f64, f32 := make(s)
			runs := []func(){f64, f32, func() { s.Peak(peakRounds) }, func() { s.Peak32(peakRounds) }}
			best := []float64{1, 1, 1, 1}
			for b.Loop() {
				for i, run := range runs {
					start := time.Now()
					run()
					best[i] = min(best[i], time.Since(start).Seconds())
				}
			}
			b.ReportMetric(best[0]/best[1], "ratio")
			b.ReportMetric(count/best[0]*best[2]/s.Peak(peakRounds), "f64-"+unit)
			b.ReportMetric(count/best[1]*best[3]/s.Peak32(peakRounds), "f32-"+unit)
		})
	})
}
