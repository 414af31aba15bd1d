package pairs_test

import (
	"context"
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/algorithms/pairs"
	"dyad/engine/pairgraph"
	"dyad/privacy"
)

// victim is a variant under attack: one individual in kappa pairs with everybody else,
// all in one batch, whose labels turn around saturated gradients.
type victim struct {
	spec pairs.Spec
	// plan makes the plan; nil means spec.Plan.
	plan func(pairs.Spec) (*pairs.Plan, error)
	// pairs of the neighbour with turned labels, at most kappa for a true claim.
	turned int
	claim  float64
	delta  float64
}

const victims = 3

func star(unit pairs.Unit, kappa int) pairs.Spec {
	return pairs.Spec{
		Individuals: victims + 1, Pairs: victims, Dim: 2, Bound: 1, Loss: pairgraph.Contrastive{Margin: 1e6}, Rows: 2,
		Unit: unit, Kappa: kappa, Batch: victims, Epochs: 1, Clip: 0.5, Budget: privacy.Budget{Epsilon: 1},
	}
}

// attack runs v on two neighbours and bounds epsilon from below by a threshold of the
// released step in the direction of the gradient, chosen on other runs.
func attack(t *testing.T, v victim, runs int) float64 {
	t.Helper()
	plan := v.plan
	if plan == nil {
		plan = pairs.Spec.Plan
	}
	p, err := plan(v.spec)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]pairgraph.Pair, victims)
	for i := range list {
		list[i] = pairgraph.Pair{A: 0, B: int32(i + 1)}
	}
	g, err := pairgraph.New(victims+1, list)
	if err != nil {
		t.Fatal(err)
	}
	x := []float64{1, 0, -1, 0, -1, 0, -1, 0}
	var scores [2][]float64
	for side := range scores {
		labels := make([]bool, victims)
		for i := range v.turned {
			labels[i] = side == 1
		}
		data := newData(t, v.spec, x, g, labels)
		for i := range runs {
			session, err := privacy.NewPublicSession(privacy.NewSeededSource(uint64(2*i+side+1)), p.Events)
			if err != nil {
				t.Fatal(err)
			}
			seen := &watcher{Session: session}
			if _, err := pairs.Train(context.Background(), data, p, seen, 1, nil); err != nil {
				t.Fatal(err)
			}
			scores[side] = append(scores[side], seen.released[0]+seen.released[2])
		}
	}
	return lowerBound(scores, v.delta)
}

// lowerBound is a lower bound of epsilon from the scores of two neighbours, by a threshold
// that is chosen on the first halves.
func lowerBound(scores [2][]float64, delta float64) float64 {
	runs := len(scores[0])
	half := runs / 2
	sorted := slices.Sorted(slices.Values(scores[0][:half]))
	best := 0.0
	var at float64
	for k := 1; k < 40; k++ { // on the first halves
		cut := sorted[k*half/40]
		if b := audit.ClopperPearson(count(scores, 0, half, cut), delta, 0.01); b > best {
			best, at = b, cut
		}
	}
	return audit.ClopperPearson(count(scores, half, runs, at), delta, 1e-4)
}

// count counts scores at or above a threshold, on the likelier side.
func count(scores [2][]float64, from, to int, cut float64) audit.Event {
	var n [2]int
	for side := range n {
		for _, s := range scores[side][from:to] {
			if s >= cut {
				n[side]++
			}
		}
	}
	m := to - from
	if n[0] < n[1] {
		return audit.Event{Likely: m - n[0], LikelyRuns: m, Rare: m - n[1], RareRuns: m}
	}
	return audit.Event{Likely: n[0], LikelyRuns: m, Rare: n[1], RareRuns: m}
}

// watcher keeps what was released. The start of W is the same in all runs, as an
// adversary who knows it may assume.
type watcher struct {
	privacy.Session
	released []float64
}

func (w *watcher) UniformBall(dst []float64, _ float64) {
	for i := range dst {
		dst[i] = float64(1 - i%2) // W x = x_1 in every row
	}
}

func (w *watcher) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	err := w.Session.Release(x, c, m)
	w.released = slices.Clone(x)
	return err
}

// halved plans for half of the pairs that change: half the sensitivity.
func halved(s pairs.Spec) (*pairs.Plan, error) {
	s.Kappa--
	return s.Plan()
}

// Black-box lower bounds stay below the claim for every variant; the printed algorithm
// breaks its own claim but not what the report says, and a sensitivity that is too small
// is caught.
func TestAuditOfEveryVariant(t *testing.T) {
	runs := 12_000
	if testing.Short() {
		runs = 2_000
	}
	laplace := func(s pairs.Spec) pairs.Spec { s.Noise = privacy.LaplaceNoise; return s }
	gauss := func(s pairs.Spec) pairs.Spec { s.Budget.Delta = 1e-3; return s }
	shrink := func(s pairs.Spec) pairs.Spec { s.Shrink, s.Clip = true, 1e9; return s }
	printed := laplace(star(pairs.Group, 1))
	printed.Mode = algorithms.Paper
	for name, c := range map[string]struct {
		victim
		atLeast float64 // the attack has this power
	}{
		"Laplace, individual": {victim{spec: laplace(star(pairs.Individual, 3)), turned: 3, claim: 1}, 0.2},
		"K-norm, individual":  {victim{spec: star(pairs.Individual, 3), turned: 3, claim: 1}, 0.2},
		"Gauss, individual":   {victim{spec: gauss(star(pairs.Individual, 3)), turned: 3, claim: 1, delta: 1e-3}, 0.2},
		"Laplace, pair":       {victim{spec: laplace(star(pairs.OnePair, 1)), turned: 1, claim: 1}, 0.2},
		"Laplace, group":      {victim{spec: laplace(star(pairs.Group, 2)), turned: 2, claim: 1}, 0.2},
		"shrinking clip":      {victim{spec: shrink(laplace(star(pairs.Group, 2))), turned: 2, claim: 1}, 0},
		"printed":             {victim{spec: printed, turned: 1, claim: 2}, 0.3},
	} {
		t.Run(name, func(t *testing.T) {
			bound := attack(t, c.victim, runs)
			t.Logf("epsilon is at least %.3f of %v", bound, c.claim)
			if bound > c.claim {
				t.Errorf("epsilon is at least %v, the claim is %v", bound, c.claim)
			}
			if !testing.Short() && bound < c.atLeast {
				t.Errorf("the attack has no power: %v", bound)
			}
		})
	}
	// What must be caught.
	strong := star(pairs.Group, 2)
	strong.Budget.Epsilon = 3
	wide := printed
	wide.Rows, wide.Budget.Epsilon = 2, 3
	for name, v := range map[string]victim{
		"half the sensitivity": {spec: laplace(strong), plan: halved, turned: 2, claim: 3},
		"the printed claim":    {spec: wide, turned: 1, claim: 3},
	} {
		bound := attack(t, v, 4*runs)
		t.Logf("%s: epsilon is at least %.3f of %v", name, bound, v.claim)
		if bound <= v.claim && !testing.Short() {
			t.Errorf("%s was not caught: %v of %v", name, bound, v.claim)
		}
	}
}
