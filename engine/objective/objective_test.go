package objective

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	"dyad/kernels"
)

// phiLoss is a score loss given by phi alone.
type phiLoss struct {
	engine.Logistic
	phi func(u float64) float64
}

func (l phiLoss) Phi(u float64) float64 { return l.phi(u) }

func (l phiLoss) Value(w []float64, z, zp engine.Record) float64 {
	var s float64
	for k := range w {
		s += w[k] * (z.X[k] - zp.X[k])
	}
	return l.phi((z.Y - zp.Y) * s)
}

// asymmetric is a loss that is no ScoreLoss and depends on the order of a pair.
type asymmetric struct{}

func (asymmetric) Name() string                               { return "asymmetric" }
func (asymmetric) Definition() string                         { return "(w.x - 2 w.x')^2 + y" }
func (asymmetric) ParamDim(d int) int                         { return d }
func (asymmetric) AddGrad(_, _ []float64, _, _ engine.Record) {}
func (asymmetric) Constants(engine.Bounds, float64) (engine.Constants, error) {
	return engine.Constants{}, errors.New("not needed")
}
func (asymmetric) Value(w []float64, z, zp engine.Record) float64 {
	var s float64
	for k := range w {
		s += w[k] * (z.X[k] - 2*zp.X[k])
	}
	return s*s + z.Y
}

// slowMean is the definition.
func slowMean(loss engine.Loss, w []float64, r *engine.Records) float64 {
	n, d := r.Len(), r.Dim()
	x := make([]float64, n*d)
	for i := range n {
		r.Row(i, x[i*d:(i+1)*d])
	}
	var a accumulator
	for i := range n {
		for j := range n {
			if i != j {
				a.add(loss.Value(w, engine.Record{X: x[i*d : (i+1)*d], Y: r.Label(i)}, engine.Record{X: x[j*d : (j+1)*d], Y: r.Label(j)}))
			}
		}
	}
	return a.value() / float64(n) / float64(n-1)
}

func sample(t testing.TB, n, d int, labels []float64) *engine.Records {
	t.Helper()
	c := rand.New(rand.NewPCG(1, uint64(n)))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		y[i] = labels[c.IntN(len(labels))]
		for k := range d {
			x[i*d+k] = c.Float64() - 0.5 + 0.2*y[i]
		}
	}
	return must.Get(engine.AdoptRecords(x, y, d, engine.UnitBounds()))(t)
}

func near(got, want, tol float64) bool { return math.Abs(got-want) <= tol*math.Abs(want) }

// All ways agree with the definition.
func TestMeanEqualsDefinition(t *testing.T) {
	ctx := t.Context()
	binary, graded, one := []float64{-1, 1}, []float64{-1, -0.25, 0.5, 1}, []float64{1}
	for _, c := range []struct {
		name   string
		loss   engine.Loss
		labels []float64
	}{
		{"binary", engine.Logistic{}, binary},
		{"labels 0 and 1", engine.Logistic{}, []float64{0, 1}},
		{"one class", engine.Logistic{}, one},
		{"graded", engine.Logistic{}, graded},
		{"no score loss", asymmetric{}, binary},
	} {
		r := sample(t, 90, 3, c.labels)
		for _, exact := range []int{exactRecords, 0} {
			got, err := mean(ctx, c.loss, []float64{2, -1, 4}, r, 2, exact)
			if want := slowMean(c.loss, []float64{2, -1, 4}, r); err != nil || !near(got, want, 1e-12) {
				t.Errorf("%s, exact up to %d: got %v, %v, want %v", c.name, exact, got, err, want)
			}
		}
	}
}

