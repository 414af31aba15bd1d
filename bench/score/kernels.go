package main

import (
	"fmt"
	"math"

	"dyad/bench"
	"dyad/kernels"
)

// goals are the slots a unit that the project aims at, by AVX-512 and AVX2. They were set as
// rates of a Zen 5 core, which does 66 G multiply-adds a second in float64 with
// 512 bits, and half with 256: 8 and 3.5 G pairs, 1.8 with margins up to 50, 10^6 points in 2 and in 5 ms.
var goals = map[string][2]float64{
	"logistic pairs with loss k=2":         {66 / 8.0, 33 / 3.5},
	"logistic pairs with loss k=50":        {66 / 1.8, 0},
	"near-linear sums one bin of 33 terms": {66 * 2, 33 * 5},
}

// goal is the goal of a row, "-" if there is none. Those of points are for 10^6 of them.
func goal(work string, units float64, v kernels.Variant) string {
	of := map[kernels.Variant]float64{kernels.AVX512: goals[work][0], kernels.AVX2: goals[work][1]}[v]
	if of == 0 || units == 4096 {
		return "-"
	}
	return fmt.Sprintf("%.1f", of)
}

// measureKernels times the kernels on data in the caches, with margins in [-k, k].
func measureKernels(set *kernels.Set) {
	const n, rows, cols = 4096, 256, 512 // the tiles of engine/cpu
	row, col := make([]float64, n), make([]float64, n)
	report := func(work, unit string, units, bound float64, f func()) {
		t, flops := perCall(f, func() float64 { return bench.FMAPeak(set) })
		peak, rate := flops/2, units/t
		fmt.Printf("%s,%v,%s,%.0f,%.4f,%.3e,%.3e,%.2f,%.2f,%.2f,%s\n", work, set.Variant(), unit, units, t/units*1e9, rate, peak, peak/rate, bound, bound*rate/peak, goal(work, units, set.Variant()))
	}
	tiles := func(f func(r0, c0 int)) {
		for c0 := 0; c0 < n; c0 += cols {
			for r0 := 0; r0 < n; r0 += rows {
				f(r0, c0)
			}
		}
	}
	s, t := even(n, 2), even(n, 2)
	a, b := make([]float64, n), make([]float64, n)
	for _, k := range []float64{2, 50} {
		for i := range a {
			a[i], b[i] = math.Exp(k/4*s[i]), math.Exp(-k/4*t[i])
		}
		// Of four pairs: 4 fused for 1 + ab, 3 + 2 products, 4 sums of rows, 4 of columns,
		// and a division, which is not counted.
		report(fmt.Sprintf("logistic pairs without exponential k=%g", k), "pair", n*n, 17.0/4, func() {
			tiles(func(r0, c0 int) {
				set.LogisticTile(row[r0:r0+rows], col[c0:c0+cols], a[r0:r0+rows], b[c0:c0+cols])
			})
		})
		// One more product of four pairs; taking its exponent out is not counted.
		report(fmt.Sprintf("logistic pairs with loss k=%g", k), "pair", n*n, 18.0/4, func() {
			tiles(func(r0, c0 int) {
				set.LogisticLossTile(row[r0:r0+rows], col[c0:c0+cols], a[r0:r0+rows], b[c0:c0+cols])
			})
		})
	}
	y, z := make([]float64, n), make([]float64, n)
	for i := range y {
		y[i] = 1
		s[i], t[i] = 12.5*s[i], 12.5*t[i]
	}
	report("logistic pairs of any labels k=50", "pair", n*n, 25, func() {
		tiles(func(r0, c0 int) {
			set.LogisticPairTile(row[r0:r0+rows], col[c0:c0+cols], s[r0:r0+rows], y[r0:r0+rows], t[c0:c0+cols], z[c0:c0+cols], -rows)
		})
	})
	v := make([]float64, 1024)
	report("logistic slopes", "number", 1024, 18, func() {
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
	parts := make([]float64, n+16)
	sum, coef := make([]float64, 8*(terms-1)), even(terms, 1)
	report("locate 16 bins", "point", n, 6, func() { set.Locate(pos, key, s, class, bins) })
	report("take", "point", n, 1, func() { kernels.Take(pos, s, at) })
	report("split", "point", n, 1, func() { set.Split(parts, s, mask) })
	report("join", "point", n, 1, func() { set.Join(pos, parts, mask) })
	// Of four powers three fused, a product and a sum; in plain Go a product and a sum each.
	perPower, perTerm := 5.0/4, 1.0
	if set.Variant() == kernels.Generic {
		perPower = 1
	}
	report("power sums 33 terms", "point", n, (terms-1)*perPower, func() { set.PowerSums(sum, s) })
	report("polynomial 33 terms", "point", n, terms*perTerm, func() { set.Polynomial(value, coef, s) })
	for _, n := range []int{n, 1_000_000} {
		report("near-linear sums one bin of 33 terms", "point", float64(n), 3+terms*perTerm+(terms-1)*perPower, bench.NearLinear(set, n, terms))
	}
	x, w, out := even(20*256, 1), even(20, 1), make([]float64, 256)
	report("dots d=20 in cache", "row", 256, 20, func() { set.Dots(out, x, w) })
	report("add rows d=20 in cache", "row", 256, 20, func() { set.AddRows(w, out, x) })
}
