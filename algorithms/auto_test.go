package algorithms_test

import (
	"fmt"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// noMoments is a backend like a GPU's: it sums no moments.
type noMoments struct{ engine.Backend }

func (noMoments) PlanMoments(engine.Problem) (engine.Kernel, error) {
	return nil, engine.ErrUnsupported
}

func question(t *testing.T, n, d int, change func(*engine.Problem, *privacy.Budget,
	*engine.Backend)) algorithms.Question {
	t.Helper()
	p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 0.1}
	b, backend := privacy.Budget{Epsilon: 1, Delta: 1e-5}, engine.Backend(cpu.Backend{})
	if change != nil {
		change(&p, &b, &backend)
	}
	s := must.Get(algorithms.NewSpec(backend, p, 0, b, algorithms.Certified))(t)
	return algorithms.Question{Spec: s}
}

func named(t *testing.T, name string) engine.Loss {
	t.Helper()
	l, ok := engine.LibraryByName(name)
	if !ok {
		t.Fatal(name)
	}
	e := must.Get(l.Expression(engine.ExpressionOptions{}))(t)
	return engine.Score{Of: e}
}

// The choice is by public numbers, each with its reason, and its plan is that of the chosen
// algorithm under the budget asked for.
func TestChoose(t *testing.T) {
	zero, ridge := 0.0, 0.1
	with := func(q algorithms.Question, change func(*algorithms.Question)) algorithms.Question {
		change(&q)
		return q
	}
	lossNamed := func(loss engine.Loss) algorithms.Question {
		q := question(t, 500, 8, func(p *engine.Problem, _ *privacy.Budget, _ *engine.Backend) { p.Loss = loss })
		q.LossNamed = true
		return q
	}
	for name, c := range map[string]struct {
		q         algorithms.Question
		algorithm string
		reason    string
	}{
		"small": {question(t, 500, 8, nil), "moments", "at most 128"},
		"large": {question(t, 50000, 8, nil), "moments", "above 128, so moments with two logistic steps are best"},
		"large, ridge": {with(question(t, 50000, 8, nil), func(q *algorithms.Question) { q.L2 = &ridge }),
			"moments", "no L2 term"},
		"square":          {lossNamed(named(t, "square")), "moments", "minimise it over all pairs"},
		"logistic, named": {lossNamed(engine.Logistic{}), "moments-descent", "the given loss, logistic"},
		"hinge, named":    {lossNamed(named(t, "hinge")), "moments-descent", "the given loss, hinge"},
		"pure": {question(t, 500, 8, func(_ *engine.Problem, b *privacy.Budget, _ *engine.Backend) {
			b.Delta = 0
		}), "moments", "no loss"},
		"groups": {question(t, 500, 8, func(p *engine.Problem, _ *privacy.Budget, _ *engine.Backend) {
			p.Groups = []int{200, 300}
		}), "moments", "one release of moments"},
		"groups, a loss": {with(question(t, 500, 8, func(p *engine.Problem, _ *privacy.Budget, _ *engine.Backend) {
			p.Groups = []int{200, 300}
		}), func(q *algorithms.Question) { q.LossNamed = true }), "dpgdsc", "query groups"},
		"grades": {question(t, 500, 8, func(p *engine.Problem, _ *privacy.Budget, _ *engine.Backend) {
			p.LabelValues = engine.AnyLabels
		}), "dpgdsc", "labels are graded"},
		"persons, a loss": {with(question(t, 500, 8, func(p *engine.Problem, _ *privacy.Budget, _ *engine.Backend) {
			p.PersonRows = 3
		}), func(q *algorithms.Question) { q.LossNamed = true }), "moments-descent", "the given loss, logistic"},
		"device": {question(t, 500, 8, func(_ *engine.Problem, _ *privacy.Budget, b *engine.Backend) {
			*b = noMoments{*b}
		}), "dpgdsc", "this device"},
		"device, no L2 term": {with(question(t, 500, 8, func(_ *engine.Problem, _ *privacy.Budget, b *engine.Backend) {
			*b = noMoments{*b}
		}), func(q *algorithms.Question) { q.L2 = &zero }), "dpgdc", "this device"},
		"device, a kink": {question(t, 500, 8, func(p *engine.Problem, _ *privacy.Budget, b *engine.Backend) {
			*b, p.Loss, p.Radius = noMoments{*b}, named(t, "hinge"), 1
		}), "gradient-perturbation", "this device"},
		"metric": {question(t, 500, 8, func(p *engine.Problem, _ *privacy.Budget, _ *engine.Backend) {
			p.Loss = engine.MahalanobisLogistic{}
		}), "moment-metric", "no loss was given"},
		"metric with a loss": {with(question(t, 500, 8, func(p *engine.Problem, _ *privacy.Budget, _ *engine.Backend) {
			p.Loss = engine.MahalanobisLogistic{}
		}), func(q *algorithms.Question) { q.LossNamed = true }), "dpgdsc", "moments of a metric minimise no loss"},
		"metric, pure": {question(t, 500, 8, func(p *engine.Problem, b *privacy.Budget, _ *engine.Backend) {
			p.Loss, b.Delta = engine.MahalanobisLogistic{}, 0
		}), "dpgdsc", "delta > 0"},
		"persons": {question(t, 500, 8, func(p *engine.Problem, _ *privacy.Budget, _ *engine.Backend) {
			p.PersonRows = 5
		}), "moments", "at most 128"},
		"paper": {with(question(t, 500, 8, nil), func(q *algorithms.Question) { q.Spec.Mode = algorithms.Paper }), "dpgdsc",
			""},
		"not private": {with(question(t, 500, 8, nil), func(q *algorithms.Question) {
			q.Spec.Mode = algorithms.NonPrivate
		}), "projected-gradient", ""},
	} {
		choice := algorithms.Choose(c.q)
		if got := choice.Algorithm.Info().Name; got != c.algorithm || !strings.Contains(choice.Reason, c.reason) ||
			(c.reason == "") != (choice.Reason == "") {
			t.Errorf("%s: %s because %q, want %s because %q", name, got, choice.Reason, c.algorithm, c.reason)
		}
		p, err := choice.Plan(c.q.Spec)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if steps := map[bool]int{true: 2}[name == "large"]; p.Moments() != nil && p.Moments().Steps != steps {
			t.Errorf("%s: %d steps, want %d", name, p.Moments().Steps, steps)
		}
		report := p.Report()
		if says := strings.Contains(report.Text(), "chosen by auto: "+choice.Reason); says != (c.reason != "") ||
			report.Word("choice") != choice.Reason || report.Word("algorithm") != c.algorithm {
			t.Errorf("%s: the report has the choice: %v\n%s", name, says, report.Text())
		}
		if e := p.Guarantee.Epsilon; c.q.Spec.Mode == algorithms.Certified && !(e <= c.q.Spec.Budget.Epsilon) {
			t.Errorf("%s: epsilon %v", name, e)
		}
	}
}

