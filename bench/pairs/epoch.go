package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/pairgraph"
	"dyad/privacy"
)

// epoch times one epoch over a million pairs, noise included: d = 58, d' = 16, |B| =
// 1000.
func (s settings) epoch() ([]row, axes, error) {
	a := axes{title: "One epoch over 1,000,000 pairs", x: "workers", value: "seconds", other: "cpu_seconds"}
	const n, d = 500_000, 58
	fmt.Println("# one epoch over 1,000,000 pairs of 500,000 individuals, d = 58, d' = 16, |B| = 1000, Gaussian noise; the machine ran other work as well")
	drawn, err := pairgraph.Draw(n, density, degreeCap, 1)
	if err != nil {
		return nil, a, err
	}
	g, err := pairgraph.New(n, drawn)
	if err != nil {
		return nil, a, err
	}
	r := rand.New(rand.NewPCG(1, 1))
	x, labels := make([]float64, n*d), make([]bool, len(drawn))
	for i := range x {
		x[i] = r.Float64() - 0.5
	}
	for i := range labels {
		labels[i] = r.IntN(2) == 0
	}
	data, err := pairgraph.NewData(x, d, pairgraph.L2, 1, g, labels)
	if err != nil {
		return nil, a, err
	}
	p, err := pairs.Spec{
		Individuals: n, Pairs: len(drawn), Dim: d, Bound: 1, Loss: pairgraph.Contrastive{Margin: 1}, Rows: rowsOfW, Kappa: degreeCap,
		Batch: 1000, Epochs: 1, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6},
	}.Plan()
	if err != nil {
		return nil, a, err
	}
	var out []row
	for _, workers := range []int{1, 2} {
		for repeat := range s.repeats {
			start, before := time.Now(), cpuSeconds()
			if _, err := pairs.Run(context.Background(), data, nil, p, pairs.Options{Options: algorithms.Options{Public: true}, Workers: workers}); err != nil {
				return nil, a, err
			}
			out = append(out, row{"pairs", float64(workers), repeat, time.Since(start).Seconds(), cpuSeconds() - before})
		}
	}
	return out, a, nil
}

// cpuSeconds is the processor time of this process, which other work on the machine
// does not lengthen; 0 where the system does not tell.
func cpuSeconds() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
