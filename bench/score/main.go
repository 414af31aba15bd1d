// Command score measures the kernels of score losses and whole gradients for every
// variant of the kernels that this processor has, in processor time of one worker, next to the
// peak of fused multiply-adds and of copying memory.
//
//	go run ./bench/score > bench/results/cpu-score.csv
package main

import (
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"slices"
	"strings"

	"dyad/bench"
	"dyad/kernels"
)

func main() {
	log.SetFlags(0)
	large := flag.Int("large", 1_000_000, "records of the largest gradients")
	parts := flag.String("parts", "kernels,memory,gradients,workers", "what to measure")
	flag.Parse()
	bench.Header(os.Stdout, "score", os.Args[1:])
	fmt.Printf("# median of %d runs, processor time of one worker\n", runs)
	for _, part := range strings.Split(*parts, ",") {
		if err := measure(part, *large); err != nil {
			log.Fatal("score: ", err)
		}
	}
}

// measure prints the table of a part.
func measure(part string, large int) error {
	fmt.Println("#")
	switch part {
	case "kernels":
		fmt.Println("# peak: fused multiply-adds a second of the variant's vectors (plain Go: multiply, add), measured next to each run")
		fmt.Println("# slots: peak / rate, the multiply-adds that the core could do in the time of one unit")
		fmt.Println("# bound: multiplications, additions and fused ones that the algorithm needs a unit; share = bound / slots")
		fmt.Println("work,variant,unit,units,median_ns_per_unit,rate_per_s,peak_per_s,slots,bound,share")
		return eachVariant(measureKernels)
	case "memory":
		fmt.Println("# memory: GB/s of reading a matrix of 64 MB, and of copying it (read and write counted)")
		fmt.Println("work,variant,columns,GB_per_s,copy_GB_per_s,share")
		return eachVariant(measureRows)
	case "gradients":
		fmt.Println("# gradients: one worker; stream2 is twice the time of reading X once")
		fmt.Println("loss,method,variant,n,d,largest_margin,ms,stream2_ms,ratio")
		return measureGradients(large)
	case "workers":
		fmt.Println("# workers: wall clock of gradients by one and by two workers in turns, the fastest and the median of each")
		fmt.Println("loss,method,variant,n,largest_margin,one_ms,two_ms,ratio,one_median_ms,two_median_ms,median_ratio")
		return measureWorkers()
	}
	return fmt.Errorf("-parts has %q, want kernels, memory, gradients or workers", part)
}

func eachVariant(run func(set *kernels.Set)) error {
	for _, v := range kernels.Variants() {
		set, err := kernels.Select(v)
		if err != nil {
			return err
		}
		run(set)
	}
	return nil
}

const runs = 11

// perCall is the median processor time of a call of f in seconds, with f repeated to take
// at least two milliseconds, and the median of reference, which runs next to it.
func perCall(f func(), reference func() float64) (seconds, next float64) {
	f()
	count := 1
	for {
		start := bench.ProcessorTime()
		for range count {
			f()
		}
		if bench.ProcessorTime()-start > 2e-3 {
			break
		}
		count *= 2
	}
	a, b := make([]float64, runs), make([]float64, runs)
	for i := range a {
		b[i] = reference()
		start := bench.ProcessorTime()
		for range count {
			f()
		}
		a[i] = (bench.ProcessorTime() - start) / float64(count)
	}
	slices.Sort(a)
	slices.Sort(b)
	return a[runs/2], b[runs/2]
}