// metricSample is a symmetric matrix of large distances, not semidefinite, and records of
// more than two tiles, dense or sparse.
func metricSample(t testing.TB, n, d int, sparse bool) (*engine.Records, []float64) {
	r := sample(t, n, d, []float64{-1, -0.25, 0, 1})
	w := make([]float64, engine.Symmetric{Dim: d}.Len())
	for i := range w {
		w[i] = 30 * math.Sin(float64(i))
	}
	if !sparse {
		return r, w
	}
	start, index, value, x := []int64{0}, []int32{}, []float64{}, make([]float64, d)
	for i := range n {
		r.Row(i, x)
		for k := i % 2; k < d; k += 2 {
			index, value = append(index, int32(k)), append(value, x[k])
		}
		start = append(start, int64(len(index)))
	}
	s := must.Get(engine.NewSparseRecords(start, index, value, r.Labels(), d, engine.UnitBounds()))(t)
	return s, w
}

func TestMetricEqualsDefinition(t *testing.T) {
	for _, n := range []int{2, 3, 48, 97, 250} {
		if testing.Short() && n > 100 {
			continue // the definition takes all pairs one by one
		}
		for _, d := range []int{1, 5, 30} {
			for _, sparse := range []bool{false, true} {
				r, w := metricSample(t, n, d, sparse)
				got, err := mean(t.Context(), engine.MahalanobisLogistic{}, w, r, 2, 0)
				if want := slowMean(engine.MahalanobisLogistic{}, w, r); err != nil || !near(got, want, 1e-12) {
					t.Errorf("n %d, d %d, sparse %v: got %v, %v, want %v", n, d, sparse, got, err, want)
				}
				for _, workers := range []int{1, 7} {
					if again, err := mean(t.Context(), engine.MahalanobisLogistic{}, w, r, workers, 0); err != nil || again != got {
						t.Errorf("n %d, d %d: %v with %d workers, %v with 2 (%v)", n, d, again, workers, got, err)
					}
				}
			}
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	r, w := metricSample(t, 100, 3, false)
	must.Fail(mean(done, engine.MahalanobisLogistic{}, w, r, 2, 0))(t, context.Canceled)
}

// BenchmarkMetric compares tiles with values pair by pair.
func BenchmarkMetric(b *testing.B) {
	const n, d = 500, 32
	r, w := metricSample(b, n, d, false)
	for name, sum := range map[string]func() (float64, error){
		"tiles": func() (float64, error) { return metricPairs(b.Context(), engine.MahalanobisLogistic{}, w, r, 1) },
		"pairs": func() (float64, error) { return anyPairs(b.Context(), engine.MahalanobisLogistic{}, w, r, 1) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				must.Get(sum())(b)
			}
		})
	}
}

func TestSparse(t *testing.T) {
	r := must.Get(engine.NewSparseRecords([]int64{0, 1, 3, 3}, []int32{1, 0, 1}, []float64{0.5, 0.25, -0.5}, []float64{1, -1, 1}, 2, engine.UnitBounds()))(t)
	w := []float64{3, -2}
	for _, loss := range []engine.Loss{engine.Logistic{}, asymmetric{}} {
		got, err := Mean(t.Context(), loss, w, r)
		if want := slowMean(loss, w, r); err != nil || !near(got, want, 1e-13) {
			t.Errorf("%s: got %v, %v, want %v", loss.Name(), got, err, want)
		}
	}
}

// The binned sum agrees with the direct one for smooth, kinked, jumping and wild
// losses, from nearly equal scores to very large ones.
func TestBinned(t *testing.T) {
	losses := map[string]func(u float64) float64{
		"logistic":      engine.Logistic{}.Phi,
		"hinge":         func(u float64) float64 { return max(0, 1-u) },
		"squared hinge": func(u float64) float64 { return max(0, 1-u) * max(0, 1-u) },
		"jump": func(u float64) float64 {
			if u <= 0 {
				return 1
			}
			return 0
		},
		"wild":        func(u float64) float64 { return 2 + math.Sin(1e5*u) },
		"exponential": func(u float64) float64 { return math.Exp(-u) },
		"bump":        func(u float64) float64 { return 1 / (1 + 100*u*u) },
	}
	r := sample(t, 3000, 2, []float64{-1, 1})
	for name, phi := range losses {
		loss := phiLoss{phi: phi}
		for _, scale := range []float64{1e-9, 1, 30, 1000} {
			if name == "exponential" && scale > 100 {
				continue // overflows
			}
			c, _ := twoClasses(scores(r, []float64{scale, scale / 2}), r.Labels())
			got := must.Get(c.binned(t.Context(), loss, 2))(t)
			want, err := c.direct(t.Context(), loss, 2)
			if err != nil || !near(got, want, 1e-11) {
				t.Errorf("%s at scale %v: binned %v, direct %v (%v)", name, scale, got, want, err)
			}
		}
	}
}

