// Command moments times the sums that algorithm moments releases, on one worker: bytes of
// records per second over what a copy reads and writes, and multiply-adds of the second
// moments over the peak of the processor. Runs take turns with measurements of both peaks,
// and everything is processor time, because other programs run on the machine as well.
//
//	go run ./bench/moments > bench/results/moments-MACHINE.csv
//	go run ./bench/moments -ar1 100000 > bench/results/moments-ar1.csv
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"slices"

	"dyad/bench"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/kernels"
)

func main() {
	log.SetFlags(0)
	runs := flag.Int("runs", 15, "timed runs of each line, after one to warm up")
	ar1 := flag.Int("ar1", 0, "instead, train on so many records with correlated features, and compare")
	steps := flag.Int("steps", 2, "of -ar1, of moments that are compared with moments without steps")
	alone := flag.Bool("alone", false, "of -ar1: no other algorithms")
	repeats := flag.Int("repeats", 10, "of -ar1, each with records and noise of its own")
	epsilon := flag.Float64("epsilon", 1, "of -ar1")
	delta := flag.Float64("delta", 1e-6, "of -ar1")
	flag.Parse()
	bench.Header(os.Stdout, "moments", os.Args[1:])
	if *ar1 > 0 {
		if err := outcome(*ar1, *repeats, *steps, *alone, *epsilon, *delta); err != nil {
			log.Fatal("moments: ", err)
		}
		return
	}
	fmt.Printf("# one pass by one worker, processor time, median and best of %d; copy and peak are measured before each\n", *runs)
	fmt.Println("# of_copy: bytes of records a second over those that a copy reads and writes; of_peak: d(d+1)/2 multiply-adds")
	fmt.Println("# a record over the peak of multiply-adds; both medians over runs")
	fmt.Println("n,d,pass,variant,ms,best_ms,ns_per_record,of_copy,of_peak")
	if err := measure(*runs); err != nil {
		log.Fatal("moments: ", err)
	}
}

// pass is one kind of sums.
type pass struct {
	name string
	of   func(d int) engine.MomentSums
}

func passes() []pass {
	clipped := func(second engine.SecondMoments) func(int) engine.MomentSums {
		return func(d int) engine.MomentSums {
			return engine.MomentSums{Centre: make([]float64, d), Radius: 0.5, Signed: true, Offset: 0.2, Second: second}
		}
	}
	return []pass{
		{"count and centre", func(int) engine.MomentSums { return engine.MomentSums{Radius: 1} }},
		{"signed sum", clipped(engine.NoSecond)},
		{"signed sum, diagonal", clipped(engine.DiagonalSecond)},
		{"signed sum, full", clipped(engine.FullSecond)},
		{"logistic gradient", func(d int) engine.MomentSums {
			m := clipped(engine.NoSecond)(d)
			m.Signed, m.Model = false, make([]float64, d)
			for j := range m.Model {
				m.Model[j] = float64(j%2*2 - 1)
			}
			return m
		}},
	}
}

func measure(runs int) error {
	copies := bench.CopyPeak()
	for _, shape := range [][2]int{{1_000_000, 8}, {1_000_000, 20}, {400_000, 48}, {150_000, 128}, {20_000, 512}} {
		n, d := shape[0], shape[1]
		r, err := records(n, d)
		if err != nil {
			return err
		}
		for _, variant := range []kernels.Variant{kernels.Generic, kernels.Best} {
			set, err := kernels.Select(variant)
			if err != nil {
				return err
			}
			k, err := cpu.Backend{Workers: 1, Variant: variant}.PlanMoments(engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1})
			if err != nil {
				return err
			}
			ev, err := k.Bind(r)
			if err != nil {
				return err
			}
			for _, p := range passes() {
				m := p.of(d)
				dst := engine.Moments{Sum: make([]float64, d), Second: make([]float64, m.Second.Len(d))}
				var seconds, ofCopy, ofPeak []float64
				for i := range runs + 1 {
					copied, peak := copies(), bench.FMAPeak(set)
					start := bench.ProcessorTime()
					if err := ev.(engine.MomentsEvaluator).Moments(context.Background(), &dst, m); err != nil {
						return err
					}
					used := bench.ProcessorTime() - start
					if i == 0 {
						continue
					}
					seconds = append(seconds, used)
					ofCopy = append(ofCopy, 8*float64(n)*float64(d)/used/copied)
					sums := 0.0
					if m.Second == engine.FullSecond {
						sums = float64(n) * float64(d) * float64(d+1) // two operations each
					}
					ofPeak = append(ofPeak, sums/used/peak)
				}
				slices.Sort(seconds)
				slices.Sort(ofCopy)
				slices.Sort(ofPeak)
				middle := runs / 2
				fmt.Printf("%d,%d,%s,%s,%.2f,%.2f,%.1f,%.2f,%.2f\n", n, d, quoted(p.name), set.Variant(), 1e3*seconds[middle], 1e3*seconds[0], 1e9*seconds[middle]/float64(n), ofCopy[middle], ofPeak[middle])
			}
			if err := ev.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }

func records(n, d int) (*engine.Records, error) {
	rng := rand.New(rand.NewPCG(1, uint64(d)))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		y[i] = float64(2*rng.IntN(2) - 1)
		scale := 1 / float64(d)
		for j := range d {
			x[i*d+j] = scale * (2*rng.Float64() - 1) * float64(1+i%16)
		}
	}
	return engine.AdoptRecords(x, y, d, engine.UnitBounds())
}