// measureKernels times the kernels on data in the caches, with margins in [-k, k].
func measureKernels(set *kernels.Set) {
	const n, rows, cols, cols32 = 4096, 256, 512, 1024 // the tiles of engine/cpu
	row, col := make([]float64, n), make([]float64, n)
	reportOf := func(ofPeak func(*kernels.Set) float64, work, unit string, units, bound float64, f func()) {
		t, flops := perCall(f, func() float64 { return ofPeak(set) })
		peak, rate := flops/2, units/t
		fmt.Printf("%s,%v,%s,%.0f,%.4f,%.3e,%.3e,%.2f,%.2f,%.2f\n", work, set.Variant(), unit, units, t/units*1e9, rate, peak, peak/rate, bound, bound*rate/peak)
	}
	report := func(work, unit string, units, bound float64, f func()) {
		reportOf(bench.FMAPeak, work, unit, units, bound, f)
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
	a32, b32 := make([]float32, n), make([]float32, n)
	for _, k := range []float64{2, 50} {
		for i := range a {
			a[i], b[i] = math.Exp(k/4*s[i]), math.Exp(-k/4*t[i])
			a32[i], b32[i] = float32(a[i]), float32(b[i])
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
		// 1 + ab, a step of Newton and both sums; the approximate reciprocal is not counted.
		reportOf(bench.FMAPeak32, fmt.Sprintf("logistic pairs in float32 k=%g", k), "pair", n*n, 5, func() {
			for c0 := 0; c0 < n; c0 += cols32 {
				for r0 := 0; r0 < n; r0 += rows {
					set.LogisticTile32(row[r0:r0+rows], col[c0:c0+cols32], a32[r0:r0+rows], b32[c0:c0+cols32])
				}
			}
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
	at := make([]uint16, n)
	for i := range class {
		class[i] = uint8(i*7/5) % 2
		at[i] = uint16(i/2 + i%2*n/2)
		s[i] /= 25
	}
	sum, coef := make([]float64, 8*(terms-1)), even(terms, 1)
	report("locate 16 bins", "point", n, 6, func() { set.Locate(pos, key, s, class, bins) })
	report("take", "point", n, 1, func() { kernels.Take(pos, s, at) })
	// Of four powers three fused, a product and a sum; in plain Go a product and a sum each.
	perPower, perTerm := 5.0/4, 1.0
	if set.Variant() == kernels.Generic {
		perPower = 1
	}
	report("power sums 33 terms", "point", n, (terms-1)*perPower, func() { set.PowerSums(sum, s) })
	report("polynomial 33 terms", "point", n, terms*perTerm, func() { set.Polynomial(value, coef, s) })
	report("near-linear sums one bin of 33 terms", "point", n, 2+terms*perTerm+(terms-1)*perPower, func() {
		kernels.Take(pos, s, at)
		set.PowerSums(sum, pos)
		kernels.Take(pos, s, at)
		set.Polynomial(value, coef, pos)
		kernels.Take(pos, value, at)
	})
	x, w, out := even(20*256, 1), even(20, 1), make([]float64, 256)
	report("dots d=20 in cache", "row", 256, 20, func() { set.Dots(out, x, w) })
	report("add rows d=20 in cache", "row", 256, 20, func() { set.AddRows(w, out, x) })
}

// measureRows times both passes over a matrix in memory.
func measureRows(set *kernels.Set) {
	const size = 8 << 20
	x, copied := even(size, 1), bench.CopyPeak()
	for _, d := range []int{8, 20, 128, 1000} {
		n := size / d
		w, out := even(d, 1), make([]float64, n)
		for _, k := range []struct {
			name string
			run  func()
		}{
			{"dots", func() { set.Dots(out, x, w) }},
			{"add rows", func() {
				for i := 0; i+256 <= n; i += 256 {
					set.AddRows(w, out[i:i+256], x[i*d:(i+256)*d])
				}
			}},
		} {
			t, peak := perCall(k.run, copied)
			got := 8 * float64(n*d) / t
			fmt.Printf("%s,%v,%d,%.2f,%.2f,%.2f\n", k.name, set.Variant(), d, got/1e9, peak/1e9, got/peak)
		}
	}
}

// even are n numbers spread over [-h, h].
func even(n int, h float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = h * (2*math.Mod(float64(i)*0.6180339887498949, 1) - 1)
	}
	return x
}
