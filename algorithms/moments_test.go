package algorithms_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// A run of moments that stops after its first pass goes on from its released count and centre.
func TestMomentsResume(t *testing.T) {
	for _, delta := range []float64{0, 1e-5} {
		a := algorithms.Moments{Second: "full", CentreShare: 0.2}
		p := must.Get(a.Plan(newSpec(t, 41, 3, 0.3, 0, privacy.Budget{Epsilon: 50, Delta: delta}, algorithms.Certified)))(t)
		if broken := newLab(t, a, p).resumeViolations(1, 1); len(broken) > 0 {
			t.Errorf("delta = %v: broken promises %q", delta, broken)
		}
		// The known defect: the checkpoint has another centre than the one released.
		l := newLab(t, a, p)
		l.tracker = func(_ int, t algorithms.Tracker) algorithms.Tracker { return moving(t) }
		if broken := l.resumeViolations(1, 1); !slices.Contains(broken, "releases what one run would") {
			t.Errorf("delta = %v: another centre in the checkpoint breaks %q", delta, broken)
		}
	}
}

// moving keeps another centre than the one released, by more than any grid hides.
func moving(t algorithms.Tracker) algorithms.Tracker {
	keep := t.OnKeep
	t.OnKeep = func(done int, order []int32, vectors ...[]float64) {
		w := slices.Clone(vectors[0])
		for k := range w[1:] {
			w[1+k] = -w[1+k] - 1
		}
		keep(done, order, append([][]float64{w}, vectors[1:]...)...)
	}
	return t
}

// leastSquaresOfPairs minimises the mean over all ordered pairs of (w.(x - x') - (y - y')/2)^2
// + l2/2 ||w||^2 by its normal equations, summed pair by pair.
func leastSquaresOfPairs(r *engine.Records, centre []float64, clip, l2 float64) []float64 {
	n, d := r.Len(), r.Dim()
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, d)
		r.Row(i, rows[i])
		for k := range centre {
			rows[i][k] -= centre[k]
		}
		engine.ProjectBall(rows[i], clip)
	}
	a, b := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	pairs := float64(n * n)
	for i := range n {
		for j := range n {
			diff := make([]float64, d)
			for k := range diff {
				diff[k] = rows[i][k] - rows[j][k]
			}
			v := mat.NewVecDense(d, diff)
			a.SymRankOne(a, 2/pairs, v)
			b.AddScaledVec(b, (r.Label(i)-r.Label(j))/pairs, v)
		}
	}
	for k := range d {
		a.SetSym(k, k, a.At(k, k)+l2)
	}
	var w mat.VecDense
	if err := w.SolveVec(a, b); err != nil {
		panic(err)
	}
	return w.RawVector().Data
}

func cosine(a, b []float64) float64 {
	var ab, aa, bb float64
	for k := range a {
		ab, aa, bb = ab+a[k]*b[k], aa+a[k]*a[k], bb+b[k]*b[k]
	}
	return ab / math.Sqrt(aa*bb)
}

func trainMoments(t *testing.T, a algorithms.Moments, r *engine.Records, l2 float64, b privacy.Budget,
	seed uint64) []float64 {
	t.Helper()
	s := must.Get(algorithms.NewSpec(cpu.Backend{}, engine.Problem{
		N: r.Len(), D: r.Dim(), Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: 0.7, LabelValues: engine.AnyLabels,
	}, l2, b, algorithms.Certified))(t)
	p := must.Get(a.Plan(s))(t)
	result := must.Get(algorithms.Run(context.Background(), r, a, p,
		algorithms.Options{Public: true, Source: privacy.NewSeededSource(seed)}))(t)
	return result.Weights
}

// correlated are records whose least squares direction is far from the difference of the class
// means; grades > 2 have labels in between.
func correlated(t *testing.T, n, grades int) *engine.Records {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), uint64(grades)))
	const d = 4
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		row := x[i*d:][:d]
		for k := range row {
			row[k] = rng.NormFloat64() * 0.1
			if k > 0 {
				row[k] = 0.8*row[k-1] + 0.6*row[k]
			}
		}
		s := 5*(row[0]-row[1]+row[2]) + 0.3*rng.NormFloat64() + 0.4
		y[i] = 2*math.Round(float64(grades-1)*min(max(0.5+s/2, 0), 1))/float64(grades-1) - 1
		for k := range row {
			row[k] += 0.3
		}
	}
	return must.Get(engine.AdoptRecords(x, y, d, engine.UnitBounds()))(t)
}

