package main

import (
	"context"
	"fmt"

	"dyad/bench"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/kernels"
)

// measureGradients times whole gradients of the logistic loss by one worker.
func measureGradients(large int) error {
	best, err := kernels.Select(kernels.Best)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		n, d   int
		radius float64
		method cpu.Method
	}{
		{128, 2, 1, cpu.Direct}, {128, 2, 1, cpu.NearLinear}, {512, 2, 1, cpu.Direct}, {512, 2, 1, cpu.NearLinear},
		{768, 8, 1, cpu.Auto}, {8192, 2, 1, cpu.Direct}, {8192, 2, 50, cpu.Direct},
		{1_000_000, 1, 1, cpu.Auto}, {1_000_000, 1, 5, cpu.Auto}, {1_000_000, 1, 25, cpu.Auto},
		{large, 20, 1, cpu.Auto},
	} {
		r, err := dataset.SyntheticScores(c.n, c.d, 1)
		if err != nil {
			return err
		}
		p := engine.Problem{N: c.n, D: c.d, Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: c.radius}
		w, sum := make([]float64, c.d), make([]float64, c.d)
		w[0] = 0.9 * c.radius
		for _, v := range kernels.Variants() {
			kernel, err := cpu.Backend{Workers: 1, Method: c.method, Variant: v}.Plan(p)
			if err != nil {
				return err
			}
			e, err := kernel.Bind(r)
			if err != nil {
				return err
			}
			x := r.Dense()
			t, ref := perCall(func() {
				if err == nil {
					err = e.GradSum(context.Background(), sum, w, engine.AllPairs{N: c.n})
				}
			}, func() float64 {
				return 1 / bench.Rate(func() float64 { best.Dot(x, x); return 1 })
			})
			if err != nil {
				return err
			}
			if err := e.Close(); err != nil {
				return err
			}
			fmt.Printf("%s,%v,%d,%d,%g,%.4f,%.4f,%.2f\n", kernel.Method(), v, c.n, c.d, 4*c.radius, t*1e3, 2*ref*1e3, t/(2*ref))
		}
	}
	return nil
}
