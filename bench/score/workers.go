package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/kernels"
)

// measureWorkers compares the wall clock of the direct method of one and of two workers, in
// turns.
func measureWorkers() error {
	const n, turns = 8192, 300
	r, err := dataset.SyntheticScores(n, 2, 1)
	if err != nil {
		return err
	}
	w, sum, pairs := []float64{0.45, 0}, make([]float64, 2), engine.AllPairs{N: n}
	problem := engine.Problem{N: n, D: 2, Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: 0.5}
	for _, single := range []bool{false, true} {
		var evaluators [2]engine.Evaluator
		var ms [2][]float64
		var method string
		for i := range evaluators {
			kernel, err := cpu.Backend{Workers: i + 1, Method: cpu.Direct, Float32: single}.Plan(problem)
			if err != nil {
				return err
			}
			method = kernel.Method()
			if evaluators[i], err = kernel.Bind(r); err != nil {
				return err
			}
		}
		for range turns {
			for i, e := range evaluators {
				start := time.Now()
				if err := e.GradSum(context.Background(), sum, w, pairs); err != nil {
					return err
				}
				ms[i] = append(ms[i], time.Since(start).Seconds()*1e3)
			}
		}
		for i, e := range evaluators {
			slices.Sort(ms[i])
			if err := e.Close(); err != nil {
				return err
			}
		}
		variants := kernels.Variants()
		fastest, middle := [2]float64{ms[0][0], ms[1][0]}, [2]float64{ms[0][turns/2], ms[1][turns/2]}
		ratio := func(t [2]float64) float64 { return t[0] / t[1] }
		fmt.Printf("logistic,\"%s\",%v,%d,%g,%.4f,%.4f,%.2f,%.4f,%.4f,%.2f\n", method, variants[len(variants)-1], n, 4*problem.Radius,
			fastest[0], fastest[1], ratio(fastest), middle[0], middle[1], ratio(middle))
	}
	return nil
}
