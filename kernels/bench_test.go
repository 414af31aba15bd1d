package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
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
		s, err := Select(v)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("variant="+v.String(), func(b *testing.B) { bench(b, s) })
	}
}

func BenchmarkLogisticTile(b *testing.B) { benchVariants(b, benchLogisticTile) }

func benchLogisticTile(b *testing.B, kernel *Set) {
	const rows, cols = 256, 512
	a, c := uniform(rows, 0.1, 7), uniform(cols, 0.1, 7)
	row, col := make([]float64, rows), make([]float64, cols)
	for b.Loop() {
		kernel.LogisticTile(row, col, a, c)
	}
	b.ReportMetric(rows*cols*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

func BenchmarkChebyshev(b *testing.B) {
	const n, bins = 256, 16
	for _, terms := range []int{8, 12, 16, 24} {
		s, class := uniform(n, -1, 1), make([]uint8, n)
		for i := range class {
			class[i] = uint8(i*7/5) % 2
		}
		pos, off, dst := make([]float64, n), make([]int32, n), make([]float64, n)
		mom := make([]float64, 2*bins*terms)
		for _, k := range []struct {
			name string
			run  func()
		}{
			{"locate", func() { Locate(pos, off, s, class, -1, bins/2, bins, terms) }},
			{"moments", func() { ChebyshevMoments(mom, terms, pos, off) }},
			{"clenshaw", func() { Clenshaw(dst, mom, terms, pos, off) }},
		} {
			b.Run(fmt.Sprintf("%s/terms=%d", k.name, terms), func(b *testing.B) {
				for b.Loop() {
					k.run()
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/n, "ns/point")
			})
		}
	}
}
