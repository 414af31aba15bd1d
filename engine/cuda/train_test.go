package cuda

import (
	"math"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// replays trains on random records and on neighbours: releases move by at most what the plan is charged for, and by more than least of it.
func replays(t *testing.T, name string, b engine.Backend, p engine.Problem, a algorithms.Algorithm, neighbours int, least float64) algorithms.Spec {
	t.Helper()
	spec := must.Get(algorithms.NewSpec(b, p, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified))(t, name)
	plan := must.Get(a.Plan(spec))(t, name)
	data := attack.RandomRecords(p.N, p.D, p.Bounds, 7)
	ratio, err := attack.Replay(a, plan, data, attack.Neighbours(data, neighbours, 8), 9)
	if t.Logf("%s: %s: %.2g of the certificate", name, spec.Kernel.Method(), ratio); err != nil || !(ratio > least && ratio <= 1) {
		t.Errorf("%s: the largest move is %v of the certificate, %v", name, ratio, err)
	}
	return spec
}

// TestReplayOnGPU: gradients within groups, of a loss with kinks and on batches move
// between neighbours by at most what the plan for the GPU is charged for, and by a good part
// of it; and an algorithm whose certificate compares steps refuses the loss with kinks.
func TestReplayOnGPU(t *testing.T) {
	const n, d = 12, 3
	for _, c := range []struct {
		name      string
		loss      engine.Loss
		groups    []int
		algorithm algorithms.Algorithm
	}{
		{"groups", engine.Logistic{}, []int{5, 1, 6}, algorithms.GradientPerturbation{Steps: 2}},
		{"kinks", library(t)["ramp"], nil, algorithms.GradientPerturbation{Steps: 2}},
		{"groups and kinks", library(t)["hinge"], []int{5, 1, 6}, algorithms.GradientPerturbation{Steps: 2}},
		{"batches", library(t)["hinge"], nil, algorithms.SubsampledDescent{BatchRecords: 5, Steps: 2}},
	} {
		b := openFake(t, newFake())
		b.Method = Direct
		p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: c.loss, Radius: 1, Groups: c.groups}
		spec := replays(t, c.name, b, p, c.algorithm, 4, 0.05)
		if _, err := (algorithms.DPGDC{}).Plan(spec); (err == nil) == math.IsInf(spec.Constants.Smoothness, 1) {
			t.Errorf("%s: DPGDC: %v", c.name, err)
		}
	}
}

// TestBatchesUseNeighbourRoundoff: the noise of batches on the GPU's direct method is that on
// the CPU but for 10^-5, at sizes where the distance to the exact sum would add 1 %.
func TestBatchesUseNeighbourRoundoff(t *testing.T) {
	gpu := openFake(t, newFake())
	gpu.Method = Direct
	p := engine.Problem{N: 200000, D: 5, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 5}
	a := algorithms.SubsampledDescent{BatchRecords: 50000, Steps: 2}
	var sensitivity [2]float64
	for i, b := range []engine.Backend{cpu.Backend{}, gpu} {
		spec := must.Get(algorithms.NewSpec(b, p, 0, privacy.Budget{Epsilon: 1, Delta: 1e-6}, algorithms.Certified))(t)
		plan := must.Get(a.Plan(spec))(t)
		sensitivity[i] = plan.Certificate().Sensitivity()
		if i == 0 {
			continue
		}
		parts := must.Get(engine.Parts{Backend: b, Sizes: []int{50000}}.Plan(p))(t)
		pairs := engine.SubsetPairs{N: 50000}
		if distance := 2 * parts.Bounds(engine.Query{Pairs: pairs}).Sum / float64(pairs.Len()) / sensitivity[0]; distance < 0.01 {
			t.Errorf("the distance is %.2g of the sensitivity: the test shows nothing", distance)
		}
	}
	if more := sensitivity[1]/sensitivity[0] - 1; !(more > 0 && more < 1e-5) {
		t.Errorf("the GPU's batches are %.2g more sensitive", more)
	}
}
