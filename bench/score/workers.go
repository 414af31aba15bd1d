package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/kernels"
)

// measureWorkers compares the wall clock of the direct method of one and of two workers, and
// that of multiply-adds in registers, which is what two processors can give.
func measureWorkers() error {
	const n = 8192
	r, err := dataset.SyntheticScores(n, 2, 1)
	if err != nil {
		return err
	}
	set, err := kernels.Select(kernels.Best)
	if err != nil {
		return err
	}
	w, sum, pairs := []float64{0.45, 0}, make([]float64, 2), engine.AllPairs{N: n}
	problem := engine.Problem{N: n, D: 2, Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: 0.5}
	var evaluators [2]engine.Evaluator
	var method string
	for i := range evaluators {
		kernel, err := cpu.Backend{Workers: i + 1, Method: cpu.Direct}.Plan(problem)
		if err != nil {
			return err
		}
		method = kernel.Method()
		if evaluators[i], err = kernel.Bind(r); err != nil {
			return err
		}
	}
	err = inTurns("logistic "+method, set, n, func(workers int) error {
		return evaluators[workers-1].GradSum(context.Background(), sum, w, pairs)
	})
	for _, e := range evaluators {
		if err == nil {
			err = e.Close()
		}
	}
	if err != nil {
		return err
	}
	return inTurns("multiply-adds in registers", set, 0, func(workers int) error {
		const rounds = 400_000 // of one worker
		var done sync.WaitGroup
		for range workers {
			done.Go(func() { set.Peak(rounds / workers) })
		}
		done.Wait()
		return nil
	})
}

// inTurns prints the wall clock of the same work by one and by two workers.
func inTurns(work string, set *kernels.Set, n int, run func(workers int) error) error {
	const turns = 300
	var ms [2][]float64
	for range turns {
		for i := range ms {
			start := time.Now()
			if err := run(i + 1); err != nil {
				return err
			}
			ms[i] = append(ms[i], time.Since(start).Seconds()*1e3)
		}
	}
	for _, t := range ms {
		slices.Sort(t)
	}
	fmt.Printf("\"%s\",%v,%d", work, set.Variant(), n)
	for _, at := range []int{0, turns / 2} { // the fastest, the median
		fmt.Printf(",%.4f,%.4f,%.2f", ms[0][at], ms[1][at], ms[0][at]/ms[1][at])
	}
	fmt.Println()
	return nil
}
