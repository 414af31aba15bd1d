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
)

// docs/theory.md#dpgdc, certified and paper noise, for delta > 0 and delta = 0.
func TestDPGDCNoise(t *testing.T) {
	const n, d, steps, eta = 200, 8, 50, 0.1
	b := privacy.Budget{Epsilon: 1, Delta: 1e-5}
	a := algorithms.DPGDC{Steps: steps, StepSize: eta}
	plan := func(b privacy.Budget, m algorithms.Mode) *algorithms.Plan {
		return must.Get(a.Plan(newSpec(t, n, d, 1, 0, b, m)))(t)
	}
	p := plan(b, algorithms.Certified)
	dg, g := p.Spec.Constants.PairDiameter, p.Spec.Constants.Lipschitz
	near := func(what string, got, want float64) {
		must.Near(t, got, want, 1e-5*want, "%s", what)
	}
	near("certified sigma", sigma(p), dg*eta*(steps+1)/n/0.268051)
	paper := plan(b, algorithms.Paper)
	near("paper sigma", sigma(paper), 4*g*eta*steps/n*math.Sqrt(2*math.Log(1.25e5)))
	pure := plan(privacy.Budget{Epsilon: 1}, algorithms.Paper)
	near("paper Laplace scale", pure.Noise().(privacy.Laplace).Scale, 4*g*eta*steps/n*math.Sqrt(d))
	for _, q := range []*algorithms.Plan{paper, pure} {
		if !q.Guarantee.Claim.Holds {
			t.Errorf("the claim is valid and is reported as %+v", q.Guarantee.Claim)
		}
	}
	// The missing "+ zeta" of line 6: noise is added, so two runs differ.
	data := attack.RandomRecords(n, d, engine.UnitBounds(), 1)
	var first []float64
	for seed := range uint64(2) {
		r := must.Get(algorithms.Run(context.Background(), data, a, pure, algorithms.Options{Public: true, Source: privacy.NewSeededSource(seed)}))(t)
		if seed == 1 && r.Weights[0] == first[0] {
			t.Error("the pure branch of paper mode adds no noise")
		}
		first = r.Weights
	}
}

func TestDPGDCRefuses(t *testing.T) {
	b := privacy.Budget{Epsilon: 1, Delta: 1e-5}
	for name, plan := range map[string]func() (*algorithms.Plan, error){
		"an L2 term": func() (*algorithms.Plan, error) {
			return algorithms.DPGDC{}.Plan(newSpec(t, 50, 2, 1, 0.1, b, algorithms.Certified))
		},
		"a step above 2/L": func() (*algorithms.Plan, error) {
			return algorithms.DPGDC{Steps: 3, StepSize: 0.51}.Plan(newSpec(t, 50, 2, 1, 0, b, algorithms.Certified))
		},
		"a negative step": func() (*algorithms.Plan, error) {
			return algorithms.DPGDC{StepSize: -1}.Plan(newSpec(t, 50, 2, 1, 0, b, algorithms.Paper))
		},
	} {
		must.Fail(plan())(t, algorithms.ErrAssumption, name)
	}
	must.Check((algorithms.DPGDC{Steps: 3, StepSize: 0.49}).Plan(newSpec(t, 50, 2, 1, 0, b, algorithms.Certified)))(t, "the control, a step below 2/L")
}