// A choice takes at most 100 gradients, also where the rule of the algorithm asks for more.
func TestChoiceTakesFewGradients(t *testing.T) {
	for _, loss := range []engine.Loss{engine.Logistic{}, named(t, "hinge")} {
		q := question(t, 100_000, 8, func(p *engine.Problem, _ *privacy.Budget, b *engine.Backend) {
			*b, p.Loss, p.Radius = noMoments{*b}, loss, 5
		})
		must.Equal(t, must.Get(algorithms.Choose(q).Plan(q.Spec))(t).Schedule.Steps, 100, "%s: steps", loss.Name())
	}
}

// A warning names n and epsilon that are enough, and are not more than needed.
func TestWarningsNameWhatIsEnough(t *testing.T) {
	for _, name := range []string{"moments", "dpgdsc"} {
		for _, delta := range []float64{1e-5, 0} {
			d := 8
			warned := func(n int, epsilon float64) string {
				q := question(t, n, d, func(_ *engine.Problem, b *privacy.Budget, _ *engine.Backend) {
					*b = privacy.Budget{Epsilon: epsilon, Delta: delta}
				})
				a := must.Get(algorithms.ByName(name))(t)
				p := must.Get(algorithms.Choice{Algorithm: a, L2: a.Info().DefaultL2}.Plan(q.Spec))(t)
				return strings.Join(p.Warnings(), "\n")
			}
			text := warned(60, 0.1)
			var n int
			var epsilon float64
			from := strings.Index(text, "use n = ")
			must.Get(fmt.Sscanf(text[max(0, from):], "use n = %d, or epsilon = %g", &n, &epsilon))(t,
				fmt.Sprintf("%s, delta %v: %q", name, delta, text))
			if a, b := warned(n, 0.1), warned(60, epsilon); a != "" || b != "" {
				t.Errorf("%s, delta %v: n = %d and epsilon = %v are warned about: %q, %q", name, delta, n, epsilon, a, b)
			}
			if a, b := warned(n*8/10, 0.1), warned(60, epsilon*0.8); a == "" || b == "" {
				t.Errorf("%s, delta %v: n = %d or epsilon = %v are more than needed", name, delta, n, epsilon)
			}
			must.Contain(t, warned(60, 20), "epsilon = 20 protects little")
			d = 2 // few records and coordinates: n has one digit, and two digits of it are a fraction
			for few := 3; few < 30; few++ {
				text := warned(few, 4)
				if from := strings.Index(text, "use n = "); from >= 0 {
					must.Get(fmt.Sscanf(text[from:], "use n = %d", &n))(t, text)
					must.Equal(t, warned(n, 4), "", "with n = %d, which %d records are told to be enough", n, few)
				}
			}
		}
	}
}

