package algorithms_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/ledger"
)

func newSpec(t *testing.T, n, d int, radius, l2 float64, b privacy.Budget, m algorithms.Mode) algorithms.Spec {
	t.Helper()
	return newSpecOf(t, engine.Logistic{}, n, d, radius, l2, b, m)
}

func newSpecOf(t *testing.T, loss engine.Loss, n, d int, radius, l2 float64, b privacy.Budget, m algorithms.Mode) algorithms.Spec {
	t.Helper()
	return must.Get(algorithms.NewSpec(cpu.Backend{}, engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: loss, Radius: radius}, l2, b, m))(t)
}

// sigma returns the standard deviation of a plan's Gaussian noise, or 0 for other noise.
func sigma(p *algorithms.Plan) float64 {
	g, _ := p.Noise().(privacy.Gaussian)
	return g.Sigma
}

// epsilonByQuadrature re-derives epsilon at delta from the released events alone,
// by a second path: for Gaussian releases the two output laws are, on the line of
// the difference, N(0, 1) and N(m, 1) with m^2 the sum of the squared ratios; delta
// is the integral of max(0, q - e^epsilon p), taken numerically; epsilon by
// bisection. It shares no function with the calibration.
func epsilonByQuadrature(t *testing.T, events []account.Event, delta float64) float64 {
	t.Helper()
	ratio := func(e account.Event) float64 {
		if c, ok := e.(account.ConvergentEvent); ok {
			return hiddenRatio(c)
		}
		count := 1
		if r, ok := e.(account.RepeatedEvent); ok {
			e, count = r.Event, r.Count
		}
		g, ok := e.(account.GaussianEvent)
		if !ok {
			t.Fatalf("event %v has no second path", e)
		}
		return float64(count) * g.Sensitivity * g.Sensitivity / (g.Sigma * g.Sigma)
	}
	var square float64
	for _, e := range events {
		parallel, ok := e.(account.ParallelEvent)
		if !ok {
			square += ratio(e)
			continue
		}
		worst := 0.0 // the replaced record is in one part
		for _, part := range parallel.Parts {
			worst = max(worst, ratio(part))
		}
		square += worst
	}
	m := math.Sqrt(square)
	density := func(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }
	deltaOf := func(epsilon float64) float64 {
		from := epsilon/m + m/2 // where q = e^epsilon p
		const steps = 20000
		h := 14.0 / steps // beyond, the integrand is below 1e-40
		var sum float64
		for i := 0; i <= steps; i++ {
			x := from + float64(i)*h
			weight := 2 + 2*float64(i%2)
			if i == 0 || i == steps {
				weight = 1
			}
			sum += weight * (density(x-m) - math.Exp(epsilon)*density(x))
		}
		return sum * h / 3
	}
	lo, hi := 0.0, 1.0
	for deltaOf(hi) > delta {
		hi *= 2
	}
	for range 80 {
		if mid := (lo + hi) / 2; deltaOf(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// hiddenRatio is mu^2 of hidden steps: the smallest sum of squares of shifts a_t that
// bring two states together, starting at any step at any distance. Among shifts in
// proportion to c^-t, c for c < 1 and equal ones for c = 1, the last k of them.
func hiddenRatio(e account.ConvergentEvent) float64 {
	best := math.Inf(1)
	for k := 1; k <= e.Steps; k++ {
		apart := e.Diameter
		if k == e.Steps {
			apart = 0 // the same start
		}
		weight, squares := 1.0, 0.0
		for range k {
			apart = e.Contraction*apart + e.Gap
			squares += weight * weight
			weight *= e.Contraction
		}
		best = min(best, apart*apart/squares)
	}
	return best / (e.Sigma * e.Sigma)
}

// Plans that draw batches have a second path of their own in TestBatchesBySecondPath of
// the privacy package.
func TestEpsilonBySecondPath(t *testing.T) {
	sizes.NotShort(t, "arithmetic on one goroutine")
	for i, a := range algorithms.Catalog() {
		info := a.Info()
		if !info.Supports(algorithms.Certified) {
			continue
		}
		budgets := []privacy.Budget{{Epsilon: 1, Delta: 1e-5}, {Epsilon: 0.1, Delta: 1e-7}, {Epsilon: 4, Delta: 1.0 / 512}}
		if !sizes.Full() {
			budgets = budgets[i%3:][:1]
		}
		for _, b := range budgets {
			l2 := 0.0
			if info.NeedsL2 {
				l2 = 0.001
			}
			p := must.Get(a.Plan(newSpecOf(t, attack.Loss(info), 512, 8, 0.1, l2, b, algorithms.Certified)))(t)
			if batch, _ := p.Certificate().Batch(); batch > 0 {
				must.Within(t, p.Guarantee.Epsilon, 0.999*b.Epsilon, b.Epsilon, "%s: epsilon ... of a budget", info.Name)
				continue
			}
			got := epsilonByQuadrature(t, p.Events(), b.Delta)
			if math.Abs(got-p.Guarantee.Epsilon) > 1e-5*got || p.Guarantee.Epsilon > b.Epsilon {
				t.Errorf("%s (%g, %g): the plan says epsilon %.9g, quadrature %.9g", info.Name, b.Epsilon, b.Delta, p.Guarantee.Epsilon, got)
			}
		}
	}
}

// The positive control of the second path: noise a quarter too small.
func TestSecondPathCatchesTooLittleNoise(t *testing.T) {
	p := must.Get(algorithms.DPGDSC{}.Plan(newSpec(t, 512, 8, 0.1, 0.001, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified)))(t)
	e := p.Events()[0].(account.GaussianEvent)
	e.Sigma *= 0.75
	if got := epsilonByQuadrature(t, []account.Event{e}, 1e-5); got < 1.2 {
		t.Errorf("noise of 3/4 gives epsilon %.6g by quadrature; it should be well above 1", got)
	}
}

// The table of docs/theory.md#offpair: G = L = 4, ||C|| = 2, epsilon = 1, delta = 1/n.
func TestTableOfPaperAndEqualisingNoise(t *testing.T) {
	constants := func(s algorithms.Spec, dg float64) algorithms.Spec {
		s.Constants = engine.Constants{Lipschitz: 4, Smoothness: 4, PairDiameter: dg, Convex: true, Origin: engine.Asserted}
		return s
	}
	three := func(got, want float64) bool { return math.Abs(got-want) <= 0.01*want } // the table has two or three digits
	for _, row := range []struct {
		n                 int
		alpha, paper      float64
		dg8, dg4, descent float64
		paperTakesSteps   int
	}{
		{64, 1e-3, 6156, .433, .216, 3.46, 0},
		{64, 0.1, 61.6, .433, .216, 2.16, 0},
		{256, 1e-2, 235, .136, .0679, 4.35, 0},
		{1024, 0.1, 8.19, .0403, .0202, .202, 0},
		{1024, 1, .819, .0403, .0202, .0202, 768},
		{65536, 0.1, .258, 8.9e-4, 4.4e-4, 4.4e-3, 39936},
	} {
		b := privacy.Budget{Epsilon: 1, Delta: 1 / float64(row.n)}
		paper := constants(newSpec(t, row.n, 8, 1, row.alpha, b, algorithms.Paper), 4)
		p, err := algorithms.OffPairStrC{}.Plan(paper)
		if row.paperTakesSteps == 0 {
			var refused float64
			if errors.Is(err, algorithms.ErrAssumption) {
				_, after, _ := strings.Cut(err.Error(), "sigma = ")
				fmt.Sscanf(after, "%g", &refused)
			}
			if !three(refused, row.paper) {
				t.Errorf("n=%d alpha=%g: paper mode says %v, want a refusal with sigma = %.3g", row.n, row.alpha, err, row.paper)
			}
		} else if err != nil {
			t.Errorf("n=%d alpha=%g: %v", row.n, row.alpha, err)
		} else if p.Schedule.Steps != row.paperTakesSteps || !three(sigma(p), row.paper) || !p.Guarantee.Claim.Holds {
			t.Errorf("n=%d alpha=%g: paper mode takes %d steps with sigma %.6g (claim holds: %v), want %d, %.3g, true", row.n, row.alpha, p.Schedule.Steps, sigma(p), p.Guarantee.Claim.Holds, row.paperTakesSteps, row.paper)
		}
		for dg, want := range map[float64]float64{8: row.dg8, 4: row.dg4} {
			linear := must.Get(algorithms.OffPairC{TotalStep: 1}.Plan(constants(newSpec(t, row.n, 8, 1, 0, b, algorithms.Certified), dg)))(t)
			if !three(sigma(linear), want) {
				t.Errorf("n=%d Dg=%g: equalising sigma %.6g, want %.3g", row.n, dg, sigma(linear), want)
			}
		}
		long := must.Get(algorithms.DPGDSC{Steps: int(40 / row.alpha), StepSize: 0.24}.Plan(constants(newSpec(t, row.n, 8, 1, row.alpha, b, algorithms.Certified), 4)))(t)
		if !three(sigma(long), row.descent) {
			t.Errorf("n=%d alpha=%g: long descent sigma %.6g, want %.3g", row.n, row.alpha, sigma(long), row.descent)
		}
	}
}

func TestPaperModeRefusesWithReasonAndNumbers(t *testing.T) {
	b := privacy.Budget{Epsilon: 1, Delta: 1.0 / 512}
	_, err := algorithms.OffPairStrC{}.Plan(newSpec(t, 512, 8, 1, 1e-3, b, algorithms.Paper))
	for _, want := range []string{"T1", "of n = 512", "sigma =", "n >= 256000001", "alpha above 0.7"} {
		if err == nil || !errors.Is(err, algorithms.ErrAssumption) || !strings.Contains(err.Error(), want) {
			t.Errorf("offpairstrc: error %v, want one with %q", err, want)
		}
	}
	for _, n := range []int{512, 1 << 20} { // alpha = 1/sqrt(n): never
		_, err = algorithms.OffPairC{}.Plan(newSpec(t, n, 8, 1, 0, b, algorithms.Paper))
		if err == nil || !strings.Contains(err.Error(), "no n works") {
			t.Errorf("offpairc, n = %d: error %v, want one that says that no n works", n, err)
		}
	}
	// The remedies in the message are true.
	s := newSpec(t, 512, 8, 1, 0.71, b, algorithms.Paper)
	must.Check((algorithms.OffPairStrC{}).Plan(s))(t, "offpairstrc with the alpha of the message")
	must.Check((algorithms.OffPairC{PaperAlpha: 16/(math.Sqrt(511)-4) + 1e-9}).Plan(newSpec(t, 512, 8, 1, 0, b, algorithms.Paper)))(t, "offpairc with the alpha of the message")
	must.Fail((algorithms.DPGDSC{StepSize: 0.6}).Plan(newSpec(t, 512, 8, 1, 1e-3, b, algorithms.Paper)))(t, algorithms.ErrAssumption, "dpgdsc with too large a step")
	must.Fail((algorithms.DPGDSC{}).Plan(newSpec(t, 512, 8, 1, 0, b, algorithms.Certified)))(t, algorithms.ErrAssumption, "dpgdsc without strong convexity")
}

// A private run needs a ledger, is charged once, and its guarantee says what the
// run adds.
func TestRunChargesFirst(t *testing.T) {
	book := must.Get(ledger.Open(filepath.Join(t.TempDir(), "ledger.jsonl")))(t)
	b := privacy.Budget{Epsilon: 1, Delta: 1e-5}
	data := attack.RandomRecords(100, 3, engine.UnitBounds(), 1)
	a := algorithms.DPGDSC{}
	p := must.Get(a.Plan(newSpec(t, 100, 3, 0.2, 0.01, b, algorithms.Certified)))(t)
	must.Err(algorithms.Run(context.Background(), data, a, p, algorithms.Options{}))(t, "a private run without a ledger was allowed")
	small := attack.RandomRecords(99, 3, engine.UnitBounds(), 1)
	must.Err(algorithms.Run(context.Background(), small, a, p, algorithms.Options{Ledger: book, DataID: "x"}))(t, "records of another shape were allowed")
	runs := func() int {
		s := must.Get(book.Summary("x", 1e-5))(t)
		return s.Runs
	}
	if got := runs(); got != 0 {
		t.Fatalf("refused runs were charged: %d", got)
	}
	res := must.Get(algorithms.Run(context.Background(), data, a, p, algorithms.Options{Ledger: book, DataID: "x", Source: privacy.NewSeededSource(1)}))(t)
	if runs() != 1 || len(res.Weights) != 3 {
		t.Errorf("%d runs charged, %d weights; want 1 and 3", runs(), len(res.Weights))
	}
	must.Contain(t, strings.Join(res.Guarantee.Warnings, " "), "noise is not secret")
	// Cancelled after the charge: an error, and the charge stands.
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	must.Fail(algorithms.Run(cancelled, data, a, p, algorithms.Options{Ledger: book, DataID: "x"}))(t, context.Canceled, "a cancelled run returned")
	must.Equal(t, runs(), 2, "runs charged")
	// A cap refuses before anything is computed.
	must.Do(t, book.SetCap("x", privacy.Budget{Epsilon: 1.5, Delta: 1e-5}))
	must.Fail(algorithms.Run(context.Background(), data, a, p, algorithms.Options{Ledger: book, DataID: "x"}))(t, ledger.ErrBudget, "a run above the cap returned")
	must.Equal(t, runs(), 2, "a refused run was charged")
}

// With tiny noise the private algorithms approach the non-private optimum of the
// same objective; the class means of a separable sample are found.
func TestPrivateAlgorithmsLearn(t *testing.T) {
	const n, d = 400, 4
	data := attack.RandomRecords(n, d, engine.UnitBounds(), 3)
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range n {
		data.Row(i, x[i*d:(i+1)*d])
		y[i] = math.Copysign(1, x[i*d]+0.3*x[i*d+1])
	}
	data = must.Get(engine.NewRecords(x, y, d, engine.UnitBounds()))(t)
	b := privacy.Budget{Epsilon: 1e4, Delta: 1e-5}
	for _, a := range []algorithms.Algorithm{algorithms.DPGDSC{TotalStep: 20}, algorithms.OffPairStrC{TotalStep: 20}, algorithms.OffPairC{TotalStep: 20}} {
		l2 := 0.0
		if a.Info().NeedsL2 {
			l2 = 0.001
		}
		p := must.Get(a.Plan(newSpec(t, n, d, 1, l2, b, algorithms.Certified)))(t)
		res := must.Get(algorithms.Run(context.Background(), data, a, p, algorithms.Options{Public: true}))(t)
		w := res.Weights
		cosine := (w[0] + 0.3*w[1]) / (math.Hypot(1, 0.3) * math.Sqrt(w[0]*w[0]+w[1]*w[1]+w[2]*w[2]+w[3]*w[3]))
		must.AtLeast(t, cosine, 0.97, "%s: the angle to the true direction has cosine", a.Info().Name)
	}
}
