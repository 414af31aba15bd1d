package algorithms_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// A run that stops after any of its releases goes on from what was released.
func TestMomentsDescentResume(t *testing.T) {
	for _, delta := range []float64{0, 1e-5} {
		a := algorithms.MomentsDescent{Moments: algorithms.Moments{Second: "full", CentreShare: 0.2}, Steps: 3}
		p := must.Get(a.Plan(newSpec(t, 41, 3, 3, 0.01, privacy.Budget{Epsilon: 50, Delta: delta}, algorithms.Certified)))(t)
		for _, c := range [][2]int{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {4, 1}, {4, 2}, {4, 3}} {
			if broken := newLab(t, a, p).resumeViolations(c[0], c[1]); len(broken) > 0 {
				t.Errorf("delta = %v, stopped after step %d, checkpoint of step %d: broken promises %q", delta, c[0], c[1], broken)
			}
		}
		// The known defects: the checkpoint has another centre, or another iterate, than the run.
		for name, at := range map[string]int{"centre": 1, "iterate": 3} {
			l := newLab(t, a, p)
			l.tracker = func(_ int, t algorithms.Tracker) algorithms.Tracker {
				return changing(t, map[string]int{"centre": 0, "iterate": 2}[name])
			}
			if broken := l.resumeViolations(at, at); !slices.Contains(broken, "releases what one run would") {
				t.Errorf("delta = %v: another %s in the checkpoint breaks %q", delta, name, broken)
			}
		}
	}
}

// changing keeps another vector than the one of the run.
func changing(t algorithms.Tracker, which int) algorithms.Tracker {
	keep := t.OnKeep
	t.OnKeep = func(done int, order []int32, vectors ...[]float64) {
		kept := slices.Clone(vectors)
		kept[which] = slices.Clone(kept[which])
		for k := range kept[which] {
			kept[which][k] = -kept[which][k] - 1
		}
		keep(done, order, kept...)
	}
	return t
}

