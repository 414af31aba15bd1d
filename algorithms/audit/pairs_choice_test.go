package audit_test

import (
	"context"
	"math"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/privacy"
)

// An audit attacks the row of a choice of pairs with the others, by the training itself: on neighbours that differ in a record whose
// residuals and products are as large as they can be, no score moves by more than its certificate, and one moves by most of it.
func TestAuditOfChosenPairs(t *testing.T) {
	const n, d = 400, 4
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range n { // labels that the features tell, so that the model is sure
		side := float64(1 - 2*(i%2))
		y[i] = side
		for k := range d {
			x[i*d+k] = 0.5 * side * float64(1-2*(i>>(k+1)&1)*(k%2))
		}
	}
	for i := 2; i <= 8; i += 2 { // and some that it is sure and wrong about, so that a sum of the second product is not near 0
		copy(x[i*d:], []float64{0.5, 0.5, 0.5, 0.5})
		y[i] = -1
	}
	build := func(first []float64, label float64) *engine.Records {
		rows, labels := append([]float64(nil), x...), append([]float64(nil), y...)
		copy(rows, first)
		labels[0] = label
		r, err := engine.NewRecords(rows, labels, d, engine.UnitBounds())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	s, err := algorithms.NewSpec(cpu.Backend{Workers: 1}, engine.Problem{
		N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1,
		Candidates: engine.Candidates{Choose: 1, Ratio: 1, Plain: 1, Products: []engine.Product{{A: 0, WidthA: 1, B: 2, WidthB: 1, Scale: 1}, {A: 1, WidthA: 1, B: 3, WidthB: 1, Scale: 1}}},
	}, 0, privacy.Budget{Epsilon: 200, Delta: 1e-5}, algorithms.Certified)
	if err != nil {
		t.Fatal(err)
	}
	a := algorithms.Moments{}
	p, err := a.Plan(s)
	if err != nil || p.Moments().Pairs == nil {
		t.Fatal(p.Moments().NoPairs, err)
	}
	most := 0.0
	for _, c := range []struct {
		a, b   []float64
		ya, yb float64
	}{
		{[]float64{0.5, 0.5, 0.5, 0.5}, []float64{0.5, 0.5, -0.5, -0.5}, -1, -1},
		{[]float64{0.5, 0.5, 0.5, 0.5}, []float64{0.5, 0.5, 0.5, 0.5}, 1, -1},
		{[]float64{0.5, 0.5, 0.5, 0.5}, []float64{0.5, 0.5, 0.5, -0.5}, -1, -1}, // the product of columns that do not depend on one another
	} {
		target := audit.Target{Algorithm: a, Plan: p, Data: build(c.a, c.ya), Neighbour: build(c.b, c.yb), Coins: 3}
		move, err := target.Move(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, move)
		if !(move <= 1) {
			t.Errorf("%v moves the releases by %v of what they may", c, move)
		}
	}
	if most < 0.95 || math.IsNaN(most) {
		t.Errorf("the worst neighbours move by %v of what they may", most)
	}
}