// The check of the interpolation finds a corner of phi, and only there; without
// it the value would be off. Positive control of the guard.
func TestKernelRefusesCorner(t *testing.T) {
	g := newGrid(0, 10, 20) // width 0.5
	hinge := phiLoss{phi: func(u float64) float64 { return max(0, 1-u) }}
	for distance := -19; distance <= 19; distance++ {
		// u lies in 0.5 [distance - 1, distance + 1]; the corner u = 1 is inside
		// for distance 2 and at an end for 1 and 3.
		if k := g.kernel(hinge, distance); (k == nil) != (distance == 2) {
			t.Errorf("distance %d: interpolated %v", distance, k != nil)
		}
	}
	inside := newGrid(0, 10, 20)
	inside.test = [tests][nodes]float64{} // a check that compares with 0
	if inside.kernel(hinge, -5) != nil {
		t.Error("wrong interpolation weights passed the check")
	}
	narrow := phiLoss{phi: func(u float64) float64 { return max(0, 1-1e-9-u) }} // corner just before an end
	if g.kernel(narrow, 1) != nil {
		t.Error("a corner 1e-9 before the end of the interval was missed")
	}
}

func TestSameBits(t *testing.T) {
	for _, c := range []struct {
		n      int
		labels []float64
		loss   engine.Loss
	}{{tiledTimes*exactRecords + 1, []float64{-1, 1}, engine.Logistic{}}, {2500, []float64{-1, 1}, engine.Logistic{}}, {400, []float64{-1, 1}, engine.Logistic{}}, {400, []float64{-1, 0, 1}, engine.Logistic{}}, {100, []float64{-1, 1}, asymmetric{}}} {
		r := sample(t, c.n, 3, c.labels)
		want := must.Get(mean(t.Context(), c.loss, []float64{5, 1, -2}, r, 1, exactRecords))(t)
		for _, workers := range []int{2, 7} {
			if got, err := mean(t.Context(), c.loss, []float64{5, 1, -2}, r, workers, exactRecords); err != nil || got != want {
				t.Errorf("n %d: %v with %d workers, %v with 1 (%v)", c.n, got, workers, want, err)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	r := sample(t, 10, 2, []float64{-1, 1})
	single := sample(t, 1, 2, []float64{1})
	must.Err(Mean(t.Context(), engine.Logistic{}, []float64{1, 1}, single))(t, "one record: no error")
	must.Err(Mean(t.Context(), engine.Logistic{}, []float64{1}, r))(t, "dimension: no error")
	must.Err(Mean(t.Context(), engine.Logistic{}, []float64{1, math.NaN()}, r))(t, "NaN: no error")
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, labels := range [][]float64{{-1, 1}, {-1, 0, 1}} {
		for _, exact := range []int{exactRecords, 0} {
			must.Fail(mean(done, engine.Logistic{}, []float64{1, 1}, sample(t, 50, 2, labels), 2, exact))(t, context.Canceled)
		}
	}
	must.Fail(mean(done, asymmetric{}, []float64{1, 1}, r, 2, 0))(t, context.Canceled)
}

func BenchmarkMean(b *testing.B) {
	r := sample(b, 100000, 10, []float64{-1, 1})
	w := []float64{5, 1, -2, 0, 0, 3, 1, 1, -4, 2}
	for name, loss := range map[string]engine.Loss{"logistic": engine.Logistic{}, "hinge": phiLoss{phi: func(u float64) float64 { return max(0, 1-u) }}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				must.Get(Mean(b.Context(), loss, w, r))(b)
			}
		})
	}
}

