package bench_test

import (
	"fmt"
	"math"
	"testing"

	"dyad/internal/machine"
	"dyad/kernels"
)

// BenchmarkKernels times the kernels of scores on data in the caches, with margins in [-k, k].
// slots are the multiply-adds that the core could do in the time of one unit (a pair, point, number
// or row); share is the part of them that the algorithm needs as multiplications and additions.
func BenchmarkKernels(b *testing.B) { eachVariant(b, benchmarkKernels) }

func benchmarkKernels(b *testing.B, set *kernels.Set) {
	const n, rows, cols = 4096, 256, 512 // the tiles of engine/cpu
	row, col := make([]float64, n), make([]float64, n)
	report := func(work string, units, bound float64, f func()) {
		b.Run(work, func(b *testing.B) {
			seconds, flops := perCall(b, func() error { f(); return nil }, func() float64 { return machine.FMAPeak(set) })
			slots := flops / 2 * seconds / units
			b.ReportMetric(1e9*seconds/units, "ns/unit")
			b.ReportMetric(slots, "slots/unit")
			b.ReportMetric(bound/slots, "share")
		})
	}
	tiles := func(f func(r0, c0 int)) {
		for c0 := 0; c0 < n; c0 += cols {
			for r0 := 0; r0 < n; r0 += rows {
				f(r0, c0)
			}
		}
	}
	s, t := even(n, 2), even(n, 2)
	for _, k := range []float64{2, 50} {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = math.Exp(k/4*s[i]), math.Exp(-k/4*t[i])
		}
		// Of four pairs: 4 fused for 1 + ab, 3 + 2 products, 4 sums of rows, 4 of columns,
		// and a division, which is not counted.
		report(fmt.Sprintf("logistic-pairs/k=%g", k), n*n, 17.0/4, func() {
			tiles(func(r0, c0 int) {
				set.LogisticTile(row[r0:r0+rows], col[c0:c0+cols], x[r0:r0+rows], y[c0:c0+cols])
			})
		})
		// One more product of four pairs; taking its exponent out is not counted.
		report(fmt.Sprintf("logistic-pairs-with-loss/k=%g", k), n*n, 18.0/4, func() {
			tiles(func(r0, c0 int) {
				set.LogisticLossTile(row[r0:r0+rows], col[c0:c0+cols], x[r0:r0+rows], y[c0:c0+cols])
			})
		})
	}
	y, z := make([]float64, n), make([]float64, n)
	for i := range y {
		y[i] = 1
		s[i], t[i] = 12.5*s[i], 12.5*t[i]
	}
	report("logistic-pairs-any-labels/k=50", n*n, 25, func() {
		tiles(func(r0, c0 int) {
			set.LogisticPairTile(row[r0:r0+rows], col[c0:c0+cols], s[r0:r0+rows], y[r0:r0+rows], t[c0:c0+cols], z[c0:c0+cols], -rows)
		})
	})
	v := make([]float64, 1024)
	report("logistic-slopes", 1024, 18, func() {
		copy(v, s)
		set.LogisticSlopes(v)
	})
	const bins, terms = 16, 33
	class, pos, value, key := make([]uint8, n), make([]float64, n), make([]float64, n), make([]int32, n)
	at, mask := make([]uint16, n), make([]uint8, n/8)
	for i := range class {
		class[i] = uint8(i*7/5) % 2
		at[i] = uint16(i/2 + i%2*n/2)
		mask[i/8] |= class[i] << (i % 8)
		s[i] /= 25
	}
	parts, lanes := make([]float64, n+16), make([]float64, terms-1)
	sum, coef := make([]float64, 8*(terms-1)), even(terms, 1)
	report("locate-16-bins", n, 6, func() { set.Locate(pos, key, s, class, bins) })
	report("take", n, 1, func() { kernels.Take(pos, s, at) })
	report("put", n, 1, func() { kernels.Put(pos, s, at) })
	report("split", n, 1, func() { set.Split(parts, s, mask) })
	report("join", n, 1, func() { set.Join(pos, parts, mask) })
	// Of four powers three fused, a product and a sum; in plain Go a product and a sum each.
	perPower, perTerm := 5.0/4, 1.0
	if set.Variant() == kernels.Generic {
		perPower = 1
	}
	report("power-sums-33-terms", n, (terms-1)*perPower, func() { set.PowerSums(sum, s) })
	report("sum-lanes", terms-1, 8, func() { set.SumLanes(lanes, sum) })
	report("polynomial-33-terms", n, terms*perTerm, func() { set.Polynomial(value, coef, s) })
	for _, n := range []int{n, 1_000_000} {
		report(fmt.Sprintf("near-linear-33-terms/n=%d", n), float64(n), 3+terms*perTerm+(terms-1)*perPower, machine.NearLinear(set, n, terms))
	}
	x, w, out := even(20*256, 1), even(20, 1), make([]float64, 256)
	report("dots/d=20", 256, 20, func() { set.Dots(out, x, w) })
	report("add-rows/d=20", 256, 20, func() { set.AddRows(w, out, x) })
}

// BenchmarkRows times both passes over a matrix of 64 MB in memory; of_copy is over what a copy reads and writes.
func BenchmarkRows(b *testing.B) {
	const size = 8 << 20
	x, copied := even(size, 1), machine.CopyPeak()
	eachVariant(b, func(b *testing.B, set *kernels.Set) {
		for _, d := range []int{8, 20, 128, 1000} {
			n := size / d
			w, out := even(d, 1), make([]float64, n)
			for _, pass := range []struct {
				name string
				run  func()
			}{
				{"dots", func() { set.Dots(out, x, w) }},
				{"add", func() {
					for i := 0; i+256 <= n; i += 256 {
						set.AddRows(w, out[i:i+256], x[i*d:(i+256)*d])
					}
				}},
			} {
				b.Run(fmt.Sprintf("%s/d=%d", pass.name, d), func(b *testing.B) {
					seconds, peak := perCall(b, func() error { pass.run(); return nil }, copied)
					b.ReportMetric(8*float64(n*d)/seconds/1e9, "GB/s")
					b.ReportMetric(8*float64(n*d)/seconds/peak, "of_copy")
				})
			}
		}
	})
}

// even are n numbers spread over [-h, h].
func even(n int, h float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = h * (2*math.Mod(float64(i)*0.6180339887498949, 1) - 1)
	}
	return x
}
