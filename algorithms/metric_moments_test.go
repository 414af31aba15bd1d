package algorithms_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

func metricSpec(t *testing.T, p engine.Problem, l2, delta float64, b engine.Backend) algorithms.Spec {
	t.Helper()
	if p.Loss == nil {
		p.Loss = engine.MahalanobisLogistic{}
	}
	p.Bounds, p.Radius = engine.UnitBounds(), 1
	s := must.Get(algorithms.NewSpec(cpu.Backend{}, p, l2, privacy.Budget{Epsilon: 1, Delta: delta}, algorithms.Certified))(t)
	s.Backend = b
	return s
}

// Two of eight features matter, one by its mean and one by its variance; the private metric says
// so, within the domain, from a joint release that is as noisy as the sums alone.
func TestMomentMetricTrains(t *testing.T) {
	const n, d = 4000, 8
	rng := rand.New(rand.NewPCG(3, 4))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		for j := range d {
			x[i*d+j] = max(-1, min(1, rng.NormFloat64()/3)) / math.Sqrt(d)
		}
		y[i] = math.Copysign(1, x[i*d]+math.Abs(x[i*d+1])-0.1)
	}
	data := must.Get(engine.NewRecords(x, y, d, engine.UnitBounds()))(t)
	p := must.Get(algorithms.MomentMetric{}.Plan(metricSpec(t, engine.Problem{N: n, D: d}, 0, 1e-5, cpu.Backend{})))(t)
	m := p.Moments()
	if s := p.Releases[1].Certificate.Sensitivity(); !(s > 2*m.ClipRadius && s < 2*m.ClipRadius*(1+1e-6)) {
		t.Errorf("sensitivity %v, want 2 R = %v and rounding", s, 2*m.ClipRadius)
	}
	ev := must.Get(p.Spec.Kernel.Bind(data))(t)
	train := func(ctx context.Context) ([]float64, error) {
		session := must.Get(privacy.NewPublicSession(privacy.NewSeededSource(5), p.Events()))(t)
		return algorithms.MomentMetric{}.Train(ctx, ev, p, session, algorithms.Tracker{})
	}
	w := must.Get(train(context.Background()))(t)
	sym := engine.Symmetric{Dim: d}
	for i := 2; i < d; i++ {
		if v := w[sym.Index(i, i)]; !(v < w[0]/3 && v < w[sym.Index(1, 1)]/3) {
			t.Errorf("weight %d is %v, of the features that matter %v and %v", i, v, w[0], w[sym.Index(1, 1)])
		}
	}
	if values, _ := sym.Eigen(w); !(values[0] > 0) {
		t.Errorf("smallest eigenvalue %v", values[0])
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	must.Fail(train(done))(t, context.Canceled, "cancelled")
}

// What moment-metric cannot do is refused before anything is charged, with what would work.
func TestMomentMetricRefuses(t *testing.T) {
	for want, c := range map[string]struct {
		a         algorithms.MomentMetric
		p         engine.Problem
		l2, delta float64
		b         engine.Backend
	}{
		"linear scores":       {p: engine.Problem{Loss: engine.Logistic{}}, delta: 1e-5},
		"query groups":        {p: engine.Problem{Groups: []int{20, 40}}, delta: 1e-5},
		"up to 3 labels":      {p: engine.Problem{LabelValues: 3}, delta: 1e-5},
		"up to 60 labels":     {p: engine.Problem{LabelValues: engine.AnyLabels}, delta: 1e-5},
		"513 features":        {p: engine.Problem{D: 513}, delta: 1e-5},
		"no objective":        {l2: 0.1, delta: 1e-5},
		"delta > 0":           {},
		"share of the centre": {a: algorithms.MomentMetric{CentreShare: 1}, delta: 1e-5},
		"at most 2 R":         {a: algorithms.MomentMetric{ClipRadius: 2.1}, delta: 1e-5},
		"Query.Radius":        {a: algorithms.MomentMetric{ClipRadius: 1e-200}, delta: 1e-5}, // evaluators refuse it, after the charge
		"--device cpu":        {b: noMoments{cpu.Backend{}}, delta: 1e-5},
	} {
		if c.b == nil {
			c.b = cpu.Backend{}
		}
		if c.p.N = 60; c.p.D == 0 {
			c.p.D = 3
		}
		must.Fail(c.a.Plan(metricSpec(t, c.p, c.l2, c.delta, c.b)))(t, must.All{algorithms.ErrAssumption, want})
	}
	for _, m := range []algorithms.Mode{algorithms.Paper, algorithms.NonPrivate} {
		s := metricSpec(t, engine.Problem{N: 60, D: 3}, 0, 1e-5, cpu.Backend{})
		s.Mode = m
		must.Fail((algorithms.MomentMetric{}).Plan(s))(t, algorithms.ErrAssumption, m, " mode")
	}
}