// randomClasses are scores with the given scale; positive ones are higher by the shift.
func randomClasses(high, low int, scale, shift float64) classes {
	rng := rand.New(rand.NewPCG(uint64(high), uint64(low)))
	c := classes{high: make([]float64, high), low: make([]float64, low), same: 3}
	for i := range c.high {
		c.high[i] = scale*(2*rng.Float64()-1) + shift
	}
	for j := range c.low {
		c.low[j] = scale * (2*rng.Float64() - 1)
	}
	return c
}

// Tiles have the stated error and refuse what they have not. Positive control: the stated
// error is far below a single pair of these.
func TestLogisticEqualsDirect(t *testing.T) {
	for _, v := range []struct {
		high, low    int
		scale, shift float64
		refuses      bool
	}{
		{1, 1, 0, 0, false},
		{3, 700, 2, 1, false},
		{130, 515, 1, -1, false},
		{300, 200, 1e-9, 0, false},
		{256, 256, 1, 1000, true},   // margins of 1000
		{256, 256, 70, 1e-3, false}, // up to 140
		{256, 256, 1, 7.5, true},    // a mean near 7e-4
		{256, 256, 1, 6, false},     // near 3e-3
		{20, 30, 1, -150, false},    // each log(1 + e^v) near 150
		{20, 30, 95, 0, true},       // up to 190
		{20, 30, 1, math.NaN(), true},
	} {
		c := randomClasses(v.high, v.low, v.scale, v.shift)
		got, ok, err := c.logistic(t.Context(), 2)
		if err != nil || ok == v.refuses {
			t.Errorf("%+v: accepted %v, %v", v, ok, err)
			continue
		}
		if v.refuses {
			continue
		}
		want, err := c.direct(t.Context(), engine.Logistic{}, 1)
		if err != nil || !near(got, want, 5e-13) {
			t.Errorf("%+v: got %v, want %v (%v)", v, got, want, err)
		}
		c.high[0] += 1e-3
		if other, err := c.direct(t.Context(), engine.Logistic{}, 1); err != nil || near(got, other, 5e-13) {
			t.Errorf("%+v: the bound does not see a score that is off by 1e-3 (%v)", v, err)
		}
	}
	// Scores far from 0 whose exponentials overflow, unlike those of their differences.
	c := randomClasses(50, 60, 3, 0)
	for _, x := range [][]float64{c.high, c.low} {
		for i := range x {
			x[i] += 5000
		}
	}
	got, ok, err := c.logistic(t.Context(), 1)
	if want, _ := c.direct(t.Context(), engine.Logistic{}, 1); err != nil || !ok || !near(got, want, 5e-13) {
		t.Errorf("far from 0: got %v, want %v (%v, %v)", got, want, ok, err)
	}
}

// Each way is taken for its range of records, and one that refuses leaves the sum to the next.
func TestLogisticFallsBack(t *testing.T) {
	for _, shift := range []float64{0, 10, 2 * kernels.MaxLogisticMargin} {
		c := randomClasses(40, 50, 1, shift)
		want := must.Get(c.direct(t.Context(), engine.Logistic{}, 1))(t)
		for _, exact := range []int{90, 90 / tiledTimes, 0} {
			if got, err := c.sum(t.Context(), engine.Logistic{}, 1, exact); err != nil || !near(got, want, 1e-11) {
				t.Errorf("shift %v, exact up to %d: got %v, want %v (%v)", shift, exact, got, want, err)
			}
		}
	}
}
