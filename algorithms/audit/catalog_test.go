package audit_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/privacy"
)

// Every algorithm of both catalogues in every mode that claims privacy, on the losses
// that attain certificates and on those that are trained: a few runs each, of which no
// bound may exceed the claim, no exact vector may move by more than its certificate, and
// no value may be off its noise grid. (bench/audits does the same with many runs.) No
// algorithm of a catalogue can be forgotten here.
func TestCatalogHolds(t *testing.T) {
	budgets := []privacy.Budget{{Epsilon: 2, Delta: 1e-5}, {Epsilon: 2}}
	losses := []engine.Loss{audit.Linear{}, engine.Logistic{}, audit.LinearMetric{}, engine.MahalanobisLogistic{}}
	if testing.Short() {
		losses = losses[:1]
	}
	attack := func(name string, target audit.Target, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		r := mustRun(t, target, audit.Options{Runs: 100, Seed: 1, Confidence: 1 - 1e-9})
		if !r.Holds() || r.Move > 1 {
			t.Errorf("%s: claimed %v, audited %v; moved %v, %d off the grid, %d repeated", name, r.Epsilon, r.LowerBound, r.Move, r.OffGrid, r.Repeated)
		}
	}
	attacked := map[string]bool{}
	for _, loss := range losses {
		problem := engine.Problem{N: 12, D: 2, Bounds: engine.UnitBounds(), Loss: loss, Radius: 0.5}
		for _, a := range algorithms.Catalog() {
			for _, m := range a.Info().Modes {
				for _, b := range budgets {
					if m == algorithms.NonPrivate || b.Delta == 0 && !slices.Contains(a.Info().PureModes, m) {
						continue
					}
					l2 := 0.0
					if a.Info().NeedsL2 {
						l2 = 0.5
					}
					s, err := algorithms.NewSpec(cpu.Backend{Workers: 1}, problem, l2, b, m)
					if err != nil {
						t.Fatal(err)
					}
					p, err := a.Plan(s)
					if errors.Is(err, algorithms.ErrAssumption) {
						continue // with its reason; which must not be all there is, see below
					}
					var target audit.Target
					if err == nil {
						target, err = audit.Worst(context.Background(), a, p, 1)
					}
					attack(a.Info().Name+" "+m.String()+" "+loss.Name(), target, err)
					attacked[a.Info().Name] = true
				}
			}
		}
		for _, a := range algorithms.StreamCatalog() {
			if !a.Info().Supports(algorithms.Certified) {
				continue
			}
			p := streamPlan(t, a, loss, 8, 0.5, budgets[0], algorithms.StreamOptions{})
			target, err := audit.WorstStream(context.Background(), p, 1)
			attack(a.Info().Name+" "+loss.Name(), target, err)
		}
	}
	for _, a := range algorithms.Catalog() {
		if private := slices.Contains(a.Info().Modes, algorithms.Certified); private && !attacked[a.Info().Name] && slices.ContainsFunc(losses, a.Info().Learns) {
			t.Errorf("%s was never attacked", a.Info().Name)
		}
	}
}
