package attack_test

import (
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// TestEnvelopesReplay trains with Moreau envelopes, by single noisy gradients and by a recursion that needs a smooth convex loss,
// and replays the runs on neighbours: no release moves by more than its certificate. What a wrong search for the minimum breaks,
// TestEnvelopeStaysWhereBoundsHold in package engine finds (docs/theory.md#moreau).
func TestEnvelopesReplay(t *testing.T) {
	sizes.NotShort(t, "slow")
	for _, text := range []string{"max(0, 1-u)", "-log(5-u) - 10*max(0, -5-u)^2"} {
		phi := must.Get(engine.NewExpression("test", text, engine.ExpressionOptions{}))(t)
		loss := must.Get(engine.NewEnvelope(phi, 0.9, -4.001, 4.001))(t)
		const n = 40
		p := engine.Problem{N: n, D: 1, Bounds: engine.UnitBounds(), Loss: engine.Score{Of: loss}, Radius: 1}
		for _, a := range []algorithms.Algorithm{algorithms.DPGDSC{Steps: 6, StepSize: 0.1}, algorithms.GradientPerturbation{Steps: 6}} {
			spec := must.Get(algorithms.NewSpec(cpu.Backend{}, p, 0.001, privacy.Budget{Epsilon: 1, Delta: 1e-6}, algorithms.Certified))(t)
			plan := must.Get(a.Plan(spec))(t)
			for k := range 9 { // two classes at a and -a, and one record at the other end
				data := ends(t, n, 0.6+0.05*float64(k), 1)
				if _, err := attack.Replay(a, plan, data, []*engine.Records{ends(t, n, 0.6+0.05*float64(k), -1)}, 1); err != nil {
					t.Fatalf("%s, %s: %v", text, a.Info().Name, err)
				}
			}
			data := attack.RandomRecords(n, 1, engine.UnitBounds(), 1)
			must.Check(attack.Replay(a, plan, data, attack.Neighbours(data, 8, 2), 1))(t, text, ", ", a.Info().Name)
		}
	}
}

// ends are n records of two classes at a and -a; the last one is at last times that.
func ends(t *testing.T, n int, a, last float64) *engine.Records {
	t.Helper()
	x, y := make([]float64, n), make([]float64, n)
	for i := range y {
		y[i] = float64(2*(i%2) - 1)
		x[i] = a * y[i]
	}
	x[n-1] *= last
	return must.Get(engine.NewRecords(x, y, 1, engine.UnitBounds()))(t)
}
