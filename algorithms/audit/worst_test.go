package audit_test

import (
	"context"
	"math"
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

// kinkedPlan is a plan whose first step meets the kink of the loss with every pair.
func kinkedPlan(t *testing.T, a algorithms.Algorithm, loss engine.Loss) *algorithms.Plan {
	t.Helper()
	s := must.Get(algorithms.NewSpec(cpu.Backend{Workers: 1}, engine.Problem{N: 31, D: 1, Bounds: engine.UnitBounds(), Loss: loss, Radius: 0.1}, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified))(t)
	return must.Get(a.Plan(s))(t)
}

// Losses with a kink through sigmoid where all margins start: a slope that depends on the
// other records of its block moves 3.6 times its certificate here (epsilon 3.7 for a
// claimed 1), and a slope that depends on its pair alone stays within it.
func TestKinksThroughSigmoidHold(t *testing.T) {
	sizes.NotShort(t, "slow")
	for _, e := range attack.KinkLosses(0) {
		loss := engine.Score{Of: e}
		for _, a := range []algorithms.Algorithm{
			algorithms.GradientPerturbation{Steps: 1, StepSize: 1e-4}, algorithms.DPGDC2{Steps: 1, StepSize: 1e-4},
			algorithms.SubsampledDescent{Steps: 1, StepSize: 1e-4, BatchRecords: 16},
		} {
			p := kinkedPlan(t, a, loss)
			target := must.Get(audit.Worst(context.Background(), a, p, 1))(t)
			r := mustRun(t, target, audit.Options{Runs: sizes.Of(400, 4000), Seed: 1})
			t.Logf("%s, %s, %s: moves %.4f, epsilon >= %.3f", r.Algorithm, r.Loss, r.Instance, r.Move, r.LowerBound)
			if !r.Holds() {
				t.Errorf("%s, %s, %s: moves %.4f of the certificate, epsilon >= %.3f for a claimed %.3f", r.Algorithm, r.Loss, r.Instance, r.Move, r.LowerBound, r.Epsilon)
			}
		}
		for _, a := range []algorithms.Stream{algorithms.OnPairC{}, algorithms.DPFTRL{}} {
			p := streamPlan(t, a, loss, 60, 0.1, approximate, algorithms.StreamOptions{Batch: 20, BurnIn: 4})
			target := must.Get(audit.WorstStream(context.Background(), p, 1))(t)
			if r := mustRun(t, target, audit.Options{Runs: sizes.Of(200, 1000), Seed: 1}); !r.Holds() {
				t.Errorf("%s, %s, %s: moves %.4f of the certificate, epsilon >= %.3f for a claimed %.3f", r.Algorithm, r.Loss, r.Instance, r.Move, r.LowerBound, r.Epsilon)
			}
		}
	}
}

// From the worst start the logistic metric moves all but 2 % of its certificate, the largest that
// a search finds, and the linear one all of it.
func TestWorstStartOfMetrics(t *testing.T) {
	sizes.NotShort(t, "slow")
	const n, d = 64, 2
	for _, c := range []struct {
		loss  engine.MetricLoss
		a     algorithms.Algorithm
		least float64
	}{
		{engine.MahalanobisLogistic{}, algorithms.GradientPerturbation{Steps: 1}, 0.985},
		{engine.MahalanobisLogistic{}, descent, 0.97},
		{audit.LinearMetric{}, descent, 0.99},
	} {
		loss := must.Get(audit.FromWorstStart(c.loss, engine.UnitBounds(), d, 1))(t)
		l2 := 0.0
		if c.a.Info().NeedsL2 {
			l2 = 0.001
		}
		s := must.Get(algorithms.NewSpec(cpu.Backend{Workers: 1}, engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: loss, Radius: 1}, l2, approximate, algorithms.Certified))(t)
		p := must.Get(c.a.Plan(s))(t)
		target := must.Get(audit.Worst(context.Background(), c.a, p, 1))(t)
		r := mustRun(t, target, audit.Options{Runs: 4000, Seed: 1})
		t.Logf("%s, %s: moves %.4f, gap/sd %.4f +- %.4f of %.4f", r.Algorithm, r.Loss, r.Move, r.Shift.Mu, r.Shift.StandardError, r.Mu)
		if !r.Holds() || r.Move < c.least || math.Abs(r.Shift.Mu-r.Move*r.Mu) > 4*r.Shift.StandardError {
			t.Errorf("%s, %s: moves %.4f, gap/sd %.4f", r.Algorithm, r.Loss, r.Move, r.Shift.Mu)
		}
	}
	hinge, _ := engine.LibraryByName("hinge")
	e := must.Get(hinge.Expression(engine.ExpressionOptions{}))(t)
	if _, err := audit.FromWorstStart(engine.Metric{Of: e}, engine.UnitBounds(), d, 1); err == nil {
		t.Error("a worst start of a loss with a kink was searched")
	}
}
