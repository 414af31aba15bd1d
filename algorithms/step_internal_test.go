package algorithms

import (
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
)

// roundKernel has chosen bounds.
type roundKernel struct {
	engine.Kernel
	bounds engine.QueryBounds
}

func (k roundKernel) Bounds(engine.Query) engine.QueryBounds { return k.bounds }

// TestMeanGradientError: a certificate of one gradient takes what one record changes of
// the error, if the kernel knows it, and never more than the distance; an update of a
// recursion takes the distance.
func TestMeanGradientError(t *testing.T) {
	const n = 10
	p := engine.Problem{N: n, D: 2, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	inner := must.Get(cpu.Backend{}.Plan(p))(t)
	c := must.Get(p.Loss.Constants(p.Bounds, p.Radius))(t)
	pairs := p.Pairs()
	for _, k := range []struct{ neighbour, want float64 }{{0, 1e-3}, {1e-5 * float64(pairs.Len()), 1e-5}, {1, 1e-3}} {
		s := Spec{Kernel: roundKernel{inner, engine.QueryBounds{Sum: 1e-3 * float64(pairs.Len()), Neighbour: k.neighbour}}, Constants: c}
		if got := s.meanGradientError(pairs); !(got >= k.want && got < 1.001*k.want) {
			t.Errorf("error of a mean gradient %g, want %g", got, k.want)
		}
		must.AtLeast(t, s.gradientDescent(1, 1, pairs).UpdateError, 1e-3, "error of an update")
	}
}
