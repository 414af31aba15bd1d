package algorithms

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// Without noise a step is Newton's; with a start that is exact and a gradient within its noise
// there is none; with errors of the start it is the best linear estimate, whose error is what it
// says.
func TestDampedStep(t *testing.T) {
	g, errors := []float64{1, -2, 3}, []float64{1, 1, 1}
	dampedStep(g, []float64{2, 4, 0.5}, make([]float64, 3), errors, 0)
	for i, want := range []float64{0.5, -0.5, 6} {
		if math.Abs(g[i]-want) > 1e-12 || errors[i] != 0 {
			t.Errorf("without noise: step %v, errors %v", g, errors)
		}
	}
	g, errors = []float64{1, -1, 1}, make([]float64, 3)
	if dampedStep(g, []float64{2, 4, 0.5}, []float64{1, 1, 1}, errors, 1); !slices.Equal(g, make([]float64, 3)) {
		t.Errorf("a gradient within its noise makes the step %v", g)
	}
	// Along flat axes nothing moves.
	g, errors = []float64{1, -1}, []float64{1, 2}
	if dampedStep(g, []float64{0, 1}, []float64{1, 1}, errors, 1); g[0] != 0 || !(g[1] < 0) || errors[0] != 1 {
		t.Errorf("a flat axis: step %v, errors %v", g, errors)
	}
	if dampedStep(g, []float64{0, 0}, []float64{1, 1}, errors, 1); g[0] != 0 || g[1] != 0 {
		t.Errorf("flat axes: step %v", g)
	}
	// w - w* ~ N(0, p): the mean square of what is left, and that of an undamped step.
	rng := rand.New(rand.NewPCG(1, 2))
	const d, runs, noise = 3, 20000, 0.7
	h, p := []float64{2, 0.3, 0.05}, []float64{0.5, 2, 1}
	var left, stated, undamped [d]float64
	for range runs {
		g, off, errors := make([]float64, d), make([]float64, d), slices.Clone(p)
		for i := range g {
			off[i] = math.Sqrt(p[i]) * rng.NormFloat64()
			g[i] = h[i]*off[i] + noise*rng.NormFloat64()
			undamped[i] += (off[i] - g[i]/h[i]) * (off[i] - g[i]/h[i]) / runs
		}
		dampedStep(g, h, make([]float64, d), errors, noise) // w = 0: kappa = 0
		for i := range g {
			left[i] += (off[i] - g[i]) * (off[i] - g[i]) / runs
			stated[i] = errors[i]
		}
	}
	for i := range d {
		if math.Abs(left[i]/stated[i]-1) > 0.05 || !(stated[i] < p[i]) || !(left[i] < undamped[i]) {
			t.Errorf("axis %d: mean square error %v, stated %v, before %v, undamped %v", i, left[i], stated[i], p[i], undamped[i])
		}
	}
}

// The curvature by Stein's identity is the mean of phi” where there is one, and of a kink it
// is its jump times the density there.
func TestMarginCurvature(t *testing.T) {
	logistic := engine.Logistic{}
	m := &marginModel{
		c: []float64{0.5, 0.2}, cov: []float64{0.1, 0.05}, pq: 0.21, label: 2, reach: 40, radius: 10, slope: logistic.DPhi,
	}
	a := []float64{1.5, -0.4}
	mean, deviation := m.margin(a)
	second := normalMean(func(z float64) float64 {
		s := -logistic.DPhi(mean + deviation*z)
		return s * (1 - s)
	})
	must.Near(t, m.curvature(a)/second, 1, 1e-4, "logistic: curvature, mean of phi'' %v", second)
	m.slope = func(u float64) float64 {
		if u < 1 {
			return -1
		}
		return 0
	}
	z := (1 - mean) / deviation
	if h, want := m.curvature(a), math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)/deviation; math.Abs(h/want-1) > 0.05 {
		t.Errorf("hinge: curvature %v, jump times density %v", h, want)
	}
	m.slope = func(float64) float64 { return -1 } // flat: a positive floor
	must.Above(t, m.curvature(a), 0, "linear: curvature")
}

// The start has the length at which the expected loss of the margins is least: against a scan.
func TestMarginStart(t *testing.T) {
	for name, phi := range map[string][2]func(float64) float64{
		"logistic": {engine.Logistic{}.Phi, engine.Logistic{}.DPhi},
		"square":   {func(u float64) float64 { return (1 - u) * (1 - u) }, func(u float64) float64 { return -2 * (1 - u) }},
		"hinge": {func(u float64) float64 { return max(0, 1-u) }, func(u float64) float64 {
			if u < 1 {
				return -1
			}
			return 0
		}},
		"rising": {func(u float64) float64 { return u }, func(float64) float64 { return 1 }},
	} {
		m := &marginModel{
			c: []float64{0.5, 0.2}, cov: []float64{0.1, 0.05}, first: []float64{0.2, 0.25}, errors: make([]float64, 2),
			pq: 0.21, label: 2, reach: 200, radius: 50, slope: phi[1],
		}
		w, _ := m.start()
		length := math.Hypot(w[0], w[1])
		best, least := 0.0, math.Inf(1)
		for r := 0.0; r <= m.radius; r += 0.005 {
			scale := r / math.Hypot(m.first[0], m.first[1])
			mean, deviation := m.margin([]float64{scale * m.first[0], scale * m.first[1]})
			if l := normalMean(func(z float64) float64 { return phi[0](mean + deviation*z) }); l < least-1e-12 {
				best, least = r, l
			}
		}
		must.Near(t, length, best, 0.05, "%s: the start has length, the expected loss is least at", name)
	}
}
