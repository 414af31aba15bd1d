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

func BenchmarkPowers(b *testing.B) { benchVariants(b, benchPowers) }

func benchPowers(b *testing.B, kernel *Set) {
	const n, terms = 1024, 33
	x, class := uniform(n, -1, 1), make([]uint8, n)
	at, key := make([]uint16, n), make([]int32, n)
	for i := range class {
		class[i], at[i] = uint8(i*7/5)%2, uint16(i/2+i%2*n/2)
	}
	dst, sum, coef := make([]float64, n), make([]float64, 8*(terms-1)), uniform(terms, -1, 1)
	parts, mask := make([]float64, n+16), make([]uint8, n/8)
	for i, c := range class {
		mask[i/8] |= c << (i % 8)
	}
	for _, k := range []struct {
		name string
		run  func()
	}{
		{"locate", func() { kernel.Locate(dst, key, x, class, 16) }},
		{"take", func() { Take(dst, x, at) }},
		{"put", func() { Put(dst, x, at) }},
		{"split", func() { kernel.Split(parts, x, mask) }},
		{"join", func() { kernel.Join(dst, parts, mask) }},
		{"sums", func() { kernel.PowerSums(sum, x) }},
		{"lanes", func() { kernel.SumLanes(dst[:terms-1], sum) }},
		{"polynomial", func() { kernel.Polynomial(dst, coef, x) }},
	} {
		b.Run(k.name, func(b *testing.B) {
			for b.Loop() {
				k.run()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/n, "ns/point")
		})
	}
}

func BenchmarkLogisticPairTile(b *testing.B) { benchVariants(b, benchLogisticPairTile) }

func benchLogisticPairTile(b *testing.B, kernel *Set) {
	const rows, cols = 256, 512
	s, t := uniform(rows, -25, 25), uniform(cols, -25, 25)
	y, z := make([]float64, rows), make([]float64, cols)
	for i := range y {
		y[i] = 1
	}
	row, col := make([]float64, rows), make([]float64, cols)
	for b.Loop() {
		kernel.LogisticPairTile(row, col, s, y, t, z, -rows)
	}
	b.ReportMetric(rows*cols*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

func BenchmarkLogisticSlopes(b *testing.B) { benchVariants(b, benchLogisticSlopes) }

func benchLogisticSlopes(b *testing.B, kernel *Set) {
	x := uniform(1024, -4, 4)
	v := make([]float64, len(x))
	for b.Loop() {
		copy(v, x)
		kernel.LogisticSlopes(v)
	}
	b.ReportMetric(float64(len(x))*float64(b.N)/b.Elapsed().Seconds(), "numbers/s")
}

// BenchmarkRows times both passes over a matrix of 16 MB, and copies it.
func BenchmarkRows(b *testing.B) {
	const size = 2 << 20
	x, to := uniform(size, -1, 1), make([]float64, size)
	report := func(b *testing.B, numbers int) {
		b.ReportMetric(8*float64(numbers)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
	}
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			copy(to, x)
		}
		report(b, 2*size)
	})
	for _, d := range []int{8, 20, 128, 1000} {
		n := size / d
		w, dst := uniform(d, -1, 1), make([]float64, n)
		for _, k := range []struct {
			name string
			run  func(kernel *Set)
		}{
			{"dots", func(kernel *Set) { kernel.Dots(dst, x, w) }},
			{"add", func(kernel *Set) { kernel.AddRows(w, dst, x) }},
		} {
			b.Run(fmt.Sprintf("%s/d=%d", k.name, d), func(b *testing.B) {
				benchVariants(b, func(b *testing.B, kernel *Set) {
					for b.Loop() {
						k.run(kernel)
					}
					report(b, n*d)
				})
			})
		}
	}
}
