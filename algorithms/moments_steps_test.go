package algorithms_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
)

// A run with steps goes on after any pass, with the bits of one run.
func TestMomentsStepsResume(t *testing.T) {
	a := algorithms.Moments{Second: "full", CentreShare: 0.2, Steps: 3}
	p := must.Get(a.Plan(newSpec(t, 41, 3, 0.3, 0, privacy.Budget{Epsilon: 50, Delta: 1e-5}, algorithms.Certified)))(t)
	for save := range p.Moments().Passes {
		if save == 0 {
			continue
		}
		for stop := save; stop < p.Moments().Passes; stop++ {
			if broken := newLab(t, a, p).resumeViolations(stop, save); len(broken) > 0 {
				t.Errorf("stopped after pass %d, from the checkpoint of pass %d: broken promises %q", stop, save, broken)
			}
		}
		l := newLab(t, a, p)
		l.tracker = func(_ int, t algorithms.Tracker) algorithms.Tracker { return moving(t) }
		if broken := l.resumeViolations(save, save); !slices.Contains(broken, "releases what one run would") {
			t.Errorf("other releases in the checkpoint of pass %d break %q", save, broken)
		}
	}
}

// logisticOfRecords minimises the sum over the records, centred and clipped, of the pointwise
// logistic loss with labels in [0, 1] and a fixed intercept, by Newton's method.
func logisticOfRecords(r *engine.Records, centre []float64, clip, intercept float64) []float64 {
	n, d := r.Len(), r.Dim()
	w, row := make([]float64, d), make([]float64, d)
	for range 50 {
		h, g := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
		for i := range n {
			r.Row(i, row)
			s := intercept
			for k := range row {
				row[k] -= centre[k]
			}
			engine.ProjectBall(row, clip)
			for k := range row {
				s += w[k] * row[k]
			}
			p, x := 1/(1+math.Exp(-s)), mat.NewVecDense(d, row)
			h.SymRankOne(h, p*(1-p), x)
			g.AddScaledVec(g, p-(1+r.Label(i))/2, x)
		}
		var step mat.VecDense
		if err := step.SolveVec(h, g); err != nil {
			panic(err)
		}
		for k := range w {
			w[k] -= step.AtVec(k)
		}
	}
	return w
}

// Without noise to speak of, steps lead from least squares to the minimiser of the pointwise
// logistic loss, for classes and grades; the start is the known defect.
func TestMomentsStepsMinimiseTheLogisticLoss(t *testing.T) {
	almostNone := privacy.Budget{Epsilon: 1e13, Delta: 0.5}
	for _, grades := range []int{2, 5} {
		r := skewed(t, 2000, grades)
		d := r.Dim()
		mean, row, delta := make([]float64, d), make([]float64, d), mat.NewVecDense(d, nil)
		n, p := float64(r.Len()), 0.0
		for i := range r.Len() {
			r.Row(i, row)
			p += (1 + r.Label(i)) / 2 / n
			for k := range row {
				mean[k] += row[k] / n
			}
		}
		// The intercept, from the formula of docs/theory.md#damped-steps.
		m := mat.NewSymDense(d, nil)
		for i := range r.Len() {
			r.Row(i, row)
			for k := range row {
				row[k] -= mean[k]
			}
			engine.ProjectBall(row, 0.8)
			x := mat.NewVecDense(d, row)
			m.SymRankOne(m, 1/n, x)
			delta.AddScaledVec(delta, ((1+r.Label(i))/2-p)/(n*p*(1-p)), x)
		}
		var u mat.VecDense
		must.Do(t, u.SolveVec(m, delta))
		apart := mat.Dot(delta, &u)
		c := math.Log(p/(1-p)) - (1-2*p)/2*apart/(1-p*(1-p)*apart)
		want := logisticOfRecords(r, mean, 0.8, c)
		at := func(steps int) float64 {
			return cosine(trainMoments(t, algorithms.Moments{Second: "full", CentreShare: 0.2, ClipRadius: 0.8, Steps: steps}, r, 0, almostNone, 1), want)
		}
		if start, end := at(0), at(20); !(end > 1-1e-9) || !(start < 0.996) {
			t.Errorf("%d grades: cosine %v with the logistic solution at the start, %v after 20 steps", grades, start, end)
		}
	}
}

// skewed are records whose logistic direction is not that of least squares: a feature that
// decides where it is large.
func skewed(t *testing.T, n, grades int) *engine.Records {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), uint64(grades)))
	const d = 3
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		row := x[i*d:][:d]
		row[0], row[1], row[2] = 0.25*rng.ExpFloat64()-0.25, 0.25*rng.NormFloat64(), 0.25*rng.NormFloat64()
		engine.ProjectBall(row, 0.75)
		p := 1 / (1 + math.Exp(1.5-8*row[0]-2*row[1]+4*row[2]))
		for range grades - 1 {
			if rng.Float64() < p {
				y[i]++
			}
		}
		y[i] = 2*y[i]/float64(grades-1) - 1
	}
	return must.Get(engine.AdoptRecords(x, y, d, engine.UnitBounds()))(t)
}
