package main

import (
	"context"
	"fmt"
	"slices"

	"dyad/bench"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/kernels"
)

// gradient is a case of measureGradients: the sum of the logistic loss over all pairs of n records.
type gradient struct {
	n, d   int
	radius float64
	method cpu.Method
}

// measureGradients times whole gradients by one worker.
func measureGradients(large int) error {
	cases := []gradient{
		{128, 2, 1, cpu.Direct}, {128, 2, 1, cpu.NearLinear},
		{512, 2, 1, cpu.Direct}, {512, 2, 1, cpu.NearLinear},
		{768, 8, 1, cpu.Auto}, {8192, 2, 1, cpu.Direct}, {8192, 2, 12.5, cpu.Direct}, {8192, 2, 50, cpu.Direct},
	}
	for _, radius := range []float64{1, 5, 25} {
		cases = append(cases, gradient{1_000_000, 1, radius, cpu.Auto})
	}
	for _, d := range []int{2, 5, 10} {
		cases = append(cases, gradient{1_000_000, d, 1, cpu.Auto})
	}
	cases = append(cases, gradient{large, 1, 1, cpu.Auto}, gradient{large, 20, 1, cpu.Auto})
	for i, c := range cases {
		if slices.Contains(cases[:i], c) {
			continue
		}
		if err := c.measure(); err != nil {
			return err
		}
	}
	return nil
}

func (c gradient) measure() error {
	r, err := dataset.SyntheticScores(c.n, c.d, 1)
	if err != nil {
		return err
	}
	p := engine.Problem{N: c.n, D: c.d, Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: c.radius}
	best, err := kernels.Select(kernels.Best)
	if err != nil {
		return err
	}
	w, sum, x := make([]float64, c.d), make([]float64, c.d), r.Dense()
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
		fmt.Printf("logistic,%s,%v,%d,%d,%g,%.4f,%.4f,%.2f\n", kernel.Method(), v, c.n, c.d, 4*c.radius, t*1e3, 2*ref*1e3, t/(2*ref))
	}
	return nil
}
