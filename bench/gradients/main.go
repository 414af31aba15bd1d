// Command gradients measures exact all-pairs gradients on synthetic records: wall and
// processor time next to streaming X twice, how long a cancelled one runs on, and peak
// resident size against the size of the data.
//
//	go run ./bench/gradients -n 1000000 -d 20 -count 100 > bench/results/gradients-1e6.csv
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"sync"
	"time"

	"dyad/bench"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/kernels"
)

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 1_000_000, "records")
	d := flag.Int("d", 20, "features")
	count := flag.Int("count", 100, "gradients")
	radius := flag.Float64("radius", 1, "norm of w")
	workers := flag.Int("workers", 1, "CPU workers")
	name := flag.String("loss", "logistic", "logistic, or a loss of the library")
	method := flag.String("method", "auto", "auto, or direct")
	flag.Parse()
	loss, err := lossByName(*name)
	if err == nil {
		err = measure(loss, *name, *method, *n, *d, *count, *radius, *workers)
	}
	if err != nil {
		log.Fatal("gradients: ", err)
	}
}

func lossByName(name string) (engine.Loss, error) {
	if name == "logistic" {
		return engine.Logistic{}, nil
	}
	l, ok := engine.LibraryByName(name)
	if !ok {
		return nil, fmt.Errorf("no loss %q", name)
	}
	e, err := l.Expression(engine.ExpressionOptions{})
	return engine.Score{Of: e}, err
}

func measure(loss engine.Loss, name, method string, n, d, count int, radius float64, workers int) error {
	records, err := dataset.SyntheticScores(n, d, 1)
	if err != nil {
		return err
	}
	backend := cpu.Backend{Workers: workers}
	if method == "direct" {
		backend.Method = cpu.Direct
	}
	kernel, err := backend.Plan(engine.Problem{N: n, D: d, Bounds: records.Bounds(), Loss: loss, Radius: radius})
	if err != nil {
		return err
	}
	set, err := kernels.Select(kernels.Best)
	if err != nil {
		return err
	}
	ev, err := kernel.Bind(records)
	if err != nil {
		return err
	}
	defer ev.Close()
	w, sum := make([]float64, d), make([]float64, d)
	vary := func(i int) { // a different w each time, not 0, norm at most the radius
		for k := range w {
			w[k] = radius * (float64((i+k)%7) - 2.5) / float64(4*d)
		}
	}
	pairs := engine.AllPairs{N: n}
	var walls, used, streamWalls, streamUsed []float64
	run := func(wall, processor *[]float64, f func() error) error {
		t, p := time.Now(), bench.ProcessorTime()
		err := f()
		*wall, *processor = append(*wall, time.Since(t).Seconds()), append(*processor, bench.ProcessorTime()-p)
		return err
	}
	gradient := func(ctx context.Context) error { return ev.GradSum(ctx, sum, w, pairs) }
	vary(0)
	if err := gradient(context.Background()); err != nil { // makes tables
		return err
	}
	before := bench.FMAPeak(set)
	for i := range count {
		vary(i)
		if err := run(&walls, &used, func() error { return gradient(context.Background()) }); err != nil {
			return err
		}
		if err := run(&streamWalls, &streamUsed, func() error { streamTwice(set, records.Dense(), workers); return nil }); err != nil {
			return err
		}
	}
	after := bench.FMAPeak(set)
	wall, processor := median(walls), median(used)
	lag, lagUsed, err := cancelled(gradient, wall)
	if err != nil {
		return err
	}
	data := float64(n) * float64(d+1) * 8
	peak := float64(bench.PeakBytes())

	bench.Header(os.Stdout, "gradients", os.Args[1:])
	fmt.Println("# processor_s: median processor time of all workers; stream2: reading X twice by as many workers, measured after each gradient")
	fmt.Println("# cancel: the longest of ten gradients, stopped at different times, from the stop to the return")
	fmt.Println("n,d,loss,method,workers,gradients,median_s,fastest_s,processor_s,stream2_s,stream2_processor_s,ratio,processor_ratio,cancel_ms,cancel_processor_ms,fma_peak_gflops,pairs_per_s,roundoff_per_pair,data_MB,peak_MB,peak_over_2_data_plus_300MB")
	fmt.Printf("%d,%d,%s,%s,%d,%d,%.5f,%.5f,%.5f,%.5f,%.5f,%.2f,%.2f,%.1f,%.1f,%.1f,%.3e,%.3e,%.1f,%.1f,%.3f\n", n, d, name, kernel.Method(), workers, count,
		wall, slices.Min(walls), processor, median(streamWalls), median(streamUsed), wall/median(streamWalls), processor/median(streamUsed),
		lag*1e3, lagUsed*1e3, (before+after)/2e9, float64(pairs.Len())/wall, kernel.Roundoff(pairs)/float64(pairs.Len()),
		data/1e6, peak/1e6, peak/(2*data+300e6))
	return nil
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
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

// cancelled returns the longest time, wall and of processors, that a gradient goes on
// after it is stopped.
func cancelled(gradient func(context.Context) error, whole float64) (wall, processor float64, err error) {
	for k := range 10 {
		ctx, cancel := context.WithCancel(context.Background())
		var at time.Time
		var used float64
		stop := time.AfterFunc(time.Duration((float64(k)+0.5)/10*whole*1e9), func() {
			at, used = time.Now(), bench.ProcessorTime()
			cancel()
		})
		err := gradient(ctx)
		if !stop.Stop() {
			<-ctx.Done()
			if errors.Is(err, context.Canceled) {
				wall, processor = max(wall, time.Since(at).Seconds()), max(processor, bench.ProcessorTime()-used)
			}
		}
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			return 0, 0, err
		}
	}
	return wall, processor, nil
}
