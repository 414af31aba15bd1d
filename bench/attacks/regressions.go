package main

import (
	"fmt"
	"math/rand/v2"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/privacy"
)

// regressions are configurations that once refuted a guarantee, with the instances on
// which they did: a loss whose kink at u = 0 goes through sigmoid, a few records of one
// class at one end of the range, the others at the other, and one label that flips. The
// pairs then keep their margins and change their places in the lists that slopes are
// computed in.
func regressions([]candidate, int) []job {
	gradient := algorithms.GradientPerturbation{Steps: 1, StepSize: 1e-4}
	var jobs []job
	add := func(name string, f formula, n int, make func(c candidate, t task) configuration) {
		jobs = append(jobs, job{fmt.Sprintf("regression|%s|%s|%d", name, f.text, n), func(*rand.Rand) configuration {
			c, err := f.candidate(false)
			if err != nil {
				return failed(err)
			}
			radius := 0.1
			if f.kinks[0] != 0 {
				radius = 1 // so that margins reach the kink
			}
			t := task{
				shape:   shape{n: n, d: 1, bounds: engine.UnitBounds(), levels: 2, few: true},
				problem: engine.Problem{N: n, D: 1, Bounds: engine.UnitBounds(), Loss: c.loss, Radius: radius},
				backend: cpu.Backend{Workers: 1},
				budget:  privacy.Budget{Epsilon: 1, Delta: 1e-5},
			}
			t.describe()
			made := make(c, t)
			made.area, made.cost = "regression", max(1, float64(n)/1500)
			return made
		}})
	}
	batch := func(a algorithms.Algorithm) func(c candidate, t task) configuration {
		return func(c candidate, t task) configuration { return trainedWith(a, c, t, algorithms.Certified, "", 1) }
	}
	stream := func(a algorithms.Stream, options algorithms.StreamOptions) func(c candidate, t task) configuration {
		return func(c candidate, t task) configuration {
			o := online{Stream: a, StreamOptions: options}
			o.Horizon = t.n
			o.describe(&t)
			return streamed(o, c, t, 1)
		}
	}
	hinge := formula{text: "max(0, sigmoid(2.8-u) - sigmoid(2.8))", kinks: []float64{0}}
	for _, f := range []formula{hinge, {text: "abs(sigmoid(0.2-u) - sigmoid(0.2))", kinks: []float64{0}}} {
		add("gradient-perturbation", f, 100, batch(gradient))
		add("dpgdc2", f, 100, batch(algorithms.DPGDC2{Steps: 1}))
		add("subsampled-descent", f, 100, batch(algorithms.SubsampledDescent{Steps: 1, BatchRecords: 50}))
	}
	wide := algorithms.StreamOptions{Batch: 100, BurnIn: 4, Buffer: 128}
	add("onpairc", hinge, 3004, stream(algorithms.OnPairC{}, algorithms.StreamOptions{Batch: 1000, BurnIn: 4}))
	add("onpairc", hinge, 304, stream(algorithms.OnPairC{}, wide))
	add("onpairc", hinge, 520, stream(algorithms.OnPairC{}, algorithms.StreamOptions{Batch: 52}))
	add("dpftrl", hinge, 304, stream(algorithms.DPFTRL{}, wide))
	add("onpairc", formula{text: "max(0.3, sigmoid(-u))", kinks: kinked()[0].kinks}, 250,
		stream(algorithms.OnPairC{}, algorithms.StreamOptions{Batch: 50}))
	return jobs
}
