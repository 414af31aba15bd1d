package audit_test

import (
	"context"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/privacy"
)

// perturbed is gradient perturbation: every step releases its update, and the next
// one starts from what was released.
type perturbed struct {
	algorithms.DPGDSC
	steps  int
	weaker float64 // the noise is divided by it
}

func (a perturbed) Plan(s algorithms.Spec) (*algorithms.Plan, error) {
	p, err := algorithms.DPGDSC{Steps: 1, StepSize: 0.05}.Plan(s)
	if err != nil {
		return nil, err
	}
	m, err := privacy.CalibrateGaussian(p.Certificate(), s.Budget, a.steps)
	if err != nil {
		return nil, err
	}
	m.Sigma /= a.weaker
	m.Grid = 0
	p.Releases[0].Noise, p.Releases[0].Times = m, a.steps
	return p, nil
}

func (a perturbed) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
	problem := ev.Kernel().Problem()
	pairs := engine.AllPairs{N: problem.N}
	w, sum := make([]float64, problem.D), make([]float64, problem.D)
	for i := range a.steps {
		if err := ev.Sum(ctx, sum, engine.Gradient(w, pairs)); err != nil {
			return nil, err
		}
		for k := range sum {
			sum[k] *= -p.Schedule.Constant / float64(pairs.Len())
		}
		if err := s.Release(sum, p.Certificate(), p.Noise()); err != nil {
			return nil, err
		}
		for k := range w {
			w[k] += sum[k]
		}
		engine.ProjectBall(w, problem.Radius)
		t.Step(i+1, a.steps)
	}
	return w, nil
}

// Adaptive releases are attacked together: the score of all of them has the shift
// that composition allows and no more, and a quarter of the noise is refuted.
func TestAdaptiveReleasesAreAttackedTogether(t *testing.T) {
	sound := perturbed{steps: 5, weaker: 1}
	r := mustRun(t, structured(plan(t, sound, audit.Linear{}, 30, 2, approximate), sound), audit.Options{Runs: 4000, Seed: 4})
	t.Logf("gap/sd %.4f +- %.4f, claimed %.4f", r.Shift.Mu, r.Shift.StandardError, r.Mu)
	if slack := 4 * r.Shift.StandardError; !r.Holds() || r.Shift.Mu < 0.9*r.Mu-slack || r.Shift.Mu > r.Mu+slack {
		t.Errorf("gap/sd %.4f +- %.4f, claimed mu %.4f, bounds %+v", r.Shift.Mu, r.Shift.StandardError, r.Mu, r.Bounds)
	}
	weak := perturbed{steps: 5, weaker: 4}
	if r := mustRun(t, structured(plan(t, weak, engine.Logistic{}, 30, 2, approximate), weak), audit.Options{Runs: 2000, Seed: 4}); r.Holds() || r.LowerBound <= 1 {
		t.Errorf("noise/4 holds: %+v", r.Bounds)
	}
}
