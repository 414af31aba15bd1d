package cuda

import (
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// forecastOn plans on a named GPU and returns the kernel and its forecast.
func forecastOn(t *testing.T, key string, p engine.Problem, m Method, precision Precision) (engine.Kernel, Forecast) {
	t.Helper()
	d := must.Get(OpenNamed(key))(t)
	k := must.Get(Backend{Device: d, Method: m, Precision: precision, Models: &Models{}}.Plan(p))(t)
	f, ok := ForecastOf(k)
	if !ok || f.Measured || f.Seconds != k.Bounds(engine.Query{Pairs: p.Pairs()}).Seconds {
		t.Errorf("%+v, %v", f, ok)
	}
	return k, f
}

// TestPredictions: what the counts and the shares say for an H200 is what an expert's reading of
// the machine code says, in seconds.
func TestPredictions(t *testing.T) {
	for _, c := range []struct {
		n, d, labels int
		method       Method
		precision    Precision
		loss         engine.Loss
		least, most  float64
	}{
		{1e6, 20, 2, Direct, 0, engine.Logistic{}, 2.5e11 / 5e12, 2.5e11 / 4.3e12},
		{1e6, 20, 5, Direct, 0, engine.Logistic{}, 5e11 / 1.35e12, 5e11 / 1.1e12},
		{1e8, 20, 2, NearLinear, 0, engine.Logistic{}, 8.5e-3, 9e-3},
		{1e7, 20, 2, NearLinear, 0, engine.Logistic{}, 0.85e-3, 1e-3},
		{1e5, 20, 2, NearLinear, 0, engine.Logistic{}, 25e-6, 35e-6},
		{1e5, 64, 2, 0, BF16x3, engine.MahalanobisLogistic{}, 9e-3, 13e-3},
		{1e5, 128, 2, 0, BF16x3, engine.MahalanobisLogistic{}, 20e-3, 28e-3},
		{1e5, 256, 2, 0, BF16x3, engine.MahalanobisLogistic{}, 46e-3, 75e-3},
	} {
		p := engine.Problem{N: c.n, D: c.d, Bounds: engine.UnitBounds(), Loss: c.loss, Radius: 1, LabelValues: c.labels}
		k, f := forecastOn(t, "h200", p, c.method, c.precision)
		if f.Seconds < c.least || f.Seconds > c.most {
			t.Errorf("%s, n = %d, d = %d: %.3g s, want %.3g to %.3g", k.Method(), c.n, c.d, f.Seconds, c.least, c.most)
		}
		if _, slower := forecastOn(t, "h100", p, c.method, c.precision); slower.Seconds < f.Seconds {
			t.Errorf("%s: an H100 takes %.3g s, an H200 %.3g s", k.Method(), slower.Seconds, f.Seconds)
		}
	}
}

// TestForecast: memory is what decides between resident records and panels, a measured model
// comes before a prediction, and there is no time for what has no model.
func TestForecast(t *testing.T) {
	p := engine.Problem{N: 1e6, D: 20, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2}
	k, f := forecastOn(t, "h200", p, AnyMethod, 0)
	for _, less := range []uint64{0, 1} {
		b := k.(*kernel).backend
		b.Memory = f.Memory - less
		must.Equal(t, must.Get(b.Plan(p))(t).(*kernel).grid.resident, less == 0, "%d bytes less than %d", less, f.Memory)
	}
	b := k.(*kernel).backend
	b.Models = &Models{{GPU: "NVIDIA H200", Method: "near-linear", Fixed: 3}}
	again := must.Get(b.Plan(p))(t)
	if f, ok := ForecastOf(again); !ok || !f.Measured || f.Seconds != 3 {
		t.Errorf("%+v", f)
	}
	must.Equal(t, again.Bounds(engine.Query{Pairs: engine.PrefixPairs{T: 2}}).Seconds, 0, "a prefix takes ... s")
	p.Groups = []int{5e5, 5e5}
	if _, f := forecastOn(t, "h200", p, AnyMethod, 0); f.Seconds != 0 || f.Memory == 0 {
		t.Errorf("groups: %+v", f)
	}
	if _, ok := ForecastOf(nil); ok {
		t.Error("no kernel has a forecast")
	}
}

// TestForecastOfMoments: a pass over narrow records is near the rate of the memory, over wide ones bound by
// arithmetic, and gradients after moments have the memory of both.
func TestForecastOfMoments(t *testing.T) {
	d := must.Get(OpenNamed("h200"))(t)
	b := Backend{Device: d, Models: &Models{}}
	for _, c := range []struct {
		n, d        int
		least, most float64
	}{{1e8, 20, 16e9 / 4.8e12, 4 * 16e9 / 4.8e12}, {1e7, 200, 1e7 * 4e4 / 1.5e13, 5 * 1e7 * 4e4 / 1.5e13}} {
		p := engine.Problem{N: c.n, D: c.d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2}
		k := must.Get(b.PlanMoments(p))(t)
		f, ok := ForecastOf(k)
		if !ok || !f.Moments || f.Measured || f.Seconds < c.least || f.Seconds > c.most || k.Bounds(engine.Query{Radius: 1}).Seconds != f.Seconds {
			t.Errorf("n = %d, d = %d: %+v, want %.3g to %.3g s", c.n, c.d, f, c.least, c.most)
		}
		both := must.Get(engine.PlanRecentred(b, p))(t)
		if g, ok := ForecastOf(both); !ok || g.Seconds != f.Seconds || g.Memory <= f.Memory {
			t.Errorf("after moments: %+v", g)
		}
	}
}

// TestNamedGPUsOnlyPlan: a plan has the method and the bounds of a GPU with these numbers, and
// nothing is computed.
func TestNamedGPUsOnlyPlan(t *testing.T) {
	p, r, _ := records(t, 50, 3, 2)
	for _, loss := range []engine.Loss{engine.Logistic{}, engine.MahalanobisLogistic{}} {
		p.Loss = loss
		k, _ := forecastOn(t, "h200", p, AnyMethod, 0)
		f := newFake()
		f.major = 9
		here, err := openFake(t, f).Plan(p)
		if err != nil || here.Method() != k.Method() || here.Bounds(engine.Query{Pairs: p.Pairs()}).Sum != k.Bounds(engine.Query{Pairs: p.Pairs()}).Sum {
			t.Errorf("%s, %v; on a GPU %s, %v, %v", k.Method(), k.Bounds(engine.Query{Pairs: p.Pairs()}).Sum, here.Method(), here.Bounds(engine.Query{Pairs: p.Pairs()}).Sum, err)
		}
		must.Fail(k.Bind(r))(t, ErrNamed, "Bind")
	}
	d, err := OpenNamed("h200")
	if err != nil || d.Close() != nil {
		t.Error(err)
	}
	must.Fail(d.Compile())(t, ErrNamed, "Compile")
	must.Fail(OpenNamed("z1"))(t, "cuda:h200, cuda:h100", "an unknown name")
}