// Without noise to speak of, the model is the minimiser of the pairwise least squares of the
// clipped records, for classes, grades and with an L2 term, of norm r.
func TestMomentsMinimisePairwiseLeastSquares(t *testing.T) {
	almostNone := privacy.Budget{Epsilon: 1e13, Delta: 0.5}
	for _, grades := range []int{2, 5} {
		r := correlated(t, 300, grades)
		for _, l2 := range []float64{0, 0.02} {
			w := trainMoments(t, algorithms.Moments{Second: "full", CentreShare: 0.2, ClipRadius: 0.4}, r, l2, almostNone, 1)
			mean := make([]float64, r.Dim())
			row := make([]float64, r.Dim())
			for i := range r.Len() {
				r.Row(i, row)
				for k := range row {
					mean[k] += row[k] / float64(r.Len())
				}
			}
			want := leastSquaresOfPairs(r, mean, 0.4, l2)
			if c := cosine(w, want); !(c > 0.9999) {
				t.Errorf("%d grades, L2 %v: cosine %v with the least squares solution", grades, l2, c)
			}
			must.Near(t, math.Sqrt(w[0]*w[0]+w[1]*w[1]+w[2]*w[2]+w[3]*w[3]), 0.7, 1e-9, "norm")
			none := trainMoments(t, algorithms.Moments{Second: "none", CentreShare: 0.2, ClipRadius: 0.4}, r, 0, almostNone, 1)
			must.AtMost(t, cosine(none, want), 0.9,
				"%d grades: the records do not tell least squares from class means, with cosine", grades)
		}
	}
}

// Whatever the records have in common, a run ends with a model of norm r.
func TestMomentsOfDegenerateRecords(t *testing.T) {
	const n, d = 12, 3
	for name, record := range map[string]func(i int) ([3]float64, float64){
		"one class":   func(i int) ([3]float64, float64) { return [3]float64{float64(i) / n, 0.1, 0}, 1 },
		"equal":       func(int) ([3]float64, float64) { return [3]float64{0.1, 0.2, 0.3}, -1 },
		"zero":        func(i int) ([3]float64, float64) { return [3]float64{}, float64(1 - 2*(i%2)) },
		"tiny":        func(i int) ([3]float64, float64) { return [3]float64{5e-324, -5e-324}, float64(1 - 2*(i%2)) },
		"not finite":  func(i int) ([3]float64, float64) { return [3]float64{math.NaN(), math.Inf(1)}, math.NaN() },
		"far outside": func(i int) ([3]float64, float64) { return [3]float64{1e308, -1e308, 1e308}, 1e300 },
	} {
		x, y := make([]float64, 0, n*d), make([]float64, n)
		for i := range y {
			row, label := record(i)
			x, y[i] = append(x, row[:]...), label
		}
		r := must.Get(engine.AdoptRecords(x, y, d, engine.UnitBounds()))(t)
		for _, second := range []string{"none", "diagonal", "full"} {
			for _, b := range []privacy.Budget{{Epsilon: 1, Delta: 1e-5}, {Epsilon: 1e6}, {Epsilon: 1e-3}} {
				w := trainMoments(t, algorithms.Moments{Second: second, CentreShare: 0.2, ClipRadius: 0.5}, r, 0, b, 3)
				check := func(steps int, w []float64) {
					var square float64
					for _, v := range w {
						square += v * v
					}
					must.Near(t, math.Sqrt(square), 0.7, 1e-9, "%s, %s, epsilon %v, %d steps: weights %v", name, second,
						b.Epsilon, steps, w)
				}
				check(0, w)
				if b.Delta > 0 && second != "none" {
					for _, epsilon := range []float64{1e-3, 1, 1e13} {
						check(3, trainMoments(t, algorithms.Moments{Second: second, CentreShare: 0.2, ClipRadius: 0.5, Steps: 3}, r, 0,
							privacy.Budget{Epsilon: epsilon, Delta: b.Delta}, 3))
					}
				}
			}
		}
	}
}

