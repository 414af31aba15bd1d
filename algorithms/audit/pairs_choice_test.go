package audit_test

import (
	"context"
	"math"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// An audit attacks the row of a choice of pairs with the others, by the training itself: on neighbours that differ in a record whose
// residuals and products are as large as they can be, no score moves by more than its certificate, and one moves by most of it.
func TestAuditOfChosenPairs(t *testing.T) {
	const n, d = 400, 4
	s := must.Get(algorithms.NewSpec(cpu.Backend{Workers: 1}, engine.Problem{
		N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1,
		Candidates: engine.Candidates{Choose: 1, Ratio: 1, Plain: 1, Products: []engine.Product{{A: 0, WidthA: 1, B: 2, WidthB: 1, Scale: 1}, {A: 1, WidthA: 1, B: 3, WidthB: 1, Scale: 1}}},
	}, 0, privacy.Budget{Epsilon: 200, Delta: 1e-5}, algorithms.Certified))(t)
	a := algorithms.Moments{}
	p, err := a.Plan(s)
	if err != nil || p.Moments().Pairs == nil {
		t.Fatal(p.Moments().NoPairs, err)
	}
	most := 0.0
	for _, u := range attack.PairNeighbours(n, d, engine.UnitBounds()) {
		target := audit.Target{Algorithm: a, Plan: p, Data: u.Data, Neighbour: u.Neighbour, Coins: 3}
		move := must.Get(target.Move(context.Background()))(t)
		most = max(most, move)
		must.Within(t, move, 0, 1, "%s moves the releases by ... of what they may", u.Name)
	}
	if most < 0.95 || math.IsNaN(most) {
		t.Errorf("the worst neighbours move by %v of what they may", most)
	}
}
