package algorithms_test

import (
	"context"
	"math"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// docs/theory.md#gradient-perturbation: sigma = (2 Dg/n) sqrt(T)/mu; no convexity, no smoothness; no paper mode.
func TestGradientPerturbationPlan(t *testing.T) {
	b := privacy.Budget{Epsilon: 1, Delta: 1e-5}
	s := newSpec(t, 512, 8, 0.5, 0.001, b, algorithms.Certified)
	p := must.Get(algorithms.GradientPerturbation{Steps: 100, StepSize: 3}.Plan(s))(t)
	want := 2 * s.Constants.PairDiameter / 512 * 10 / 0.268051
	must.Near(t, sigma(p), want, 1e-5*want, "sigma")
	if e := p.Events()[0].(account.RepeatedEvent); e.Count != 100 || p.Guarantee.Epsilon > 1 || p.Guarantee.Epsilon < 1-1e-9 {
		t.Errorf("event %v, guarantee %v", e, p.Guarantee)
	}
	rough := s
	rough.Constants.Convex, rough.Constants.Smoothness = false, math.Inf(1)
	must.Err((algorithms.DPGDSC{}).Plan(rough))(t, "the control: output perturbation accepted a loss that is neither convex nor smooth")
	q, err := algorithms.GradientPerturbation{}.Plan(rough)
	if err != nil || !(q.Schedule.Constant > 0) || q.Guarantee.Epsilon > 1 {
		t.Errorf("a loss that is neither convex nor smooth: %v", err)
	}
	s.Mode = algorithms.Paper
	must.Fail((algorithms.GradientPerturbation{}).Plan(s))(t, must.All{algorithms.ErrAssumption, "constant"}, "paper mode")
	// The public rule: the noise in the model does not depend on the number of steps.
	s.Mode = algorithms.Certified
	few, err1 := algorithms.GradientPerturbation{Steps: 50, TotalStep: 1}.Plan(s)
	many, err2 := algorithms.GradientPerturbation{Steps: 500, TotalStep: 1}.Plan(s)
	if err1 != nil || err2 != nil || math.Abs(few.ModelNoise-many.ModelNoise) > 1e-9*few.ModelNoise {
		t.Errorf("noise in the model %v and %v (%v, %v)", few.ModelNoise, many.ModelNoise, err1, err2)
	}
}

// The structured neighbour moves a released mean gradient by nearly its certificate;
// a release that forgets to divide by n-1 is caught.
func TestNoisyGradientsAttainTheirCertificate(t *testing.T) {
	a := algorithms.GradientPerturbation{Steps: 3, StepSize: 0.1}
	p := must.Get(a.Plan(newSpec(t, 40, 2, 1, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified)))(t)
	data, neighbour := attack.WorstCase(40, 2, 3, engine.UnitBounds())
	// At w = 0 the weight sigm(-u) is 1/2 of at most sigm(4) = 0.982.
	ratio, err := attack.Replay(a, p, data, []*engine.Records{neighbour}, 1)
	if err != nil || ratio < 0.5 {
		t.Errorf("moved %.4g of the certificate (%v), want at least half", ratio, err)
	}
	must.Fail(attack.Replay(sumReleased{a}, p, data, []*engine.Records{neighbour}, 1))(t, "certified", "releasing the gradient sum in place of the mean")
}

// sumReleased forgets to divide by the number of pairs.
type sumReleased struct {
	algorithms.GradientPerturbation
}

func (sumReleased) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, s privacy.Session, _ algorithms.Tracker) ([]float64, error) {
	problem := ev.Kernel().Problem()
	g := make([]float64, problem.D)
	if err := ev.Sum(ctx, g, engine.Gradient(make([]float64, problem.D), problem.Pairs())); err != nil {
		return nil, err
	}
	return g, s.Release(g, p.Certificate(), p.Noise())
}
