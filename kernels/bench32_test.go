package kernels

import (
	"fmt"
	"testing"
	"time"
)

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
