package algorithms_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/ledger"
)

// pureEpsilonBySecondPath is the epsilon of one release by the theorem of its
// noise and the certificate, without events and accountants.
func pureEpsilonBySecondPath(t *testing.T, p *algorithms.Plan) float64 {
	t.Helper()
	if p.Moments() != nil { // several releases, each with noise of its own
		sum := 0.0
		for _, r := range p.Releases {
			sum += r.Certificate.Sensitivity() / r.Noise.(privacy.KNorm).Scale
		}
		return sum
	}
	switch m := p.Noise().(type) {
	case privacy.KNorm:
		return p.Certificate().Sensitivity() / m.Scale
	case privacy.Laplace:
		return math.Sqrt(float64(m.Coordinates)) * p.Certificate().Sensitivity() / m.Scale
	}
	t.Fatalf("%T is no pure noise", p.Noise())
	return 0
}

// Every algorithm with delta = 0, in every mode that it offers: the kind of the
// guarantee, its epsilon, and the same certificate and schedule rules as ever.
func TestPurePlans(t *testing.T) {
	b := privacy.Budget{Epsilon: 0.8}
	seen := 0
	for _, a := range algorithms.Catalog() {
		info := a.Info()
		for _, m := range info.Modes {
			l2 := 0.0
			if info.NeedsL2 {
				l2 = 0.01
			}
			if m == algorithms.NonPrivate {
				continue
			}
			s := newSpecOf(t, attack.Loss(info), 512, 8, 0.1, l2, b, m)
			p, err := a.Plan(s)
			if !slices.Contains(info.PureModes, m) {
				if !errors.Is(err, algorithms.ErrAssumption) || !strings.Contains(err.Error(), "delta > 0") {
					t.Errorf("%s, %s: delta = 0 gives %v, want a refusal", info.Name, m, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			seen++
			g := p.Guarantee
			if g.Kind != privacy.PureDP || g.Delta != 0 || g.Mu != 0 || !strings.Contains(g.String(), "delta = 0") {
				t.Errorf("%s, %s: %+v", info.Name, m, g)
			}
			if want := pureEpsilonBySecondPath(t, p); g.Epsilon < want || g.Epsilon > want*(1+1e-14) {
				t.Errorf("%s, %s: epsilon %v, want %v", info.Name, m, g.Epsilon, want)
			}
			if m == algorithms.Certified && (g.Epsilon > b.Epsilon || g.Epsilon < b.Epsilon*(1-1e-12) || p.Noise().Name() != "K-norm") {
				t.Errorf("%s: epsilon %v of a budget of %v with %v", info.Name, g.Epsilon, b.Epsilon, p.Noise())
			}
			r := p.Report()
			if r.Value("sigma") != nil || !(r.Number("scale") > 0) || !strings.Contains(r.Text(), r.Word("noise")) || !strings.Contains(r.Text(), "pure") {
				t.Errorf("%s, %s: report %+v", info.Name, m, r)
			}
			want := p.Noise().NoiseNorm(8) / 0.1
			if p.ModelNoise > 0 { // of several releases
				want = p.ModelNoise / 0.1
			}
			must.Equal(t, r.Number("noise_to_radius"), want, "%s, %s: noise to radius", info.Name, m)
		}
	}
	must.AtLeast(t, seen, 4, "only %d pure plans", seen)
}

// [Xue21] Algorithm 1, line 5, and what its noise provably gives.
func TestPaperLaplaceClaim(t *testing.T) {
	const n, d, alpha, epsilon = 256, 5, 0.01, 0.5
	s := newSpec(t, n, d, 1, alpha, privacy.Budget{Epsilon: epsilon}, algorithms.Paper)
	p := must.Get(algorithms.DPGDSC{}.Plan(s))(t)
	m, ok := p.Noise().(privacy.Laplace)
	want := 8 * s.Constants.Lipschitz * math.Sqrt(d) / (alpha * n * epsilon)
	if !ok || math.Abs(m.Scale/want-1) > 1e-14 || m.Coordinates != d {
		t.Fatalf("noise %+v, want Laplace of scale %v for %d coordinates", p.Noise(), want, d)
	}
	c := p.Guarantee.Claim
	if c == nil || !c.Holds || c.Epsilon != epsilon || c.Delta != 0 || c.Scale != m.Scale || c.Sigma != 0 {
		t.Errorf("claim %+v", c)
	}
	if got := math.Sqrt(d) * p.Certificate().Sensitivity() / m.Scale; math.Abs(p.Guarantee.Epsilon/got-1) > 1e-13 || p.Guarantee.Epsilon > epsilon/2 {
		t.Errorf("the paper's noise gives %v, want %v: at least twice too much noise", p.Guarantee.Epsilon, got)
	}
	must.Contain(t, p.Guarantee.Report(), "Laplace scale")
	// A claim that does not hold is seen: a thousandth of the paper's noise.
	must.Do(t, algorithms.Relabel(p, privacy.Laplace{Scale: m.Scale / 1000, Coordinates: d}))
	if p.Guarantee.Claim.Holds || p.Guarantee.Epsilon <= epsilon || !strings.Contains(p.Guarantee.Report(), "NOT MET") {
		t.Errorf("too little noise: epsilon %v, claim %+v", p.Guarantee.Epsilon, p.Guarantee.Claim)
	}
	// Constants that no loss has are refused.
	s.Constants.PairDiameter = 8 * s.Constants.Lipschitz
	must.Fail((algorithms.DPGDSC{}).Plan(s))(t, "exceeds 2 G", "Dg = 8 G")
}

// The public rules take K-norm noise by its root mean square: with the mu of a
// Gaussian budget of equal noise per coordinate they give the same radius.
func TestPublicRulesForPureBudgets(t *testing.T) {
	const d = 8
	for _, epsilon := range []float64{0.1, 1, 4} {
		mu := epsilon / math.Sqrt(d+1)
		delta := account.GDPDelta(epsilon, mu)
		pure := algorithms.DefaultRadius("dpgdsc", 400, d, privacy.Budget{Epsilon: epsilon}, algorithms.Certified, engine.Logistic{})
		gauss := algorithms.DefaultRadius("dpgdsc", 400, d, privacy.Budget{Epsilon: epsilon, Delta: delta}, algorithms.Certified, engine.Logistic{})
		must.Near(t, pure/gauss, 1, 1e-6, "epsilon %v: radius %v for pure noise, %v for the same Gaussian noise",
			epsilon, pure, gauss)
		path := func(b privacy.Budget) float64 {
			p := must.Get(algorithms.OffPairC{}.Plan(newSpec(t, 400, d, 0.1, 0, b, algorithms.Certified)))(t)
			return p.Schedule.TotalStep
		}
		if a, b := path(privacy.Budget{Epsilon: epsilon}), path(privacy.Budget{Epsilon: epsilon, Delta: delta}); math.Abs(a/b-1) > 1e-6 {
			t.Errorf("epsilon %v: path %v for pure noise, %v for the same Gaussian noise", epsilon, a, b)
		}
	}
	small := algorithms.DefaultRadius("dpgdsc", 400, d, privacy.Budget{Epsilon: 0.1}, algorithms.Certified, engine.Logistic{})
	large := algorithms.DefaultRadius("dpgdsc", 400, d, privacy.Budget{Epsilon: 4}, algorithms.Certified, engine.Logistic{})
	must.Below(t, small, large, "radius %v at epsilon 0.1 and %v at epsilon 4: the rule does not see the budget", small, large)
}

// A pure run is charged as such.
func TestPureRunIsCharged(t *testing.T) {
	book := must.Get(ledger.Open(filepath.Join(t.TempDir(), "ledger.jsonl")))(t)
	data := attack.RandomRecords(100, 3, engine.UnitBounds(), 1)
	for _, a := range []algorithms.Algorithm{algorithms.DPGDSC{}, algorithms.OffPairStrC{}} {
		p := must.Get(a.Plan(newSpec(t, 100, 3, 0.2, 0.01, privacy.Budget{Epsilon: 0.5}, algorithms.Certified)))(t)
		res, err := algorithms.Run(context.Background(), data, a, p, algorithms.Options{Ledger: book, DataID: "x"})
		if err != nil || len(res.Weights) != 3 {
			t.Fatalf("%v, %v", res, err)
		}
		public, err := algorithms.Run(context.Background(), data, a, p, algorithms.Options{Public: true})
		if err != nil || !strings.Contains(strings.Join(public.Guarantee.Warnings, " "), "On private data this run would be 0.5-") {
			t.Errorf("public run: %v, %v", public, err)
		}
	}
	s, err := book.Summary("x", 1e-5)
	if err != nil || s.Runs != 2 || s.Pure < 1-1e-12 || s.Pure > 1+1e-12 || s.Epsilon > s.Pure {
		t.Errorf("two pure runs of 0.5: %+v, %v", s, err)
	}
}
