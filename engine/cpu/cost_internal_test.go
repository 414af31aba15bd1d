package cpu

import (
	"math"
	"testing"

	"dyad/engine"
)

// loose has larger bounds of its slope off the real line than it needs.
type loose struct{ engine.Logistic }

func (l loose) StripBound(reach, height float64) float64 {
	return l.Logistic.StripBound(reach, height) * math.Exp(20*height)
}

// TestExpressionPlan: the formula of the logistic loss has the plan of the hand-written one,
// whose bounds are sharp. The control has others.
func TestExpressionPlan(t *testing.T) {
	l, _ := engine.LibraryByName("logistic")
	formula, err := l.Expression(engine.ExpressionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plan := func(loss engine.Loss, radius float64) (bins, terms int) {
		k, err := Backend{Method: NearLinear}.Plan(engine.Problem{N: 1_000_000, D: 1, Bounds: engine.UnitBounds(), Loss: loss, Radius: radius})
		if err != nil {
			t.Fatal(err)
		}
		return k.(*kernel).bins, k.(*kernel).terms()
	}
	others := 0
	for _, radius := range []float64{0.25, 0.7, 1, 1.2, 3, 25} {
		bins, terms := plan(engine.Logistic{}, radius)
		if b, p := plan(engine.Score{Of: formula}, radius); b != bins || p != terms {
			t.Errorf("radius %v: %d bins of %d terms, want %d of %d", radius, b, p, bins, terms)
		}
		if b, p := plan(loose{}, radius); b != bins || p != terms {
			others++
		}
	}
	if others == 0 {
		t.Error("loose bounds have the same plans")
	}
}
