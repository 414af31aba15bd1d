package audit_test

import (
	"context"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/algotest"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/privacy"
)

// The worst cases of moments show nine tenths of the claim, and noise of a fourth of what is
// claimed is refuted.
func TestAuditOfMoments(t *testing.T) {
	for _, a := range []algorithms.Algorithm{algorithms.Moments{}, algorithms.MomentMetric{}} {
		t.Run(a.Info().Name, func(t *testing.T) { auditMoments(t, a) })
	}
}

func auditMoments(t *testing.T, a algorithms.Algorithm) {
	plan := func(epsilon float64) *algorithms.Plan {
		s, err := algorithms.NewSpec(cpu.Backend{Workers: 1}, engine.Problem{N: 2000, D: 2, Bounds: engine.UnitBounds(), Loss: algotest.Loss(a.Info()), Radius: 1}, 0, privacy.Budget{Epsilon: epsilon, Delta: 1e-5}, algorithms.Certified)
		if err != nil {
			t.Fatal(err)
		}
		p, err := a.Plan(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := plan(4)
	target, err := audit.Worst(context.Background(), a, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := mustRun(t, target, audit.Options{Runs: 4000, Seed: 1})
	if !r.Holds() || r.Move < 0.9 || r.Move > 1 {
		t.Errorf("claimed %v, audited %v, moves %v", r.Epsilon, r.LowerBound, r.Move)
	}
	// The noise of epsilon 4 under the claim of epsilon 1.
	p.Guarantee = plan(1).Guarantee
	if r = mustRun(t, target, audit.Options{Runs: 4000, Seed: 2}); r.Holds() {
		t.Errorf("claimed %v with the noise of 4, audited %v: not refuted", r.Epsilon, r.LowerBound)
	}
}
