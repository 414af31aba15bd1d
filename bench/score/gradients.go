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

// gradient is a case of measureGradients: the sum over all pairs of n records.
type gradient struct {
	loss   string
	n, d   int
	radius float64
	method cpu.Method
}

// measureGradients times whole gradients by one worker.
func measureGradients(large int) error {
	cases := []gradient{
		{"logistic", 128, 2, 1, cpu.Direct}, {"logistic", 128, 2, 1, cpu.NearLinear},
		{"logistic", 512, 2, 1, cpu.Direct}, {"logistic", 512, 2, 1, cpu.NearLinear},
		{"logistic", 768, 8, 1, cpu.Auto}, {"logistic", 8192, 2, 1, cpu.Direct}, {"logistic", 8192, 2, 12.5, cpu.Direct}, {"logistic", 8192, 2, 50, cpu.Direct},
	}
	for _, radius := range []float64{1, 5, 25} {
		cases = append(cases, gradient{"logistic", 1_000_000, 1, radius, cpu.Auto})
	}
	for _, d := range []int{2, 5, 10} {
		cases = append(cases, gradient{"logistic", 1_000_000, d, 1, cpu.Auto})
	}
	cases = append(cases, gradient{"logistic", large, 1, 1, cpu.Auto}, gradient{"logistic", large, 20, 1, cpu.Auto})
	for _, n := range []int{1_000_000, large} {
		for _, loss := range []string{"hinge", "squared-hinge", "ramp"} {
			cases = append(cases, gradient{loss, n, 1, 1, cpu.Sorted})
		}
	}
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
	variants := kernels.Variants()
	if c.loss != "logistic" {
		l, ok := engine.LibraryByName(c.loss)
		if !ok {
			return fmt.Errorf("no loss %q", c.loss)
		}
		e, err := l.Expression(engine.ExpressionOptions{})
		if err != nil {
			return err
		}
		p.Loss = engine.Score{Of: e}
		variants = []kernels.Variant{kernels.Best} // sorted sums are plain Go
	}
	best, err := kernels.Select(kernels.Best)
	if err != nil {
		return err
	}
	w, sum, x := make([]float64, c.d), make([]float64, c.d), r.Dense()
	w[0] = 0.9 * c.radius
	for _, v := range variants {
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
		fmt.Printf("%s,%s,%v,%d,%d,%g,%.4f,%.4f,%.2f\n", c.loss, kernel.Method(), v, c.n, c.d, 4*c.radius, t*1e3, 2*ref*1e3, t/(2*ref))
	}
	return nil
}
