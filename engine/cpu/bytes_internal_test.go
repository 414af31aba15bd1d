package cpu

import (
	"context"
	"runtime"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// What an evaluator holds is within a factor of 2 of what its kernel said, for every method.
func TestBytes(t *testing.T) {
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	score := func(name string) engine.Loss {
		l, ok := engine.LibraryByName(name)
		if !ok {
			t.Fatal(name)
		}
		e := must.Get(l.Expression(engine.ExpressionOptions{}))(t)
		return engine.Score{Of: e}
	}
	for name, c := range map[string]struct {
		n, d   int
		loss   engine.Loss
		radius float64
		method Method
	}{
		"near-linear":     {200_000, 5, engine.Logistic{}, 1, NearLinear},
		"near-linear 20":  {400_000, 20, engine.Logistic{}, 1, NearLinear},
		"near-linear, 5":  {200_000, 5, engine.Logistic{}, 5, NearLinear},
		"near-linear, 25": {200_000, 5, engine.Logistic{}, 25, NearLinear},
		"sorted":          {200_000, 5, score("hinge"), 1, Sorted},
		"direct":          {5000, 20, engine.Logistic{}, 1, Direct},
		"metric":          {3000, 20, engine.Metric{Of: engine.Logistic{}}, 1, Auto},
		"metric 5":        {3000, 5, engine.Metric{Of: engine.Logistic{}}, 1, Auto},
	} {
		p := engine.Problem{N: c.n, D: c.d, Bounds: engine.UnitBounds(), Loss: c.loss, Radius: c.radius, LabelValues: 2}
		k := must.Get(Backend{Workers: 2, Method: c.method}.Plan(p))(t)
		x, y := make([]float64, c.n*c.d), make([]float64, c.n)
		for i := range x {
			x[i] = float64(i*7919%2001-1000) / 8000
		}
		for i := range y {
			y[i] = float64(2*(i%2) - 1)
		}
		r := must.Get(engine.AdoptRecords(x, y, c.d, p.Bounds))(t)
		before := heap()
		e := must.Get(k.Bind(r))(t)
		sum, w := make([]float64, c.loss.ParamDim(c.d)), make([]float64, c.loss.ParamDim(c.d))
		w[0] = 0.9 * c.radius
		must.Do(t, e.Sum(context.Background(), sum, engine.Gradient(w, p.Pairs())))
		if got, said := heap()-before, k.Bounds(engine.Gradient(nil, p.Pairs())).Bytes; got > 2*said || got < said/2 {
			t.Errorf("%s: %.3g bytes, the kernel said %.3g", name, got, said)
		} else {
			t.Logf("%s: %.3g bytes, the kernel said %.3g", name, got, said)
		}
		e.Close()
		runtime.KeepAlive(r)
	}
}
