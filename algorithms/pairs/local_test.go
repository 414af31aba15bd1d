package pairs_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/ledger"
)

func input() pairs.Spec {
	s := certified()
	s.Method, s.ByClass = pairs.Input, true
	return s
}

// classesOf are classes of individuals whose comparison gives the labels.
func classesOf(g *pairgraph.Graph, classes []int32) []bool {
	labels := make([]bool, len(g.Pairs()))
	for i, e := range g.Pairs() {
		labels[i] = classes[e.A] != classes[e.B]
	}
	return labels
}

// Input and Labels spend what they claim and no more: features with the diameter 2 R,
// labels once for an individual or once for each of its kappa pairs.
func TestLocalPlansSpendTheBudget(t *testing.T) {
	byPair := input()
	byPair.ByClass = false
	share := input()
	share.LabelShare = 0.25
	labels := certified()
	labels.Method, labels.Unit = pairs.Labels, pairs.Group
	onePair := certified()
	onePair.Method, onePair.Unit, onePair.Kappa = pairs.Labels, pairs.OnePair, 1
	for name, c := range map[string]struct {
		s        pairs.Spec
		features float64
		flips    int
		kind     privacy.Kind
	}{
		"classes":  {input(), 0.5, 1, privacy.LocalDP},
		"by pair":  {byPair, 0.5, 5, privacy.LocalDP},
		"share":    {share, 0.75, 1, privacy.LocalDP},
		"labels":   {labels, 0, 5, privacy.LabelLDP},
		"one pair": {onePair, 0, 1, privacy.LabelLDP},
	} {
		p := planOf(t, c.s)
		spent, flips := 0.0, 0
		for i, e := range p.Events() {
			count := 1
			if r, ok := e.(account.RepeatedEvent); ok {
				e, count = r.Event, r.Count
			}
			pure := e.(account.PureEvent)
			spent += float64(count) * pure.Epsilon
			if i == 0 && c.features > 0 && math.Abs(pure.Epsilon-c.features) > 1e-9 {
				t.Errorf("%s: features cost %v, want %v", name, pure.Epsilon, c.features)
			}
			flips = count
		}
		if !(spent <= 1 && spent > 1-1e-9) || flips != c.flips || p.Guarantee.Epsilon != 1 || p.Guarantee.Kind != c.kind {
			t.Errorf("%s: events %v spend %v, guarantee %v", name, p.Events(), spent, p.Guarantee)
		}
	}
	for says, change := range map[string]func(*pairs.Spec){
		"delta 0":         func(s *pairs.Spec) { s.Budget.Delta = 1e-5 },
		"unit individual": func(s *pairs.Spec) { s.Unit = pairs.Group },
		"certified mode":  func(s *pairs.Spec) { s.Mode = algorithms.Paper },
		"label share":     func(s *pairs.Spec) { s.LabelShare = 1 },
		"method":          func(s *pairs.Spec) { s.Method = 9 },
	} {
		s := input()
		change(&s)
		must.Fail(s.Plan())(t, must.All{pairs.ErrPlan, says})
	}
}

// A run of either method charges once and depends on features only through their
// perturbed form: a run at a huge epsilon learns, one at a small epsilon does not.
func TestLocalRuns(t *testing.T) {
	objective := func(method pairs.Method, epsilon float64) float64 {
		s := pairs.Spec{
			Individuals: 600, Pairs: 1200, Dim: 4, Bound: 1, Loss: embedding.Contrastive{Margin: 1}, Rows: 2, Method: method, ByClass: method == pairs.Input,
			Kappa: 8, Batch: 100, Epochs: 6, Budget: privacy.Budget{Epsilon: epsilon},
		}
		x, g, _ := dataFor(t, s, 3)
		classes := make([]int32, s.Individuals) // of the first feature: what the pairs are about, up to noise
		for v := range classes {
			if x[v*s.Dim] > 0.3 {
				classes[v] = 1
			}
		}
		labels := classesOf(g, classes)
		data := newData(t, s, x, g, labels)
		book := must.Get(ledger.Open(filepath.Join(t.TempDir(), "ledger")))(t)
		p := planOf(t, s)
		o := pairs.Options{Options: algorithms.Options{Ledger: book, DataID: "d", Source: privacy.NewSeededSource(1)}}
		r := must.Get(pairs.Run(context.Background(), data, classes, p, o))(t)
		if entries, err := book.Entries(); err != nil || len(entries) != 2 || entries[0].Charge == nil || entries[0].Charge.Algorithm != "pairs-"+method.String() {
			t.Fatalf("ledger: %v %v", entries, err)
		}
		if method == pairs.Input {
			must.Fail(pairs.Run(context.Background(), data, nil, p, o))(t, pairs.ErrPlan, "a plan by class was run without classes")
			classes[0] = 1 - classes[0]
			must.Fail(pairs.Run(context.Background(), data, classes, p, o))(t, pairs.ErrPlan, "classes that do not give the labels were accepted")
		}
		return meanLoss(data, r.Weights)
	}
	for _, m := range []pairs.Method{pairs.Input, pairs.Labels} {
		if good, bad := objective(m, 45), objective(m, 0.1); !(good < 0.9*bad) {
			t.Errorf("%v: objective %v at epsilon 45, %v at 0.1", m, good, bad)
		}
	}
}
