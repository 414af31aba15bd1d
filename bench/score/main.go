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
	parts := flag.String("parts", "kernels,memory,gradients,sorted,workers", "what to measure")
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
		fmt.Println("# goal: slots to reach, from rates that were set for a Zen 5 core (goals in bench/score)")
		fmt.Println("# bound: multiplications, additions and fused ones that the algorithm needs a unit; share = bound / slots")
		fmt.Println("work,variant,unit,units,median_ns_per_unit,rate_per_s,peak_per_s,slots,bound,share,goal")
		return eachVariant(measureKernels)
	case "memory":
		fmt.Println("# memory: GB/s of reading a matrix of 64 MB, and of copying it (read and write counted)")
		fmt.Println("work,variant,columns,GB_per_s,copy_GB_per_s,share")
		return eachVariant(measureRows)
	case "gradients":
		fmt.Println("# gradients: one worker; stream2 is twice the time of reading X once")
		fmt.Println("loss,method,variant,n,d,largest_margin,ms,stream2_ms,ratio")
		return measureGradients(large)
	case "sorted":
		return measureSorted(large)
	case "workers":
		fmt.Println("# workers: wall clock by one and by two workers in turns, the fastest and the median of each")
		fmt.Println("work,variant,n,one_ms,two_ms,ratio,one_median_ms,two_median_ms,median_ratio")
		return measureWorkers()
	}
	return fmt.Errorf("-parts has %q, want kernels, memory, gradients, sorted or workers", part)
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
