// Command gradients measures exact all-pairs gradients on synthetic records: time,
// and peak resident size against the size of the data.
//
//	go run ./bench/gradients -n 1000000 -d 20 -count 100 > bench/results/gradients-1e6.csv
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"time"

	"dyad/bench"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
)

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 1_000_000, "records")
	d := flag.Int("d", 20, "features")
	count := flag.Int("count", 100, "gradients")
	radius := flag.Float64("radius", 1, "norm of w")
	workers := flag.Int("workers", 0, "CPU workers, 0 for all cores")
	flag.Parse()
	if err := measure(*n, *d, *count, *radius, *workers); err != nil {
		log.Fatal("gradients: ", err)
	}
}

func measure(n, d, count int, radius float64, workers int) error {
	records, err := dataset.SyntheticScores(n, d, 1)
	if err != nil {
		return err
	}
	kernel, err := cpu.Backend{Workers: workers}.Plan(engine.Problem{N: n, D: d, Bounds: records.Bounds(), Loss: engine.Logistic{}, Radius: radius})
	if err != nil {
		return err
	}
	ev, err := kernel.Bind(records)
	if err != nil {
		return err
	}
	defer ev.Close()
	w, sum := make([]float64, d), make([]float64, d)
	times := make([]float64, count)
	pairs := engine.AllPairs{N: n}
	start := time.Now()
	for i := range times {
		for k := range w { // a different w each time, norm below the radius
			w[k] = radius * float64((i+k)%7-3) / float64(4*d)
		}
		t := time.Now()
		if err := ev.GradSum(context.Background(), sum, w, pairs); err != nil {
			return err
		}
		times[i] = time.Since(t).Seconds()
	}
	total := time.Since(start).Seconds()
	slices.Sort(times)
	data := float64(n) * float64(d+1) * 8
	peak := float64(bench.PeakBytes())

	bench.Header(os.Stdout, "gradients", os.Args[1:])
	fmt.Println("n,d,method,gradients,total_s,median_s,fastest_s,pairs_per_s,roundoff_per_pair,data_MB,peak_MB,peak_over_2_data_plus_300MB")
	fmt.Printf("%d,%d,%s,%d,%.3f,%.5f,%.5f,%.3e,%.3e,%.1f,%.1f,%.3f\n", n, d, kernel.Method(), count, total,
		times[count/2], times[0], float64(pairs.Len())/times[count/2], kernel.Roundoff(pairs)/float64(pairs.Len()),
		data/1e6, peak/1e6, peak/(2*data+300e6))
	return nil
}
