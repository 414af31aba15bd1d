package algorithms

import (
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
)

// roundKernel has a chosen Roundoff.
type roundKernel struct {
	engine.Kernel
	roundoff float64
}

func (k roundKernel) Roundoff(engine.Pairs) float64 { return k.roundoff }

// neighbourKernel also knows what one record changes.
type neighbourKernel struct {
	roundKernel
	neighbour float64
}

func (k neighbourKernel) NeighbourRoundoff(engine.Pairs) float64 { return k.neighbour }

// TestMeanGradientError: a certificate of one gradient takes what one record changes of
// the error, if the kernel knows it, and never more than the distance; an update of a
// recursion takes the distance.
func TestMeanGradientError(t *testing.T) {
	const n = 10
	p := engine.Problem{N: n, D: 2, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	inner, err := cpu.Backend{}.Plan(p)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Loss.Constants(p.Bounds, p.Radius)
	if err != nil {
		t.Fatal(err)
	}
	pairs := p.Pairs()
	distance := roundKernel{inner, 1e-3 * float64(pairs.Len())}
	for _, k := range []struct {
		kernel engine.Kernel
		want   float64
	}{{distance, 1e-3}, {neighbourKernel{distance, 1e-5 * float64(pairs.Len())}, 1e-5}, {neighbourKernel{distance, 1}, 1e-3}} {
		s := Spec{Kernel: k.kernel, Constants: c}
		if got := s.meanGradientError(pairs); !(got >= k.want && got < 1.001*k.want) {
			t.Errorf("error of a mean gradient %g, want %g", got, k.want)
		}
		if got := s.updateError(1, pairs); got < 1e-3 {
			t.Errorf("error of an update %g, below the distance", got)
		}
	}
}
