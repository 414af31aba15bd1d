package pairs_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

func tupleSpec() pairs.Spec {
	return pairs.Spec{
		Individuals: 30, Dim: 3, Bound: 1, Rows: 2, Loss: embedding.Triplet{Margin: 1}, Tuple: 5, Seed: 1,
		Batch: 2, Epochs: 3, Clip: 0.05, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5},
	}
}

// allPairsSpec is the other form.
func allPairsSpec() pairs.Spec {
	s := tupleSpec()
	s.Loss, s.AllPairs, s.Tuple, s.Seed, s.Batch = embedding.Contrastive{Margin: 1}, true, 0, 0, 0
	return s
}

func tuplePlan(t testing.TB, s pairs.Spec) *pairs.Plan {
	t.Helper()
	return must.Get(s.Plan())(t)
}

// people are records with classes.
type people struct {
	x       []float64
	classes []int32
}

func (p people) clone() people { return people{slices.Clone(p.x), slices.Clone(p.classes)} }

func (p people) data(t testing.TB, s pairs.Spec) *embedding.Data {
	t.Helper()
	g := must.Get(pairgraph.New(s.Individuals, nil))(t)
	return must.Get(embedding.NewData(slices.Clone(p.x), s.Dim, s.Norm(), s.Bound, g, nil))(t)
}

func randomPeople(s pairs.Spec, seed uint64) people {
	r := rand.New(rand.NewPCG(seed, 7))
	p := people{make([]float64, s.Individuals*s.Dim), make([]int32, s.Individuals)}
	for i := range p.classes {
		p.classes[i] = int32(r.IntN(2))
		for k := range s.Dim {
			p.x[i*s.Dim+k] = 0.3 * r.NormFloat64()
		}
		p.x[i*s.Dim] += 0.8 * (float64(p.classes[i]) - 0.5)
	}
	return p
}

// builder makes the sums of a plan over records; nil means the plan's own.
type builder func(t testing.TB, p *pairs.Plan, who people) pairs.BatchSum

func own(t testing.TB, p *pairs.Plan, who people) pairs.BatchSum {
	t.Helper()
	return must.Get(p.Sums(who.data(t, p.Spec), who.classes))(t)
}

// tupleMove is the joint norm by which all queries of p move between a and b, both
// having the past of a.
func tupleMove(t testing.TB, p *pairs.Plan, a, b people, build builder) float64 {
	t.Helper()
	return moved(t, p, func(side int, s privacy.Session) ([]float64, error) {
		return p.Descend(build(t, p, [2]people{a, b}[side]), s)
	})
}

// tupleVariants are all forms of a training.
func tupleVariants() map[string]pairs.Spec {
	out := map[string]pairs.Spec{}
	for _, loss := range []embedding.TupleLoss{embedding.Triplet{Margin: 1}, embedding.NPair{Temperature: 0.2}, embedding.Contrastive{Margin: 1}} {
		for name, change := range map[string]func(*pairs.Spec){
			"Gaussian": func(*pairs.Spec) {},
			"K-norm":   func(s *pairs.Spec) { s.Budget.Delta = 0 },
			"Laplace":  func(s *pairs.Spec) { s.Budget.Delta, s.Noise = 0, privacy.LaplaceNoise },
		} {
			s := tupleSpec()
			s.Loss = loss
			change(&s)
			out[loss.Name()+", "+name] = s
		}
	}
	out["all pairs, Gaussian"] = allPairsSpec()
	pure := allPairsSpec()
	pure.Budget.Delta = 0
	out["all pairs, K-norm"] = pure
	return out
}

// everyRecord replaces each individual, features and class, and returns the largest share of the certificate by which all releases move together.
func everyRecord(t *testing.T, name string, p *pairs.Plan, r *rand.Rand) (closest float64) {
	t.Helper()
	base := randomPeople(p.Spec, 1)
	for v := range p.Spec.Individuals {
		other := base.clone()
		other.classes[v] = int32(r.IntN(3))
		for k := range p.Spec.Dim {
			other.x[v*p.Spec.Dim+k] = 4 * r.NormFloat64()
		}
		closest = max(closest, tupleMove(t, p, base, other, own)/p.Certificate().Sensitivity())
	}
	if !(closest <= 1) {
		t.Fatalf("%s: an individual moves the releases by %v of the certificate", name, closest)
	}
	return closest
}

