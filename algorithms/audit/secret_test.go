package audit_test

import (
	"math"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// lessNoise has a fraction of the noise that its claim needs, properly planned, and
// claims as before.
type lessNoise struct {
	algorithms.Algorithm
	fraction float64
}

func (l lessNoise) Plan(s algorithms.Spec) (*algorithms.Plan, error) {
	p, err := l.Algorithm.Plan(s)
	if err != nil {
		return nil, err
	}
	m := p.Noise().(privacy.Gaussian)
	m.Sigma *= l.fraction
	p.Releases[0].Noise = m
	return p, nil
}

// Guarantees that rest on secret batches or steps are attacked by an adversary that does
// not know them, whatever access is asked for. The claims hold, and an under-noised build
// is refuted. On the linear loss, hidden steps that end before the ball is felt are as
// bad as their bound.
func TestSecretsAreAttackedFromOutside(t *testing.T) {
	sizes.NotShort(t, "slow")
	for _, c := range []struct {
		name  string
		a     algorithms.Algorithm
		loss  engine.Loss
		runs  int
		power bool
	}{
		{"hidden steps", algorithms.ConvergentDescent{Steps: 6, StepSize: 0.01}, audit.Linear{}, sizes.Of(1200, 4000), true},
		{"hidden steps, logistic", algorithms.ConvergentDescent{Steps: 40, StepSize: 0.4}, engine.Logistic{}, sizes.Of(300, 1000), false},
		{"batches", algorithms.SubsampledDescent{Steps: 4, StepSize: 0.05, BatchRecords: 10}, audit.Linear{}, sizes.Of(1200, 4000), true},
	} {
		target := structured(plan(t, c.a, c.loss, 30, 2, approximate), c.a)
		target.Coins = 3 // of the move: the record is in two of the batches
		r := mustRun(t, target, audit.Options{Runs: c.runs, Seed: 3})
		t.Logf("%s: move %.3f, %+v", c.name, r.Move, r.Bounds)
		if !r.Holds() || r.Access != audit.BlackBox.String() || r.OffGrid != 0 || !(r.Move > 0.02 && r.Move <= 1+1e-12) {
			t.Errorf("%s: access %s, move %v, %d values off the grid, %+v", c.name, r.Access, r.Move, r.OffGrid, r.Bounds)
		}
		if !c.power {
			continue
		}
		bad := lessNoise{c.a, 1.0 / 8}
		r = mustRun(t, structured(plan(t, bad, c.loss, 30, 2, approximate), bad), audit.Options{Runs: c.runs, Seed: 3})
		t.Logf("%s, an eighth of the noise: %+v", c.name, r.Bounds)
		if r.Holds() || math.IsNaN(r.LowerBound) {
			t.Errorf("%s: an eighth of the noise is not refuted: %+v", c.name, r.Bounds)
		}
	}
}
