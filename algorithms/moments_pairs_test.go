package algorithms_test

import (
	"math"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// pairCandidates are products of 3 of 5 features; k of them are chosen.
func pairCandidates(k int) engine.Candidates {
	return engine.Candidates{Choose: k, Ratio: 0.9, Plain: 1, Products: []engine.Product{
		{A: 0, WidthA: 1, B: 1, WidthB: 1, Scale: 2}, {A: 0, WidthA: 1, B: 2, WidthB: 3, Scale: 3},
		{A: 1, WidthA: 1, B: 2, WidthB: 3, Scale: 1},
	}}
}

func pairsSpec(t *testing.T, n int, c engine.Candidates, b privacy.Budget,
	change func(*engine.Problem)) algorithms.Spec {
	t.Helper()
	problem := engine.Problem{N: n, D: 5, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 0.5, Candidates: c}
	if change != nil {
		change(&problem)
	}
	return must.Get(algorithms.NewSpec(cpu.Backend{}, problem, 0, b, algorithms.Certified))(t)
}

// The rows of a choice spend the budget, all of it, and the row of the choice is k draws of the public epsilon.
func TestPairsSpendTheBudget(t *testing.T) {
	for _, c := range []struct {
		n, k    int
		epsilon float64
	}{{20000, 1, 4}, {20000, 2, 8}, {1 << 22, 1, 0.1}} {
		p := must.Get(algorithms.Moments{Steps: 2}.Plan(pairsSpec(t, c.n, pairCandidates(c.k),
			privacy.Budget{Epsilon: c.epsilon, Delta: 1e-5}, nil)))(t)
		m := p.Moments()
		if m.Pairs == nil {
			t.Fatalf("n = %d, epsilon %v: no choice: %s", c.n, c.epsilon, m.NoPairs)
		}
		row, shares, squares := p.Releases[m.Pairs.Rows], 0.0, 0.0
		if e, ok := row.Cost.(account.BoundedRangeEvent); !ok || e.Epsilon != m.Pairs.Epsilon ||
			privacy.ChoiceEpsilon(e.Epsilon) != e.Epsilon || row.Times != c.k {
			t.Errorf("the choice costs %v, %d times", row.Cost, row.Times)
		}
		for _, r := range p.Releases {
			shares += r.Share * float64(max(1, r.Times))
			if r.Noise != nil {
				ratio := r.Certificate.Sensitivity() / r.Noise.(privacy.Gaussian).Sigma
				squares += ratio * ratio
			}
		}
		squares += float64(c.k) * math.Pow(account.PureGDPMu(m.Pairs.Epsilon/2), 2)
		if whole := account.GDPMu(c.epsilon, 1e-5); math.Abs(shares-1) > 1e-6 || math.Sqrt(squares) > whole*(1+1e-9) ||
			math.Sqrt(squares) < whole*(1-1e-6) {
			t.Errorf("n = %d: shares add up to %v, and the mu is %v of %v", c.n, shares, math.Sqrt(squares), whole)
		}
		must.Within(t, p.Guarantee.Epsilon, c.epsilon*(1-1e-6), c.epsilon, "epsilon")
	}
}

// The certificates of the releases before a choice have the rounding errors of the kernel that sums them, also where it sums sparse records.
func TestPairsBeforeAChoiceOfSparseRecords(t *testing.T) {
	s := pairsSpec(t, 40000, pairCandidates(1), privacy.Budget{Epsilon: 8, Delta: 1e-5},
		func(p *engine.Problem) { p.D, p.NonZerosPerRow = 520, 4 })
	p := must.Get(algorithms.Moments{Second: "full"}.Plan(s))(t)
	m, stated := p.Moments(), 0.0
	for _, r := range p.Releases[:m.Pairs.Rows] {
		if _, numbers := r.Certificate.Statement(); numbers != nil {
			if joint, ok := numbers.(privacy.JointMoments); ok {
				stated = joint.Error
			}
		}
	}
	if e := p.Spec.Kernel.Bounds(engine.Query{Radius: m.Pairs.First.ClipRadius,
		Second: engine.FullSecond}); !(stated >= e.Sum) || e.Sum == 0 {
		t.Errorf("moments before the choice state the error %v, and their kernel has %v", stated, e.Sum)
	}
}

// Where the rule makes no choice the plan has the rows of one without candidates, and says why.
func TestPairsRule(t *testing.T) {
	b := privacy.Budget{Epsilon: 0.5, Delta: 1e-5}
	p := must.Get(algorithms.Moments{}.Plan(pairsSpec(t, 2000, pairCandidates(1), b, nil)))(t)
	plain := must.Get(algorithms.Moments{}.Plan(pairsSpec(t, 2000, engine.Candidates{}, b, nil)))(t)
	if m := p.Moments(); m.Pairs != nil || m.NoPairs == "" || !strings.Contains(p.Report().Text(), m.NoPairs) ||
		len(p.Releases) != len(plain.Releases) || p.Releases[2].Noise != plain.Releases[2].Noise {
		t.Errorf("at epsilon 0.5 the choice is %+v, %q", m.Pairs, m.NoPairs)
	}
}

// What no theorem or kernel covers is refused before anything is charged.
func TestPairsRefuse(t *testing.T) {
	big := privacy.Budget{Epsilon: 4, Delta: 1e-5}
	for want, c := range map[string]struct {
		a      algorithms.Algorithm
		b      privacy.Budget
		n      int
		change func(*engine.Problem)
	}{
		"query groups": {algorithms.Moments{}, big, 20000,
			func(p *engine.Problem) { p.Groups = []int{10000, 10000} }},
		"needs delta > 0": {algorithms.Moments{}, privacy.Budget{Epsilon: 4}, 20000, nil},
		"labels are graded": {algorithms.Moments{}, big, 20000,
			func(p *engine.Problem) { p.LabelValues = engine.AnyLabels }},
		"need second moments":             {algorithms.Moments{Second: "none"}, big, 20000, nil},
		"public centre":                   {algorithms.Moments{Centre: []float64{0}}, big, 20000, nil},
		"1 GiB":                           {algorithms.Moments{}, big, 1 << 26, nil},
		"cannot choose interactions":      {algorithms.DPGDSC{Steps: 3}, big, 20000, nil},
		"; use moments, or name pairs in": {algorithms.MomentsDescent{}, big, 20000, nil},
		"single process on the C":         {algorithms.Moments{}, big, 20000, nil},
	} {
		s := pairsSpec(t, c.n, pairCandidates(1), c.b, c.change)
		if strings.HasPrefix(want, "single process") {
			s.Backend = foreign{s.Backend}
		}
		if c.a.Info().NeedsL2 {
			s.L2 = 0.01
		}
		must.Fail(c.a.Plan(s))(t, must.All{algorithms.ErrAssumption, want})
	}
	p := must.Get(algorithms.Moments{}.Plan(pairsSpec(t, 20000, pairCandidates(1), big, nil)))(t)
	must.FailDo(t, algorithms.CheckTried(algorithms.Moments{}, p), "choose_interactions", "a search tries it")
}

// foreign is a backend whose kernels do not hold records, like a GPU's.
type foreign struct{ engine.Backend }

func (b foreign) PlanMoments(p engine.Problem) (engine.Kernel, error) {
	k, err := b.Backend.PlanMoments(p)
	return struct{ engine.Kernel }{k}, err
}

// A run goes on after the choice with the pairs that were drawn, which its checkpoint has, and with the bits of one run.
func TestPairsResume(t *testing.T) {
	a := algorithms.Moments{Steps: 2, LogOdds: true, Blocks: []int{1, 1, 3}}
	p := must.Get(a.Plan(pairsSpec(t, 41, pairCandidates(2), privacy.Budget{Epsilon: 2000, Delta: 1e-5}, nil)))(t)
	c := p.Moments().Pairs
	if c == nil {
		t.Fatal(p.Moments().NoPairs)
	}
	for save := c.First.Passes + 1; save < p.Schedule.Steps; save++ {
		if broken := newLab(t, a, p).resumeViolations(save, save); len(broken) > 0 {
			t.Errorf("stopped after pass %d of %d: broken promises %q", save, p.Schedule.Steps, broken)
		}
	}
	last := newLab(t, a, p)
	done := last.attempt("", 0, 0)
	if done.err != nil {
		t.Fatal(done.err)
	}
	places, rest := p.Moments().Chosen(done.result.Weights)
	d := 5
	for _, k := range places {
		d += c.Products[k].Width()
	}
	if w, _, odds, noise := a.Parts(rest, d); len(places) != 2 || places[0] == places[1] || len(w) != d ||
		len(odds) != 4+d || len(noise) != 1+1+6+d-5 {
		t.Errorf("places %v, %d weights, %d numbers of log odds and %d of noise", places, len(w), len(odds), len(noise))
	}
	// Stopped before the choice, a run starts again and draws one choice more; the first stays unseen.
	l := newLab(t, a, p)
	first := l.attempt("", c.First.Passes, 0)
	charged := chargedBy(t, first)
	must.Equal(t, charged.Resumable, true, "resumable: %v", first.err)
	if second := l.attempt(charged.Run, 0, 0); second.err != nil || second.from != 0 || len(second.choices) != 2 {
		t.Errorf("resumed at pass %d: %v", second.from, second.err)
	}
}