// Replacing one individual moves all releases together by no more than the certificate, in every variant.
func TestReplacingARecordStaysWithinTheTupleCertificate(t *testing.T) {
	for name, s := range tupleVariants() {
		must.AtLeast(t, everyRecord(t, name, tuplePlan(t, s), rand.New(rand.NewPCG(5, 5))), 0.2, "%s: the certificate is never used by more than", name)
	}
}

// All tuples of three records on a line, of ten possible records each, and all
// neighbours of them: the tuple's term moves by at most twice the clip, and by 0.9 of
// that somewhere.
func TestAllSmallTuplesAndTheirNeighbours(t *testing.T) {
	const clip, places = 0.05, 5
	at := func(k int) (x float64, class int32) { return float64(k%places)/2 - 1, int32(k / places) }
	for _, loss := range []embedding.TupleLoss{embedding.Triplet{Margin: 4}, embedding.NPair{Temperature: 2}, embedding.Contrastive{Margin: 3}} {
		s := pairs.Spec{Individuals: 3, Dim: 1, Bound: 1, Loss: loss, Tuple: 3, Epochs: 1, Clip: clip, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5}}
		p := tuplePlan(t, s)
		records := make([]int, 2*places)
		for k := range records {
			records[k] = k
		}
		largest := attack.Exhaust(records, 3, func(set []int) []float64 {
			who := people{make([]float64, 3), make([]int32, 3)}
			for i, k := range set {
				who.x[i], who.classes[i] = at(k)
			}
			q := []float64{0}
			must.Do(t, own(t, p, who)(context.Background(), q, []float64{1}, 0, members(t, s, 0), clip))
			return []float64{q[0] / clip}
		}, func(a, b []float64) float64 { return math.Abs(a[0] - b[0]) })
		if c := p.Certificate().Sensitivity(); largest > c || largest < 0.9*c {
			t.Errorf("%s: neighbours differ by up to %v, certified %v", loss.Name(), largest, c)
		}
	}
}

func TestTuplePlansRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*pairs.Spec)
		says   string
	}{
		"no loss":               {func(s *pairs.Spec) { s.Loss = nil }, "loss"},
		"tuples of one":         {func(s *pairs.Spec) { s.Tuple = 1 }, "size of a tuple is 1"},
		"too few individuals":   {func(s *pairs.Spec) { s.Individuals = 4 }, "size of a tuple is 5"},
		"printed":               {func(s *pairs.Spec) { s.Mode = algorithms.Paper }, "certified"},
		"no epsilon":            {func(s *pairs.Spec) { s.Budget = privacy.Budget{} }, "psilon"},
		"no margin":             {func(s *pairs.Spec) { s.Loss = embedding.Triplet{} }, "margin"},
		"temperature":           {func(s *pairs.Spec) { s.Loss = embedding.NPair{Temperature: math.NaN()} }, "temperature"},
		"clip":                  {func(s *pairs.Spec) { s.Clip = -1 }, "clip"},
		"bound":                 {func(s *pairs.Spec) { s.Bound = 0 }, "norm bound"},
		"batch":                 {func(s *pairs.Spec) { s.Batch = -1 }, "a batch has"},
		"all pairs of triplets": {func(s *pairs.Spec) { *s = allPairsSpec(); s.Loss = embedding.Triplet{Margin: 1} }, "contrastive"},
		"all pairs and tuples":  {func(s *pairs.Spec) { *s = allPairsSpec(); s.Tuple = 3 }, "one batch"},
		"all pairs, Laplace":    {func(s *pairs.Spec) { *s = allPairsSpec(); s.Budget.Delta, s.Noise = 0, privacy.LaplaceNoise }, "K-norm"},
		"too many for pairs":    {func(s *pairs.Spec) { *s = allPairsSpec(); s.Individuals = 1 << 17 }, "65536"},
	} {
		s := tupleSpec()
		c.change(&s)
		must.Fail(s.Plan())(t, must.All{pairs.ErrPlan, c.says}, name)
	}
}

