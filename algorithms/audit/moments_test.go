package audit_test

import (
	"context"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// The worst cases of moments show nine tenths of the claim, with steps, whose gradients attain
// their certificates for sure models alone, three quarters; and noise of a fourth of what is claimed is
// refuted.
func TestAuditOfMoments(t *testing.T) {
	cases := []struct {
		a     algorithms.Algorithm
		least float64
	}{{algorithms.Moments{}, 0.9}, {algorithms.Moments{Steps: 2}, 0.75}, {algorithms.MomentMetric{}, 0.9}}
	runs := sizes.Of(1000, 4000)
	if testing.Short() {
		cases, runs = cases[:1], 1000
	}
	for _, c := range cases {
		plan := func(epsilon float64) *algorithms.Plan {
			s := must.Get(algorithms.NewSpec(cpu.Backend{Workers: 1}, engine.Problem{N: 2000, D: 2, Bounds: engine.UnitBounds(), Loss: attack.Loss(c.a.Info()), Radius: 1}, 0, privacy.Budget{Epsilon: epsilon, Delta: 1e-5}, algorithms.Certified))(t)
			return must.Get(c.a.Plan(s))(t)
		}
		p := plan(4)
		target := must.Get(audit.Worst(context.Background(), c.a, p, 1))(t)
		r := mustRun(t, target, audit.Options{Runs: runs, Seed: 1})
		if !r.Holds() || r.Move < c.least || r.Move > 1 {
			t.Errorf("%+v: claimed %v, audited %v, moves %v", c.a, r.Epsilon, r.LowerBound, r.Move)
		}
		// The noise of epsilon 4 under the claim of epsilon 1.
		p.Guarantee = plan(1).Guarantee
		if r = mustRun(t, target, audit.Options{Runs: runs, Seed: 2}); r.Holds() {
			t.Errorf("%+v: claimed %v with the noise of 4, audited %v: not refuted", c.a, r.Epsilon, r.LowerBound)
		}
	}
}
