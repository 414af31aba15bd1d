package algorithms_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

func builtInLoss(t *testing.T, name string) engine.Loss {
	t.Helper()
	l, ok := engine.LibraryByName(name)
	if !ok {
		t.Fatalf("no loss %s", name)
	}
	e := must.Get(l.Expression(engine.ExpressionOptions{}))(t)
	return engine.Score{Of: e}
}

// TestLossesThatAreNotSmoothOrNotConvex: every algorithm of the catalogues either
// refuses such a loss with the reason, or certifies single noisy gradients only. A
// recursion certificate for one of them would rest on a Roundoff that is no distance to
// the exact gradient (engine.Kernel).
func TestLossesThatAreNotSmoothOrNotConvex(t *testing.T) {
	budget := privacy.Budget{Epsilon: 1, Delta: 1e-5}
	for name, lacks := range map[string]string{"hinge": "not smooth", "ramp": "not smooth", "gompertz": "not proved to be convex"} {
		loss := builtInLoss(t, name)
		p := engine.Problem{N: 500, D: 5, Bounds: engine.UnitBounds(), Loss: loss, Radius: 1}
		applied := 0
		for _, a := range algorithms.Catalog() {
			info := a.Info()
			if !info.Learns(loss) {
				continue
			}
			for _, mode := range info.Modes {
				spec := must.Get(algorithms.NewSpec(cpu.Backend{}, p, 0.01, budget, mode))(t)
				if !info.NeedsL2 && mode == algorithms.Paper {
					spec.L2 = 0
				}
				plan, err := a.Plan(spec)
				switch {
				case info.NeedsSmooth:
					if !errors.Is(err, algorithms.ErrAssumption) || !strings.Contains(err.Error(), lacks) {
						t.Errorf("%s, %s, %s: %v, want a refusal because it is %s", name, info.Name, mode, err, lacks)
					}
				case err != nil:
					if mode == algorithms.Certified {
						t.Errorf("%s, %s: %v", name, info.Name, err)
					}
				case mode == algorithms.NonPrivate:
					if !(plan.Schedule.TotalStep > 0) || math.IsInf(plan.Schedule.TotalStep, 0) {
						t.Errorf("%s, %s: path %v", name, info.Name, plan.Schedule.TotalStep)
					}
				default:
					applied++
					if (plan.Moments() == nil || plan.Moments().Gradients > 0) && !strings.Contains(plan.Certificate().Released(), "gradient") {
						t.Errorf("%s, %s, %s releases %q with noise for a gradient", name, info.Name, mode, plan.Certificate().Released())
					}
				}
			}
		}
		must.AtLeast(t, applied, 2, "%s: plans", name)
		for _, s := range []algorithms.Stream{algorithms.OnPairC{Reading: algorithms.SecretState}, algorithms.OnPairStrC{Reading: algorithms.SecretState}} {
			spec := must.Get(algorithms.NewStreamSpec(cpu.Backend{}, p, algorithms.StreamOptions{Horizon: 100}, 0.01, budget, algorithms.Certified))(t)
			must.Fail(s.Plan(spec))(t, must.All{algorithms.ErrAssumption, lacks}, name, ", ", s.Info().Name,
				" with a secret state")
		}
	}
	// Control: the smooth convex counterpart is taken by all of them.
	p := engine.Problem{N: 500, D: 5, Bounds: engine.UnitBounds(), Loss: builtInLoss(t, "huberised-hinge"), Radius: 1}
	for _, a := range algorithms.Catalog() {
		if !a.Info().NeedsSmooth {
			continue
		}
		alpha := 0.0
		if a.Info().NeedsL2 {
			alpha = 0.01
		}
		spec := must.Get(algorithms.NewSpec(cpu.Backend{}, p, alpha, budget, algorithms.Certified))(t)
		must.Check(a.Plan(spec))(t, "huberised-hinge, ", a.Info().Name)
	}
}

// TestConstantLossIsNamedAsSuch: a backend that cannot plan a loss does not hide what is
// wrong with the loss itself.
func TestConstantLossIsNamedAsSuch(t *testing.T) {
	for text, want := range map[string]string{"3": "constant", "softplus(-u)": ""} {
		of := must.Get(engine.NewExpression("custom", text, engine.ExpressionOptions{}))(t)
		p := engine.Problem{N: 500, D: 5, Bounds: engine.UnitBounds(), Loss: engine.Score{Of: of}, Radius: 1}
		_, err := algorithms.NewSpec(cpu.Backend{}, p, 0.01, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("loss %s: %v, want an error with %q", text, err, want)
		}
	}
}
