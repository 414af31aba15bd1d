package pairs_test

import (
	"slices"
	"testing"

	"dyad/algorithms/pairs"
	"dyad/engine/pairgraph"
	"dyad/privacy"
)

// attackTuples runs p, of a 1 x 1 matrix, on two neighbours and bounds epsilon from below
// by the sum of the released steps.
func attackTuples(t *testing.T, p *pairs.TuplePlan, sides [2]people, runs int) float64 {
	t.Helper()
	var scores [2][]float64
	for side, who := range sides {
		sum := own(t, p, who)
		for i := range runs {
			session, err := privacy.NewPublicSession(privacy.NewSeededSource(uint64(2*i+side+1)), p.Events)
			if err != nil {
				t.Fatal(err)
			}
			seen := &adder{watcher: watcher{Session: session}}
			if _, err := p.Descend(sum, seen); err != nil {
				t.Fatal(err)
			}
			scores[side] = append(scores[side], seen.total)
		}
	}
	return lowerBound(scores, p.Spec.Budget.Delta)
}

// adder adds up what is released.
type adder struct {
	watcher
	total float64
}

func (a *adder) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	err := a.watcher.Release(x, c, m)
	a.total += x[0]
	return err
}

// Black-box lower bounds stay below the claim for every kind of loss and noise, and come
// near it; noise for more than the claimed epsilon is caught.
func TestAuditOfTuples(t *testing.T) {
	runs := 8_000
	if testing.Short() {
		runs = 1_000
	}
	for name, c := range worstCases(1, 1) {
		s := c.spec
		s.Epochs, s.Budget.Epsilon = 2, 1
		if s.Budget.Delta > 0 {
			s.Budget.Delta = 1e-3
		}
		bound := attackTuples(t, tuplePlan(t, s), [2]people{c.a, c.b}, runs)
		t.Logf("%s: epsilon is at least %.3f of 1", name, bound)
		if bound > 1 {
			t.Errorf("%s: epsilon is at least %v, the claim is 1", name, bound)
		}
		if !testing.Short() && bound < 0.15 {
			t.Errorf("%s: the attack has no power: %v", name, bound)
		}
	}
	if testing.Short() {
		return
	}
	c := worstCases(1, 1)["contrastive"]
	c.spec.Budget, c.spec.Epochs = privacy.Budget{Epsilon: 6, Delta: 1e-3}, 2
	if bound := attackTuples(t, tuplePlan(t, c.spec), [2]people{c.a, c.b}, 4*runs); bound <= 3 {
		t.Errorf("noise of epsilon 6 passes for 3: %v", bound)
	}
	// An individual outside of the tuples of the epoch changes nothing.
	s := c.spec
	s.Individuals, s.Epochs, s.Loss = s.Individuals+1, 1, pairgraph.MeanContrastive{Margin: 1}
	base := randomPeople(s, 1)
	other := base.clone()
	drawn := members(t, s, 0)
	for v := range s.Individuals {
		if !slices.Contains(drawn, int32(v)) {
			other.classes[v], other.x[v*s.Dim] = 1-other.classes[v], -other.x[v*s.Dim]
		}
	}
	if j := tupleMove(t, tuplePlan(t, s), base, other, own); j != 0 {
		t.Errorf("an individual in no tuple moves the releases by %v", j)
	}
}
