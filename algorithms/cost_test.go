package algorithms_test

import (
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// Passes are counted from the schedule, the records are n rows of d numbers and a label, and a
// process holds its share.
func TestNeeds(t *testing.T) {
	const d = 20
	n := sizes.Of(200_000, 2_000_000)
	spec := must.Get(algorithms.NewSpec(cpu.Backend{}, engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2}, 0, privacy.Budget{Epsilon: 1, Delta: 1e-6}, algorithms.Certified))(t)
	for name, want := range map[string]func(p *algorithms.Plan) float64{
		"gradient-perturbation": func(p *algorithms.Plan) float64 { return 2 * float64(p.Schedule.Steps) },
		"moments":               func(p *algorithms.Plan) float64 { return float64(p.Moments().Passes) },
		"offpairc":              func(p *algorithms.Plan) float64 { return 2 * p.Work.Gradients / float64(n) },
	} {
		a := must.Get(algorithms.ByName(name))(t)
		p := must.Get(a.Plan(spec))(t)
		z, narrow := p.Needs(false), p.Needs(true)
		if z.Records != float64(n)*(d+1)*8 || z.Passes != want(p) || z.Passes == 0 || z.Seconds != p.Seconds() || z.Vectors < float64(n) || z.Vectors > z.Records {
			t.Errorf("%s: %+v, want %v passes", name, z, want(p))
		}
		if z.Records -= float64(n) * d * 4; z != narrow {
			t.Errorf("%s in float32: %+v, want %+v", name, narrow, z)
		}
	}
	z := algorithms.Needs{Records: 160e9, Vectors: 10e9}
	for _, memory := range []float64{1e6, 1e9, 2e9, 24e9, 1e12} {
		r := z.Processes(memory)
		if r == 0 && memory >= 2e9 || r > 0 && z.Memory(r) > memory || r > 1 && z.Memory(r-1) <= memory {
			t.Errorf("%d processes of %g bytes", r, memory)
		}
	}
	if z.Processes(1e9) != 0 || z.Processes(1e12) != 1 {
		t.Errorf("%d and %d processes, want none and one", z.Processes(1e9), z.Processes(1e12))
	}
}