// What moments cannot do is refused by a plan, with what would work.
func TestMomentsRefusals(t *testing.T) {
	b := privacy.Budget{Epsilon: 1, Delta: 1e-5}
	spec := func(p engine.Problem, b privacy.Budget) algorithms.Spec {
		p.N, p.D, p.Bounds, p.Radius = 60, 3, engine.UnitBounds(), 1
		if p.Loss == nil {
			p.Loss = engine.Logistic{}
		}
		return must.Get(algorithms.NewSpec(cpu.Backend{}, p, 0, b, algorithms.Certified))(t)
	}
	ok, grouped := spec(engine.Problem{}, b), spec(engine.Problem{Groups: []int{20, 40}}, b)
	withL2 := ok
	withL2.L2 = 0.1
	noBackend := ok
	noBackend.Backend = noMoments{cpu.Backend{}}
	for _, c := range []struct {
		want string
		a    algorithms.Moments
		s    algorithms.Spec
	}{
		{"no logistic steps", algorithms.Moments{Steps: 2}, grouped},
		{"nor a centre", algorithms.Moments{CentreShare: 0.1}, grouped},
		{"nor a centre", algorithms.Moments{Balance: 0.5}, grouped},
		{"no intervals", algorithms.Moments{Intervals: true}, grouped},
		{"only if delta > 0", algorithms.Moments{Second: "full"},
			spec(engine.Problem{Groups: []int{20, 40}}, privacy.Budget{Epsilon: 1})},
		{"metric", algorithms.Moments{}, spec(engine.Problem{Loss: engine.MahalanobisLogistic{}}, b)},
		{"--device cpu", algorithms.Moments{}, noBackend},
		{"none, diagonal or full", algorithms.Moments{Second: "some"}, ok},
		{"from 2^-40", algorithms.Moments{CountShare: 5e-324}, ok},
		{"no share for the signed sum", algorithms.Moments{CountShare: 0.5, CentreShare: 0.5}, ok},
		{"want 0 or a number", algorithms.Moments{SecondShare: math.NaN()}, ok},
		{"want 0 or a number", algorithms.Moments{Balance: 1}, ok},
		{"clip radius", algorithms.Moments{ClipRadius: 2.1}, ok},
		{"ridge", algorithms.Moments{Ridge: math.Inf(1)}, ok},
		{"public centre", algorithms.Moments{Centre: []float64{1, 1, 1}}, ok},
		{"public centre", algorithms.Moments{Centre: []float64{0.1}}, ok},
		{"leave out the budget share of the centre", algorithms.Moments{Centre: []float64{0}, CentreShare: 0.1}, ok},
		{"leave out the budget share for the number of positives", algorithms.Moments{Balance: 0.3, CountShare: 0.1}, ok},
		{"no second moments are released", algorithms.Moments{Second: "none", SecondShare: 0.1}, ok},
		{"needs second moments", algorithms.Moments{Second: "none", Ridge: 2}, ok},
		{"needs second moments", algorithms.Moments{Second: "none"}, withL2},
		{"must be 1 to 20", algorithms.Moments{Steps: 21}, ok},
		{"must be 1 to 20", algorithms.Moments{Steps: -1}, ok},
		{"must be 1 to 20", algorithms.Moments{StepShare: 0.1}, ok},
		{"steps need second moments", algorithms.Moments{Steps: 2, Second: "none"}, ok},
		{"L2 term", algorithms.Moments{Steps: 2, Second: "full"}, withL2},
		{"delta > 0", algorithms.Moments{Steps: 2, Second: "full"}, spec(engine.Problem{}, privacy.Budget{Epsilon: 1})},
		{"no share for the signed sum", algorithms.Moments{Steps: 2, StepShare: 0.99}, ok},
		// Evaluators refuse these, after the charge.
		{"Query.Radius", algorithms.Moments{ClipRadius: 1e-200}, ok},
		{"Query.Centre", algorithms.Moments{Centre: []float64{1 + 0.9*0x1p-30, 0, 0}}, ok},
	} {
		must.Fail(c.a.Plan(c.s))(t, must.All{algorithms.ErrAssumption, c.want}, c.a)
	}
}

// The shares of the plan are spent, all of them, and what is declared public is not released.
func TestMomentsSpendTheBudget(t *testing.T) {
	for _, delta := range []float64{0, 1e-5} {
		s := newSpec(t, 5000, 6, 0.3, 0, privacy.Budget{Epsilon: 1, Delta: delta}, algorithms.Certified)
		for i, a := range []algorithms.Moments{{}, {Second: "none"}, {Balance: 0.3}, {Centre: []float64{0}},
			{Centre: []float64{0}, Balance: 0.3, Second: "diagonal"}, {Steps: 2}, {Steps: 20, Second: "diagonal", StepShare: 0.5}, {Steps: 1, Centre: []float64{0}, Balance: 0.3}} {
			if a.Steps > 0 && delta == 0 {
				continue
			}
			p := must.Get(a.Plan(s))(t)
			shares, steps := 0.0, 0.0
			for _, r := range p.Releases {
				shares += r.Share
				if strings.Contains(r.Name, "gradient") {
					steps += r.Share
				}
				if a.Balance > 0 && strings.Contains(r.Name, "positives") || a.Centre != nil && strings.Contains(r.Name, "centre") {
					t.Errorf("options %d: %s is released", i, r.Name)
				}
			}
			if math.Abs(shares-1) > 1e-12 || p.Guarantee.Epsilon > 1 || p.Guarantee.Epsilon < 1-1e-9 {
				t.Errorf("options %d: shares %v, epsilon %v", i, shares, p.Guarantee.Epsilon)
			}
			if a.StepShare > 0 && math.Abs(steps-a.StepShare) > 1e-12 || (steps > 0) != (a.Steps > 0) {
				t.Errorf("options %d: the steps get %v", i, steps)
			}
			must.Equal(t, (p.Moments().Passes-a.Steps) == 1, a.Balance > 0 && a.Centre != nil, "options %d: passes", i)
		}
	}
}
