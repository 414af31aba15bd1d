package kernels

import (
	"fmt"
	"testing"
)

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