// The noise follows the formula: an epoch of one batch has the sensitivity 2/tuples,
// whatever the number of batches costs more, and all pairs 4/n.
func TestTupleNoise(t *testing.T) {
	s := tupleSpec()
	s.Batch = 0
	p := tuplePlan(t, s)
	want := math.Sqrt(3) * 2 / 6
	if c := p.Certificate(); p.Batches != 1 || math.Abs(c.ExactSensitivity()/want-1) > 1e-12 || c.RoundoffShare() > 1e-9 || c.Releases() != 3 {
		t.Errorf("%d batches with sensitivity %v, want %v", p.Batches, c.ExactSensitivity(), want)
	}
	q := tuplePlan(t, allPairsSpec())
	if want := math.Sqrt(3) * 4 / 30; math.Abs(q.Certificate().ExactSensitivity()/want-1) > 1e-12 {
		t.Errorf("all pairs have sensitivity %v, want %v", q.Certificate().ExactSensitivity(), want)
	}
	if g := p.Guarantee; g.Epsilon > 1 || g.Epsilon < 0.999 || g.Unit != "one record" {
		t.Errorf("guarantee %+v", g)
	}
}

// A run is charged once, has the same bits for any number of workers, and lowers the
// loss on data of two classes; refused runs are not charged.
func TestTupleRuns(t *testing.T) {
	for name, s := range map[string]pairs.Spec{"tuples": tupleSpec(), "all pairs": allPairsSpec()} {
		s.Individuals, s.Epochs, s.Clip, s.StepSize = 400, 10, 0.5, 2
		if !s.AllPairs {
			s.Batch = 0
		}
		s.Budget.Epsilon = 20
		p, who := tuplePlan(t, s), randomPeople(s, 3)
		data := who.data(t, s)
		book := must.Get(ledger.Open(filepath.Join(t.TempDir(), "ledger")))(t)
		must.Fail(pairs.Run(context.Background(), data, who.classes[1:], p, pairs.Options{Options: algorithms.Options{Ledger: book, DataID: "d"}}))(t, pairs.ErrPlan, fmt.Sprintf("%s: a class was missing", name))
		must.Fail(pairs.Run(context.Background(), data, who.classes, p, pairs.Options{Options: algorithms.Options{Ledger: book, DataID: "d"}, Engine: embedding.CPU{}}))(t, pairs.ErrPlan, "another engine was accepted for tuples")
		must.Err(pairs.Run(context.Background(), data, who.classes, p, pairs.Options{Options: algorithms.Options{DataID: "d"}}))(t, "%s: a private run without a ledger", name)
		if entries, _ := book.Entries(); len(entries) != 0 {
			t.Fatalf("%s: a refused run was charged", name)
		}
		var w []float64
		for _, workers := range []int{1, 3} {
			r := must.Get(pairs.Run(context.Background(), data, who.classes, p, pairs.Options{Options: algorithms.Options{Ledger: book, DataID: "d", Source: privacy.NewSeededSource(4)}, Workers: workers}))(t)
			if w != nil && !slices.Equal(w, r.Weights) {
				t.Errorf("%s: the result depends on workers", name)
			}
			w = r.Weights
		}
		if entries, _ := book.Entries(); len(entries) != 4 { // begun and finished
			t.Errorf("%s: 2 runs are %d entries", name, len(entries))
		}
		objective := func(w []float64) float64 {
			sums := must.Get(embedding.NewTuples(data, who.classes, s.Loss.(embedding.TupleLoss), s.Rows, 8, 1))(t)
			m := must.Get(embedding.DrawTuples(s.Individuals, 8, 99, 0))(t)
			return sums.Objective(w, m)
		}
		start := make([]float64, len(w))
		privacy.NewSeededSource(4).UniformBall(start, math.Sqrt(float64(s.Rows)))
		s.Mode = algorithms.NonPrivate
		exact := must.Get(pairs.Run(context.Background(), data, who.classes, tuplePlan(t, s), pairs.Options{Options: algorithms.Options{Public: true, Source: privacy.NewSeededSource(4)}}))(t)
		if before, private, without := objective(start), objective(w), objective(exact.Weights); !(private < before && without < before) {
			t.Errorf("%s: the loss is %v at the start, %v after private and %v after exact training", name, before, private, without)
		}
	}
}

// The report names what a reader needs.
func TestTupleReports(t *testing.T) {
	for _, c := range []struct {
		spec pairs.Spec
		want []string
	}{
		{tupleSpec(), []string{"tuples, certified mode", "6 tuples of 5 records per epoch", "triplet with margin 1", "one record", "docs/theory.md#tuples"}},
		{allPairsSpec(), []string{"all-pairs, certified mode", fmt.Sprintf("all %d of 30", 30*29/2), "kappa = 29"}},
	} {
		text := tuplePlan(t, c.spec).Report().Text()
		must.Contain(t, text, c.want...)
	}
}
