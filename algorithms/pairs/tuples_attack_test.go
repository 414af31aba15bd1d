package pairs_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms/audit"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/internal/must"
	"dyad/privacy"
)

// reversing are the neighbours of the audits, of which the last record changes.
func reversing(s pairs.Spec, classes ...int32) (a, b people) {
	from, to := audit.Reversing(s, s.Individuals-1, classes...)
	return people{from.X, from.Classes}, people{to.X, to.Classes}
}

// worstCases are specs with neighbours that attain their certificates. A fourth record
// of class 0 gives the triplet and N-pair losses more pushes than pulls.
func worstCases(rows, dim int) map[string]struct {
	spec pairs.Spec
	a, b people
} {
	out := map[string]struct {
		spec pairs.Spec
		a, b people
	}{}
	add := func(name string, s pairs.Spec, classes ...int32) {
		s.Rows, s.Dim, s.Epochs, s.Clip = rows, dim, 3, 1e-7
		a, b := reversing(s, classes...)
		out[name] = struct {
			spec pairs.Spec
			a, b people
		}{s, a, b}
	}
	one := tupleSpec()
	one.Individuals, one.Tuple, one.Batch = 6, 6, 1
	one.Loss = embedding.Triplet{Margin: 1e6}
	add("triplet", one, 0, 0, 0, 0, 1)
	one.Loss = embedding.NPair{Temperature: 1e3}
	add("npair", one, 0, 0, 0, 0, 1)
	many := tupleSpec()
	many.Individuals, many.Tuple, many.Batch, many.Loss = 12, 3, 4, embedding.Contrastive{Margin: 1e6}
	add("contrastive", many, 0)
	many.Budget.Delta = 0
	add("contrastive, K-norm", many, 0)
	many.Noise = privacy.LaplaceNoise
	add("contrastive, Laplace", many, 0)
	all := allPairsSpec()
	all.Individuals, all.Loss = 9, embedding.Contrastive{Margin: 1e6}
	add("all pairs", all, 0)
	return out
}

// Opposite clipped gradients attain the certificate.
func TestTheTupleCertificateIsAttained(t *testing.T) {
	for name, c := range worstCases(2, 3) {
		p := tuplePlan(t, c.spec)
		j, certified := tupleMove(t, p, c.a, c.b, own), p.Certificate().Sensitivity()
		must.Within(t, j, 0.99*certified, certified, "%s: the worst case moves the releases", name)
	}
}

// members draws the tuples of an epoch as the plan does.
func members(t testing.TB, s pairs.Spec, epoch int) []int32 {
	t.Helper()
	return must.Get(embedding.DrawTuples(s.Individuals, s.Tuple, s.Seed, epoch))(t)
}

// tupleDefects are sums with a known defect: clipping every pair of a tuple instead of the
// tuple, an individual in two tuples of an epoch, a clip that is too large, tuples that
// depend on classes. An epoch is one batch.
func tupleDefects(t testing.TB) map[string]builder {
	over := func(drawn func(s pairs.Spec, who people, epoch int) []int32, scale float64) builder {
		return func(t testing.TB, p *pairs.Plan, who people) pairs.BatchSum {
			sums := must.Get(embedding.NewTuples(who.data(t, p.Spec), who.classes, p.Spec.Loss.(embedding.TupleLoss), p.Spec.Rows, p.Spec.Tuple, 1))(t)
			return func(ctx context.Context, dst, w []float64, step int, _ []int32, clip float64) error {
				return sums.Sum(ctx, dst, w, drawn(p.Spec, who, step), clip*scale)
			}
		}
	}
	byPairs := func(t testing.TB, p *pairs.Plan, who people) pairs.BatchSum {
		return func(ctx context.Context, dst, w []float64, step int, _ []int32, clip float64) error {
			m := members(t, p.Spec, step)
			var list []pairgraph.Pair
			var labels []bool
			for from := 0; from < len(m); from += p.Spec.Tuple {
				for i, a := range m[from : from+p.Spec.Tuple] {
					for _, b := range m[from : from+i] {
						list, labels = append(list, pairgraph.Pair{A: a, B: b}), append(labels, who.classes[a] != who.classes[b])
					}
				}
			}
			g, err := pairgraph.New(p.Spec.Individuals, list)
			if err != nil {
				return err
			}
			data, err := embedding.NewData(slices.Clone(who.x), p.Spec.Dim, p.Spec.Norm(), 1, g, labels)
			if err != nil {
				return err
			}
			sums, err := embedding.NewGradients(data, embedding.Contrastive{Margin: 1e6}, p.Spec.Rows, 1)
			if err != nil {
				return err
			}
			all := make([]int32, len(list))
			for i := range all {
				all[i] = int32(i)
			}
			return sums.Sum(ctx, dst, w, all, clip, embedding.WholeMatrix)
		}
	}
	twice := func(s pairs.Spec, _ people, epoch int) []int32 {
		m := members(t, s, epoch)
		last := int32(s.Individuals - 1)
		place := slices.Index(m, last)
		m[(place+s.Tuple)%len(m)] = last // a place in the next tuple
		return m
	}
	byClass := func(s pairs.Spec, who people, epoch int) []int32 {
		m := members(t, s, epoch)
		slices.SortStableFunc(m, func(a, b int32) int { return int(who.classes[a] - who.classes[b]) })
		return m
	}
	return map[string]builder{
		"pairs are clipped, not tuples":  byPairs,
		"an individual is in two tuples": over(twice, 1),
		"a clip twice as large":          over(func(s pairs.Spec, _ people, e int) []int32 { return members(t, s, e) }, 2),
		byClasses:                        over(byClass, 1),
	}
}

// byClasses names the defect that needs another pair of neighbours.
const byClasses = "tuples are drawn by class"

// Known defects move the releases by more than the certificate; so do all pairs counted as
// if an individual were in one of them.
func TestTupleDefectsAreCaught(t *testing.T) {
	contrastive := worstCases(2, 3)["contrastive"]
	defects := tupleDefects(t)
	defects["the control: the plan's own sums"] = own
	for name, build := range defects {
		if name == byClasses {
			continue
		}
		p := tuplePlan(t, contrastive.spec)
		j, certified := tupleMove(t, p, contrastive.a, contrastive.b, build), p.Certificate().Sensitivity()
		if caught := j > 1.5*certified; caught == strings.HasPrefix(name, "the control") {
			t.Errorf("%s: the releases move by %v, certified %v", name, j, certified)
		}
	}
	// Tuples drawn by class: others change places with the one who is replaced.
	s := contrastive.spec
	p := tuplePlan(t, s)
	r := rand.New(rand.NewPCG(2, 2))
	worst := 0.0
	for range 50 {
		a := randomPeople(s, r.Uint64())
		b := a.clone()
		b.classes[0] = 1 - b.classes[0]
		worst = max(worst, tupleMove(t, p, a, b, defects[byClasses]))
	}
	must.Above(t, worst, p.Certificate().Sensitivity(), "tuples that depend on classes move the releases by")
	all := worstCases(2, 3)["all pairs"]
	wrong := privacy.PairGroup{Group: 1, Batch: 36, Batches: 1, Epochs: all.spec.Epochs}
	c := must.Get(wrong.Certify())(t)
	if j := tupleMove(t, tuplePlan(t, all.spec), all.a, all.b, own); j <= c.Sensitivity() {
		t.Errorf("all pairs move the releases by %v: a certificate %v for one pair is not caught", j, c.Sensitivity())
	}
}