// A warning knows that the default delta falls with n.
func TestWarningsWithTheDefaultDelta(t *testing.T) {
	warned := func(n int) string {
		q := question(t, n, 5000, func(_ *engine.Problem, b *privacy.Budget, _ *engine.Backend) {
			*b = privacy.Budget{Epsilon: 0.01, Delta: privacy.DefaultDelta(n)}
		})
		p := must.Get(algorithms.Choose(q).Plan(q.Spec))(t)
		return strings.Join(p.Warnings(), "\n")
	}
	text := warned(5000)
	var n int
	must.Get(fmt.Sscanf(text[max(0, strings.Index(text, "use n = ")):], "use n = %d", &n))(t, text)
	must.Equal(t, warned(n), "", "a warning about n = %d", n)
	if warned(n*9/10) == "" {
		t.Errorf("n = %d is more than needed", n)
	}
}

// Every algorithm has an estimated time, which grows with the records.
func TestEveryPlanHasAnEstimatedTime(t *testing.T) {
	seconds := func(a algorithms.Algorithm, n int) float64 {
		q := question(t, n, 8, func(p *engine.Problem, _ *privacy.Budget, _ *engine.Backend) {
			if a.Info().MetricsOnly {
				p.Loss = engine.MahalanobisLogistic{}
			}
		})
		q.Spec.Mode = a.Info().Modes[0]
		p := must.Get(algorithms.Choice{Algorithm: a, L2: a.Info().DefaultL2}.Plan(q.Spec))(t, a.Info().Name)
		return p.Seconds()
	}
	for _, a := range algorithms.Catalog() {
		if small, large := seconds(a, 1000), seconds(a, 4000); !(small > 0 && large > 1.5*small) {
			t.Errorf("%s: %v s for 1,000 records, %v s for 4,000", a.Info().Name, small, large)
		}
	}
	for seconds, want := range map[float64]string{0.2: "less than a second", 100: "about 100 seconds",
		600: "about 10 minutes", 7 * 86400: "about 7 days"} {
		must.Equal(t, algorithms.Duration(seconds), want, "%v s", seconds)
	}
}
