package pairs_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// small is a training on few tuples with a clip that every gradient exceeds.
func small(loss embedding.TupleLoss) pairs.Spec {
	return pairs.Spec{
		Individuals: 12, Dim: 2, Bound: 1, Rows: 1, Loss: loss, Tuple: 6, Seed: 1, Epochs: 2, Clip: 1e-4, StepSize: 1e-9,
		Budget: privacy.Budget{Epsilon: 1, Delta: 1e-3},
	}
}

func attackTuples(t *testing.T, p *pairs.Plan, runs int) *audit.Report {
	t.Helper()
	target := must.Get(audit.WorstTuples(context.Background(), p))(t)
	return run(t, target, runs)
}

// No bound exceeds the claim for any loss and noise, and the data sets are as bad as it
// allows.
func TestAuditOfTuples(t *testing.T) {
	pure := small(embedding.Contrastive{Margin: 1})
	pure.Budget.Delta = 0
	l1 := pure
	l1.Noise = privacy.LaplaceNoise
	batches := small(embedding.Contrastive{Margin: 1})
	batches.Individuals, batches.Tuple, batches.Batch, batches.Epochs = 16, 4, 2, 3
	all := small(embedding.Contrastive{Margin: 1})
	all.AllPairs, all.Tuple, all.Seed = true, 0, 0
	pureAll := all
	pureAll.Budget.Delta = 0
	one := func(loss embedding.TupleLoss) pairs.Spec { // in others the drawing of tuples mixes classes
		s := small(loss)
		s.Individuals = s.Tuple
		return s
	}
	network := func(loss embedding.TupleLoss) pairs.Spec {
		s, n := one(loss), networkSpec(t, embedding.Output{Unit: true}, 3)
		s.Dim, s.Rows, s.Network = 3, 0, n.Network
		return s
	}
	for name, s := range map[string]pairs.Spec{
		"network": network(embedding.Contrastive{Margin: 1}), "network, triplet": network(embedding.Triplet{Margin: 1}), "network, npair": network(embedding.NPair{Temperature: 1}),
		"contrastive": small(embedding.Contrastive{Margin: 1}), "triplet": one(embedding.Triplet{Margin: 1}), "npair": one(embedding.NPair{Temperature: 1}),
		"K-norm": pure, "Laplace": l1, "batches": batches, "all pairs": all, "all pairs, K-norm": pureAll,
	} {
		t.Run(name, func(t *testing.T) {
			r := attackTuples(t, tuplePlan(t, s), sizes.Of(3_500, 6_000))
			must.AtLeast(t, r.Move, 0.99, "the exact vectors move %v of the certificate, want almost all of it", r.Move)
			holds(t, r)
		})
	}
	// An individual outside of the tuples of the epoch changes nothing.
	s := worstCases(1, 1)["contrastive"].spec
	s.Individuals, s.Epochs, s.Loss = s.Individuals+1, 1, embedding.Contrastive{Margin: 1}
	base := randomPeople(s, 1)
	other := base.clone()
	drawn := members(t, s, 0)
	for v := range s.Individuals {
		if !slices.Contains(drawn, int32(v)) {
			other.classes[v], other.x[v*s.Dim] = 1-other.classes[v], -other.x[v*s.Dim]
		}
	}
	must.Equal(t, tupleMove(t, tuplePlan(t, s), base, other, own), 0, "an individual in no tuple moves the releases")
}

// broken is the attack on p with sums that have a defect.
func broken(t *testing.T, p *pairs.Plan, a, b people, build builder) audit.Target {
	t.Helper()
	target := must.Get(audit.OnTuples(p, audit.TupleSide{X: a.x, Classes: a.classes}, audit.TupleSide{X: b.x, Classes: b.classes}, nil))(t)
	target.Program.Train = func(_ context.Context, neighbour bool, s privacy.Session) ([]float64, error) {
		who := a
		if neighbour {
			who = b
		}
		return p.Descend(build(t, p, who), s)
	}
	return target
}

// Seeded defects are refuted by the runs, not only by the certificate.
func TestSeededDefectsOfTuplesAreCaught(t *testing.T) {
	caught := func(name string, target audit.Target, runs int) {
		t.Helper()
		r := run(t, target, runs)
		if r.Holds() || !testing.Short() && !r.Refuted() {
			t.Errorf("%s: not caught: moves %v of the certificate, %+v for epsilon %v", name, r.Move, r.Bounds, r.Epsilon)
		}
	}
	c := worstCases(1, 2)["contrastive"]
	c.spec.Budget.Delta = 1e-3
	p := tuplePlan(t, c.spec)
	if r := run(t, broken(t, p, c.a, c.b, own), 6_000); !r.Holds() {
		t.Errorf("the plan's own sums: %+v", r.Bounds)
	}
	for name, build := range tupleDefects(t) {
		a, b := c.a, c.b
		if name == byClasses { // others change places with the one who is replaced
			largest := -1.0
			random := rand.New(rand.NewPCG(2, 2))
			for range 50 {
				u := randomPeople(c.spec, random.Uint64())
				v := u.clone()
				v.classes[0] = 1 - v.classes[0]
				moved := must.Get(broken(t, p, u, v, build).Move(context.Background()))(t)
				if moved > largest {
					largest, a, b = moved, u, v
				}
			}
		}
		caught(name, broken(t, p, a, b, build), 6_000)
	}
	// All pairs counted as if an individual were in one of them, or in half of them.
	all := worstCases(1, 2)["all pairs"]
	all.spec.Budget.Delta = 1e-3
	sound := tuplePlan(t, all.spec)
	n := all.spec.Individuals
	for name, group := range map[string]int{"all pairs as one": 1, "all pairs as n/2": n / 2} {
		c := must.Get(privacy.PairGroup{Group: group, Batch: n * (n - 1) / 2, Batches: 1, Epochs: all.spec.Epochs}.Certify())(t)
		bad := *sound
		noise := must.Get(privacy.CalibrateGaussian(c, all.spec.Budget, 1))(t)
		bad.Releases = algorithms.Releases{{Certificate: c, Noise: noise, Share: 1}}
		caught(name, broken(t, &bad, all.a, all.b, own), 6_000)
	}
	// Noise of epsilon 6 that is claimed as 3.
	strong := small(embedding.Contrastive{Margin: 1})
	strong.Budget.Epsilon = 6
	target := must.Get(audit.WorstTuples(context.Background(), tuplePlan(t, strong)))(t)
	target.Program.Guarantee.Epsilon = 3
	caught("noise of epsilon 6 for 3", target, 6_000)
}

// The worst neighbours that an audit finds spend most of the certificate for every loss of tuples, also for those that need a positive and a
// negative: a certificate of .8 of what it should be is refuted.
func TestWorstTuplesSpendTheirCertificate(t *testing.T) {
	for _, loss := range []embedding.TupleLoss{embedding.Contrastive{Margin: 1}, embedding.Triplet{Margin: 1}, embedding.NPair{Temperature: 1}} {
		for _, tuple := range []int{3, 4, 6} {
			s := small(loss) // one tuple: in others the drawing mixes classes
			s.Individuals, s.Tuple = tuple, tuple
			p := must.Get(s.Plan())(t)
			target := must.Get(audit.WorstTuples(t.Context(), p))(t)
			move, err := target.Move(t.Context())
			if err != nil || move < 0.8 || move > 1+1e-9 {
				t.Errorf("%s, tuples of %d: the exact vectors move %v of the certificate (%v), by %s", loss.Name(), tuple, move, err, target.Instance)
			}
		}
	}
}