// scoreLoss is a loss of the library, or a formula.
func scoreLoss(t *testing.T, text string) engine.Loss {
	t.Helper()
	if text == "logistic" {
		return engine.Logistic{}
	}
	e, err := engine.NewExpression("custom", text, engine.ExpressionOptions{})
	if l, ok := engine.LibraryByName(text); ok {
		e, err = l.Expression(engine.ExpressionOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return engine.Score{Of: e}
}

// moved are the records that the gradients of a descent around the exact mean are about.
func moved(t *testing.T, r *engine.Records, clip float64) *engine.Records {
	t.Helper()
	n, d := r.Len(), r.Dim()
	x, row, mean := make([]float64, n*d), make([]float64, d), make([]float64, d)
	for i := range n {
		r.Row(i, row)
		for k := range d {
			mean[k] += row[k] / float64(n)
		}
	}
	for i := range n {
		r.Row(i, x[i*d:][:d])
		for k := range d {
			x[i*d+k] -= mean[k]
		}
		engine.ProjectBall(x[i*d:][:d], clip)
		for k := range d {
			x[i*d+k] /= clip
		}
	}
	return must.Get(engine.NewRecords(x, r.Labels(), d, r.Bounds()))(t)
}

// meanLoss is the mean of the loss over all ordered pairs, pair by pair.
func meanLoss(loss engine.Loss, r *engine.Records, w []float64, l2 float64) float64 {
	n, sum := r.Len(), 0.0
	records := make([]engine.Record, n)
	for i := range records {
		records[i] = engine.Record{X: make([]float64, r.Dim()), Y: r.Label(i)}
		r.Row(i, records[i].X)
	}
	for i := range n {
		for j := range n {
			if i != j {
				sum += loss.Value(w, records[i], records[j])
			}
		}
	}
	var square float64
	for _, v := range w {
		square += v * v
	}
	return sum/float64(n*(n-1)) + l2/2*square
}

// Without noise to speak of, twenty gradients reach the minimum of each loss over the moved
// records that projected gradient descent reaches in 20,000, and the start alone does not.
func TestMomentsDescentMinimisesTheLoss(t *testing.T) {
	sizes.NotShort(t, "slow")
	almostNone := privacy.Budget{Epsilon: 1e13, Delta: 0.5}
	const radius, clip, l2 = 6, 0.5, 0.001
	r := correlated(t, 120, 2)
	data := moved(t, r, clip)
	for _, text := range sizes.Of([]string{"logistic", "squared-hinge"}, []string{"logistic", "squared-hinge", "square", "huberised-hinge", "softplus(0.5 - u)"}) {
		loss := scoreLoss(t, text)
		problem := engine.Problem{N: r.Len(), D: r.Dim(), Bounds: r.Bounds(), Loss: loss, Radius: radius}
		train := func(a algorithms.Algorithm, data *engine.Records, mode algorithms.Mode) []float64 {
			s := must.Get(algorithms.NewSpec(cpu.Backend{}, problem, l2, almostNone, mode))(t)
			p := must.Get(a.Plan(s))(t)
			result := must.Get(algorithms.Run(context.Background(), data, a, p, algorithms.Options{Public: true, Source: privacy.NewSeededSource(3)}))(t)
			return result.Weights
		}
		descent := func(steps int) algorithms.MomentsDescent {
			return algorithms.MomentsDescent{Moments: algorithms.Moments{Second: "full", ClipRadius: clip}, Steps: steps, GradientShare: 0.5}
		}
		least := meanLoss(loss, data, train(algorithms.ProjectedGradient{Steps: 20000}, data, algorithms.NonPrivate), l2)
		zero := meanLoss(loss, data, make([]float64, r.Dim()), l2)
		few := meanLoss(loss, data, train(descent(1), r, algorithms.Certified), l2)
		many := meanLoss(loss, data, train(descent(20), r, algorithms.Certified), l2)
		if !(many-least < 0.02*(zero-least)) || !(many < few) {
			t.Errorf("%s: objective %v at 0, %v after one gradient, %v after twenty; the minimum is %v", text, zero, few, many, least)
		}
	}
}

// Whatever the records have in common, a run ends with finite weights within the ball, which
// are not 0 if the records say something: also those of a loss that is flat where all margins
// of the start are.
func TestMomentsDescentOfDegenerateRecords(t *testing.T) {
	const n, d, radius = 24, 3, 10
	for name, record := range map[string]func(i int) ([d]float64, float64){
		"separated":  func(i int) ([d]float64, float64) { s := float64(1 - 2*(i%2)); return [d]float64{s, 0, 0}, s },
		"one class":  func(i int) ([d]float64, float64) { return [d]float64{float64(i) / n, 0.1, 0}, 1 },
		"equal":      func(int) ([d]float64, float64) { return [d]float64{0.1, 0.2, 0.3}, -1 },
		"zero":       func(i int) ([d]float64, float64) { return [d]float64{}, float64(1 - 2*(i%2)) },
		"not finite": func(i int) ([d]float64, float64) { return [d]float64{math.NaN(), math.Inf(1)}, math.NaN() },
	} {
		x, y := make([]float64, 0, n*d), make([]float64, n)
		for i := range y {
			row, label := record(i)
			x, y[i] = append(x, row[:]...), label
		}
		r := must.Get(engine.AdoptRecords(x, y, d, engine.UnitBounds()))(t)
		texts, seconds := []string{"hinge", "logistic", "exponential", "u"}, []string{"full", "none", "diagonal"}
		if testing.Short() {
			texts, seconds = texts[:1], seconds[:1]
		}
		for j, text := range texts {
			for k, second := range seconds {
				if (j+k)%3 != 0 && !sizes.Full() {
					continue
				}
				for i, b := range []privacy.Budget{{Epsilon: 1, Delta: 1e-5}, {Epsilon: 1e-3}, {Epsilon: 1e13, Delta: 0.5}} {
					a := algorithms.MomentsDescent{Moments: algorithms.Moments{Second: second}}
					s := must.Get(algorithms.NewSpec(cpu.Backend{}, engine.Problem{N: n, D: d, Bounds: r.Bounds(), Loss: scoreLoss(t, text), Radius: radius}, 0, b, algorithms.Certified))(t)
					p := must.Get(a.Plan(s))(t)
					result := must.Get(algorithms.Run(context.Background(), r, a, p, algorithms.Options{Public: true, Source: privacy.NewSeededSource(uint64(i))}))(t)
					norm := 0.0
					for _, v := range result.Weights {
						norm = math.Hypot(norm, v)
					}
					if !(norm <= radius) || name == "separated" && text != "u" && norm == 0 {
						t.Errorf("%s, %s, %s, %+v: weights %v", name, text, second, b, result.Weights)
					}
				}
			}
		}
	}
}

// What moments-descent cannot do is refused by a plan, with what would work.
func TestMomentsDescentRefusals(t *testing.T) {
	b := privacy.Budget{Epsilon: 1, Delta: 1e-5}
	spec := func(p engine.Problem) algorithms.Spec {
		if p.N == 0 {
			p.N, p.D = 60, 3
		}
		p.Bounds, p.Radius = engine.UnitBounds(), 1
		if p.Loss == nil {
			p.Loss = engine.Logistic{}
		}
		return must.Get(algorithms.NewSpec(cpu.Backend{}, p, 0, b, algorithms.Certified))(t)
	}
	ok := spec(engine.Problem{})
	noBackend, noneAtAll, paper := ok, ok, ok
	noBackend.Backend = noMoments{cpu.Backend{}}
	noneAtAll.Backend = nil
	paper.Mode = algorithms.Paper
	for _, c := range []struct {
		want string
		a    algorithms.MomentsDescent
		s    algorithms.Spec
	}{
		{"query groups", algorithms.MomentsDescent{}, spec(engine.Problem{Groups: []int{20, 40}})},
		{"metric", algorithms.MomentsDescent{}, spec(engine.Problem{Loss: engine.MahalanobisLogistic{}})},
		{"--device cpu", algorithms.MomentsDescent{}, noBackend},
		{"NewSpec", algorithms.MomentsDescent{}, noneAtAll},
		{"no paper mode", algorithms.MomentsDescent{}, paper},
		{"for more gradients, use gradient-perturbation", algorithms.MomentsDescent{Steps: 21}, ok},
		{"for more gradients, use gradient-perturbation", algorithms.MomentsDescent{Steps: -1}, ok},
		{"share of the gradients", algorithms.MomentsDescent{GradientShare: 1}, ok},
		{"share of the gradients", algorithms.MomentsDescent{GradientShare: math.NaN()}, ok},
		{"dense", algorithms.MomentsDescent{}, spec(engine.Problem{N: 2_000_000, D: 1000, NonZerosPerRow: 3})},
		// Options of the moments.
		{"clip radius", algorithms.MomentsDescent{Moments: algorithms.Moments{ClipRadius: 3}}, ok},
		{"Query.Radius", algorithms.MomentsDescent{Moments: algorithms.Moments{ClipRadius: 1e-200}}, ok},
	} {
		must.Fail(c.a.Plan(c.s))(t, must.All{algorithms.ErrAssumption, c.want}, c.a)
	}
	must.Check((algorithms.MomentsDescent{Steps: 20}).Plan(ok))(t)
}

// Moments and gradients together spend the budget, in the shares of the plan, and the public
// rule gives gradients more where they say more.
func TestMomentsDescentSpendsTheBudget(t *testing.T) {
	for _, delta := range []float64{0, 1e-5} {
		before := 0.0
		for _, n := range []int{50, 5000, 500_000} {
			s := newSpec(t, n, 6, 10, 0, privacy.Budget{Epsilon: 1, Delta: delta}, algorithms.Certified)
			p := must.Get(algorithms.MomentsDescent{}.Plan(s))(t)
			m, all, own := p.Moments(), 0.0, 0.0
			for i, r := range p.Releases {
				all += r.Share
				if i >= len(p.Releases)-m.Gradients {
					own += r.Share
				}
			}
			if math.Abs(all-1) > 1e-12 || p.Guarantee.Epsilon > 1 || p.Guarantee.Epsilon < 1-1e-9 || len(p.Events()) != len(p.Releases) {
				t.Errorf("n = %d: shares %v, epsilon %v", n, all, p.Guarantee.Epsilon)
			}
			if !(own >= 0.02-1e-12 && own <= 0.3 && own > before-1e-12) || m.Gradients > algorithms.MaxMomentsSteps || p.Work.Gradients != float64(m.Gradients)*float64(n)*float64(n-1) {
				t.Errorf("n = %d: %d gradients with the share %v after %v", n, m.Gradients, own, before)
			}
			before = own
		}
		must.Above(t, before, 0.1, "delta = %v: the gradients of 500,000 records get a share of", delta)
	}
	c := algorithms.MomentsDescent{Steps: 7, GradientShare: 0.6}
	p := must.Get(c.Plan(newSpec(t, 500, 6, 10, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified)))(t)
	if last := p.Releases[len(p.Releases)-1]; p.Moments().Gradients != 7 || math.Abs(last.Share-0.6/7) > 1e-12 {
		t.Errorf("%d gradients, each with the share %v", p.Moments().Gradients, last.Share)
	}
}

// The default radius knows the loss.
func TestDefaultRadiusOfLosses(t *testing.T) {
	b := privacy.Budget{Epsilon: 1, Delta: 1e-5}
	for text, want := range map[string]float64{
		"logistic": 10, "hinge": 10, "sigmoid": 10, "square": 0.5, "squared-hinge": 0.5, "exponential": math.Ln2 / 2,
		"max(0, -u)^2": 10, // flat at 0
	} {
		loss := scoreLoss(t, text)
		must.Near(t, algorithms.DefaultRadius("gradient-perturbation", 1e7, 8, b, algorithms.Certified, loss), want,
			1e-9, "%s: radius", text)
		// The quotient of the steepest slope and that at 0, which docs/moments.md states.
		if quotient, ok := map[string]float64{"logistic": 2, "hinge": 1, "square": 3, "squared-hinge": 3, "exponential": 4}[text]; ok {
			c, err := loss.Constants(engine.UnitBounds(), want)
			if got := c.Lipschitz / 4 / math.Abs(loss.(engine.ScoreLoss).DPhi(0)); err != nil || math.Abs(got/quotient-1) > 1e-4 {
				t.Errorf("%s: the steepest slope is %v times that at 0, want %v (%v)", text, got, quotient, err)
			}
		}
		must.Equal(t, algorithms.DefaultRadius("moments-descent", 50, 8, b, algorithms.Certified, loss), 10,
			"%s: radius ... of moments-descent", text)
		must.Equal(t, algorithms.DefaultRadius("dpgdsc", 20, 8, b, algorithms.Certified, loss), 0.01,
			"%s: radius ... of 20 records", text)
		must.Equal(t, algorithms.DefaultRadius("projected-gradient", 50, 8, b, algorithms.NonPrivate, loss), 10,
			"%s: radius ... without privacy", text)
		for _, n := range []int{50, 256, 1e7} { // the papers have ||w|| <= 1
			for _, budget := range []privacy.Budget{b, {Epsilon: 0.5}, {Epsilon: 2, Delta: 1. / 256}} {
				must.Equal(t, algorithms.DefaultRadius("dpgdsc", n, 8, budget, algorithms.Paper, loss), 1,
					"%s: radius ... of the paper's algorithm on %d records", text, n)
			}
		}
	}
	if r := algorithms.DefaultRadius("dpgdsc", 1000, 8, privacy.Budget{Epsilon: 1, Delta: -1}, algorithms.Certified, engine.Logistic{}); r != 1 {
		t.Errorf("radius %v for a budget that is refused", r)
	}
}
