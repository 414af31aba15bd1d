package pairs

import (
	"math"
	"testing"

	"dyad/algorithms/audit"
	"dyad/engine/pairgraph"
	"dyad/privacy"
)

// Black box: two individuals joined by a pair, one of them replaced in features and
// label. The bound stays below the claim; a
// plan that spends twice as much is caught.
func TestAuditOfPerturbedInputs(t *testing.T) {
	const runs = 40_000
	g, err := pairgraph.New(2, []pairgraph.Pair{{A: 0, B: 1}})
	if err != nil {
		t.Fatal(err)
	}
	attack := func(m Method, epsilon float64) float64 {
		unit := Individual
		if m == Labels {
			unit = OnePair
		}
		p, err := Spec{
			Individuals: 2, Pairs: 1, Dim: 2, Bound: 1, Loss: pairgraph.Contrastive{Margin: 1}, Method: m, ByClass: true,
			Unit: unit, Kappa: 1, Budget: privacy.Budget{Epsilon: epsilon},
		}.Plan()
		if err != nil {
			t.Fatal(err)
		}
		source := privacy.NewSeededSource(5)
		var n [2]int
		for side, x := range []float64{1, -1} {
			classes := []bool{side == 1, false}
			data, err := pairgraph.NewData([]float64{x, 0, 0, 0}, 2, p.Spec.Norm(), 1, g, []bool{side == 1})
			if err != nil {
				t.Fatal(err)
			}
			for range runs {
				out, err := p.perturb(data, classes, source)
				if err != nil {
					t.Fatal(err)
				}
				if !out.Label(0) && (m == Labels || out.Row(0)[0] > 0) {
					n[side]++
				}
			}
		}
		return audit.ClopperPearson(audit.Event{Likely: n[0], LikelyRuns: runs, Rare: n[1], RareRuns: runs}, 0, 1e-6)
	}
	for _, m := range []Method{Input, Labels} {
		for _, c := range []struct{ claim, spends float64 }{{1, 1}, {1, 2}} {
			bound := attack(m, c.spends)
			t.Logf("%v: epsilon is at least %.3f of %v", m, bound, c.claim)
			if honest := c.spends == c.claim; honest != (bound <= c.claim) || honest && bound < 0.4*c.claim || math.IsNaN(bound) {
				t.Errorf("%v spending %v: epsilon is at least %v of %v", m, c.spends, bound, c.claim)
			}
		}
	}
}
