package bench_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/machine"
	"dyad/internal/must"
	"dyad/kernels"
)

var large = flag.Int("large", 1_000_000, "records of the largest gradients")

// BenchmarkGradients times whole gradients of the logistic loss by one worker; k is the largest margin and
// stream2 the ratio to reading the features twice.
func BenchmarkGradients(b *testing.B) {
	for _, c := range []struct {
		n, d   int
		radius float64
		method cpu.Method
	}{
		{128, 2, 1, cpu.Direct}, {128, 2, 1, cpu.NearLinear}, {512, 2, 1, cpu.Direct}, {512, 2, 1, cpu.NearLinear}, {768, 8, 1, cpu.Auto},
		{8192, 2, 1, cpu.Direct}, {8192, 2, 12.5, cpu.Direct}, {8192, 2, 50, cpu.Direct},
		{1_000_000, 1, 5, cpu.Auto}, {1_000_000, 1, 25, cpu.Auto}, {1_000_000, 2, 1, cpu.Auto}, {1_000_000, 5, 1, cpu.Auto}, {1_000_000, 10, 1, cpu.Auto},
		{*large, 1, 1, cpu.Auto}, {*large, 20, 1, cpu.Auto},
	} {
		b.Run(fmt.Sprintf("n=%d/d=%d/k=%g/%v", c.n, c.d, 4*c.radius, c.method), func(b *testing.B) {
			r, best := scores(b, c.n, c.d), selected(b, kernels.Best)
			x := r.Dense()
			eachVariant(b, func(b *testing.B, set *kernels.Set) {
				_, sum := gradient(b, cpu.Backend{Workers: 1, Method: c.method, Variant: set.Variant()}, engine.Logistic{}, r, c.radius, 0)
				seconds, reads := perCall(b, func() error { return sum(context.Background()) }, func() float64 {
					return machine.Rate(func() float64 { best.Dot(x, x); return 1 })
				})
				b.ReportMetric(seconds*reads/2, "stream2")
			})
		})
	}
}

// BenchmarkMillion measures gradients of 10^6 records on one and two workers: the ratio to as many workers that
// read the features twice, how long a cancelled gradient runs on (the longest of ten), and the peak resident size
// next to that of the data, which counts every benchmark that ran before.
func BenchmarkMillion(b *testing.B) {
	const n, d = 1_000_000, 20
	r := scores(b, n, d)
	set, losses := selected(b, kernels.Best), []string{"logistic", "gompertz", "hinge", "squared-hinge", "ramp"}
	for _, name := range losses {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) {
				var loss engine.Loss = engine.Logistic{}
				if name != "logistic" {
					_, loss = library(b, name)
				}
				kernel, sum := gradient(b, cpu.Backend{Workers: workers}, loss, r, 1, 0)
				if err := sum(context.Background()); err != nil { // makes tables
					b.Fatal(err)
				}
				var used, streamed time.Duration
				count := 0
				for b.Loop() {
					start := time.Now()
					must.Do(b, sum(context.Background()))
					between := time.Now()
					streamTwice(set, r.Dense(), workers)
					used, streamed, count = used+between.Sub(start), streamed+time.Since(between), count+1
				}
				wall := used / time.Duration(count)
				b.ReportMetric(float64(wall.Nanoseconds()), "ns/gradient")
				b.ReportMetric(used.Seconds()/streamed.Seconds(), "stream2")
				pairs := engine.AllPairs{N: n}
				b.ReportMetric(1e12*kernel.Bounds(engine.Query{Pairs: pairs}).Sum/float64(pairs.Len()), "1e-12-roundoff/pair")
				b.ReportMetric(cancelled(b, sum, wall).Seconds()*1e3, "cancel-ms")
				b.ReportMetric(n*(d+1)*8/1e6, "data-MB")
				b.ReportMetric(peakBytes()/1e6, "peak-MB")
			})
		}
	}
}

// peakBytes is the peak resident size of this process, 0 where the system does not tell.
func peakBytes() float64 {
	status, err := os.ReadFile("/proc/self/status")
	_, rest, ok := strings.Cut(string(status), "VmHWM:")
	var kb float64
	if _, wrong := fmt.Sscan(rest, &kb); err != nil || !ok || wrong != nil {
		return 0
	}
	return kb * 1024
}

// streamTwice reads x twice.
func streamTwice(set *kernels.Set, x []float64, workers int) {
	for range 2 {
		var wg sync.WaitGroup
		for i := range workers {
			part := x[i*len(x)/workers : (i+1)*len(x)/workers]
			wg.Go(func() { set.Dot(part, part) })
		}
		wg.Wait()
	}
}

// cancelled is the longest time that a gradient goes on after it is stopped.
func cancelled(b *testing.B, sum func(context.Context) error, whole time.Duration) (longest time.Duration) {
	for k := range 10 {
		ctx, cancel := context.WithCancel(context.Background())
		var at time.Time
		stop := time.AfterFunc(time.Duration((float64(k)+0.5)/10*float64(whole)), func() {
			at = time.Now()
			cancel()
		})
		err := sum(ctx)
		if !stop.Stop() {
			<-ctx.Done()
			if errors.Is(err, context.Canceled) {
				longest = max(longest, time.Since(at))
			}
		}
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			b.Fatal(err)
		}
	}
	return longest
}

// BenchmarkWorkers compares the elapsed time of the direct method, and of multiply-adds in registers, by one and
// by two workers in turns.
func BenchmarkWorkers(b *testing.B) {
	r, set := scores(b, 8192, 2), selected(b, kernels.Best)
	var sums [2]func(context.Context) error
	for i := range sums {
		_, sums[i] = gradient(b, cpu.Backend{Workers: i + 1, Method: cpu.Direct}, engine.Logistic{}, r, 0.5, 0)
	}
	for _, c := range []struct {
		name string
		run  func(workers int) error
	}{
		{"direct", func(workers int) error { return sums[workers-1](context.Background()) }},
		{"registers", func(workers int) error {
			const rounds = 400_000 // of one worker
			var done sync.WaitGroup
			for range workers {
				done.Go(func() { set.Peak(rounds / workers) })
			}
			done.Wait()
			return nil
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var took [2]time.Duration
			for b.Loop() {
				for i := range took {
					start := time.Now()
					must.Do(b, c.run(i+1))
					took[i] += time.Since(start)
				}
			}
			b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "speedup")
		})
	}
}

// BenchmarkSparse times gradients over sparse records of the shapes of the data sets a7a and real-sim, at half, the same and
// twice their density: ns/nonzero, without the sums of scores, is the same where the cost is proportional.
func BenchmarkSparse(b *testing.B) {
	for _, shape := range []struct {
		name          string
		n, d, nonZero int
	}{{"a7a", 16100, 122, 14}, {"real-sim", 72309, 20958, 51}} {
		// One feature: the scores and X^T c cost next to nothing.
		sums := 0.0
		for _, c := range []struct{ d, nonZero int }{{1, 1}, {shape.d, (shape.nonZero + 1) / 2}, {shape.d, shape.nonZero}, {shape.d, 2 * shape.nonZero}} {
			b.Run(fmt.Sprintf("%s/d=%d/nonzeros=%d", shape.name, c.d, c.nonZero), func(b *testing.B) {
				_, sum := gradient(b, cpu.Backend{Workers: 1}, engine.Logistic{}, sparse(b, shape.n, c.d, c.nonZero), 1, c.nonZero)
				seconds, _ := perCall(b, func() error { return sum(context.Background()) }, func() float64 { return 0 })
				if c.d == 1 {
					sums = seconds
					return
				}
				b.ReportMetric(1e9*(seconds-sums)/float64(shape.n*c.nonZero), "ns/nonzero")
			})
		}
	}
}

// sparse are records with equal numbers of random features each.
func sparse(b *testing.B, n, d, each int) *engine.Records {
	rng := rand.New(rand.NewPCG(1, uint64(each)))
	start, index, value, y := []int64{0}, []int32{}, []float64{}, []float64{}
	for i := range n {
		for k := range each { // one of each part of the features
			from, to := k*d/each, (k+1)*d/each
			index = append(index, int32(from+rng.IntN(to-from)))
			value = append(value, 1/math.Sqrt(float64(each)))
		}
		start, y = append(start, int64(len(index))), append(y, float64(2*(i%2)-1))
	}
	return must.Get(engine.NewSparseRecords(start, index, value, y, d, engine.UnitBounds()))(b)
}
