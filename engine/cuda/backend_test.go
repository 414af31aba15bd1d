package cuda

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/cuda/driver"
	"dyad/engine/enginetest"
)

// openFake returns the backend on the interpreter.
func openFake(t *testing.T, f *fakeDriver) Backend {
	t.Helper()
	d, err := Open(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return Backend{Device: d}
}

// singlePrecision is the limit of Roundoff per pair of terms in float32.
const singlePrecision = 4e-6

// options keep the interpreter's work small.
func options() enginetest.Options {
	o := enginetest.Options{
		Losses: []engine.ScoreLoss{engine.Logistic{}}, MetricLosses: []engine.MetricLoss{},
		Sizes: []int{2, 129}, Radii: []float64{1, 200}, PerPair: singlePrecision,
	}
	if testing.Short() {
		o.Sizes, o.Radii = []int{3}, []float64{1}
	}
	return o
}

// TestConformance runs the suite of all backends on the embedded PTX, with the
// approximate instructions exact and off by their documented error either way.
func TestConformance(t *testing.T) {
	for _, skew := range []float64{0, 1, -1} {
		f := newFake()
		f.skew = skew
		o := options()
		if skew != 0 {
			o.Sizes = []int{17}
			if testing.Short() {
				continue // package ptxtest does this for the tiles alone
			}
		}
		enginetest.Run(t, openFake(t, f), o)
	}
}

// watcher is an enginetest.T that counts failures.
type watcher struct{ failures int }

func (*watcher) Helper()                 {}
func (*watcher) Logf(string, ...any)     {}
func (w *watcher) Errorf(string, ...any) { w.failures++ }

// TestDefectsAreFound is the control of TestConformance: small defects of the kernels
// and of the code for phi' fail it.
func TestDefectsAreFound(t *testing.T) {
	for name, edit := range map[string][2]string{
		"one half off by 2^-13":        {"0f3F000000;", "0f3F000800;"},
		"constant of the exponential":  {"0dBFE62E42FEE00000", "0dBFE62F42FEE00000"},
		"log2 e in the code for phi'":  {"0f3FB8AA3B", "0f3FBCAA3B"},
		"a sum that is not atomic":     {"red.global.add.u64", "st.global.u64"},
		"a column of X not multiplied": {"fma.rn.f64 ", "add.rn.f64 "},
		"marker left":                  {"ex2.approx.ftz.f32 %phi1", "//"},
	} {
		f := newFake()
		found := false
		f.edit = func(ptx string) string {
			edited := strings.ReplaceAll(ptx, edit[0], edit[1])
			found = found || edited != ptx
			return edited
		}
		o := options()
		o.Sizes, o.Radii = []int{3}, []float64{1}
		if testing.Short() && name != "one half off by 2^-13" {
			continue
		}
		var w watcher
		enginetest.Run(&w, openFake(t, f), o)
		if !found || w.failures == 0 {
			t.Errorf("%s: edited %v, %d failures", name, found, w.failures)
		}
	}
}

func records(t *testing.T, n, d int, labels int) (engine.Problem, *engine.Records, []float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), uint64(d)))
	x, y, w := make([]float64, n*d), make([]float64, n), make([]float64, d)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = 2*float64(rng.IntN(labels))/float64(labels-1) - 1
	}
	w[0] = 1
	p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: labels}
	r, err := engine.NewRecords(x, y, d, p.Bounds)
	if err != nil {
		t.Fatal(err)
	}
	return p, r, w
}

// TestAgainstCPU: both backends are within their bounds of each other, also with
// several tiles, strips and panels.
func TestAgainstCPU(t *testing.T) {
	for _, labels := range []int{2, 5} {
		n := 700
		if testing.Short() {
			n = 150
		}
		p, r, w := records(t, n, 3, labels)
		var sums [2][]float64
		var bound float64
		for i, b := range []engine.Backend{cpu.Backend{Method: cpu.Direct}, openFake(t, newFake())} {
			k, err := b.Plan(p)
			if err != nil {
				t.Fatal(err)
			}
			e, err := k.Bind(r)
			if err != nil {
				t.Fatal(err)
			}
			sums[i] = make([]float64, p.D)
			if err := e.GradSum(context.Background(), sums[i], w, engine.AllPairs{N: n}); err != nil {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			bound += k.Roundoff(engine.AllPairs{N: n})
		}
		var diff, norm float64
		for k := range sums[0] {
			diff = math.Hypot(diff, sums[0][k]-sums[1][k])
			norm = math.Hypot(norm, sums[0][k])
		}
		if !(diff <= bound) {
			t.Errorf("%d labels: the difference %g is above both bounds, %g", labels, diff, bound)
		}
		t.Logf("%d labels: relative difference %.2g, bound %.2g", labels, diff/norm, bound/norm)
	}
}

// TestPlanDeclines: what a GPU cannot do is said before any record is bound.
func TestPlanDeclines(t *testing.T) {
	base := engine.Problem{N: 1000, D: 10, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	for name, change := range map[string]func(*engine.Problem, *fakeDriver){
		"memory":              func(p *engine.Problem, f *fakeDriver) { f.memory = 1 << 20 },
		"query groups":        func(p *engine.Problem, f *fakeDriver) { p.Groups = []int{500, 500} },
		"records":             func(p *engine.Problem, f *fakeDriver) { p.N = 1 << 30 },
		"other losses":        func(p *engine.Problem, f *fakeDriver) { p.Loss = enginetest.SmoothHinge{} },
		"other metric losses": func(p *engine.Problem, f *fakeDriver) { p.Loss = enginetest.SmoothMetric{} },
		"memory for a metric loss": func(p *engine.Problem, f *fakeDriver) {
			p.Loss, f.memory = engine.MahalanobisLogistic{}, 1<<20
		},
		"a metric loss that is not smooth": func(p *engine.Problem, f *fakeDriver) {
			p.Loss = engine.Metric{Of: hinge(t)}
		},
		"range of float32 for a metric loss": func(p *engine.Problem, f *fakeDriver) {
			p.Loss, p.Bounds.FeatureNorm, p.Radius = engine.MahalanobisLogistic{}, 0x1p-60, 0x1p110
		},
		"rounding errors of a metric loss": func(p *engine.Problem, f *fakeDriver) {
			p.Loss, p.Radius = engine.MahalanobisLogistic{}, 1e4
		},
		"range of float32": func(p *engine.Problem, f *fakeDriver) {
			p.LabelValues, p.Bounds.LabelAbs, p.Radius = engine.AnyLabels, 0x1p-60, 0x1p60
		},
	} {
		p, f := base, newFake()
		change(&p, f)
		if _, err := openFake(t, f).Plan(p); !errors.Is(err, engine.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := openFake(t, newFake()).Plan(base); err != nil {
		t.Errorf("without a change: %v", err)
	}
}

// TestMethodIsPublic: the method follows the schema and the bounds.
func TestMethodIsPublic(t *testing.T) {
	p := engine.Problem{N: 1000, D: 10, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 32}
	b := openFake(t, newFake())
	for _, c := range []struct {
		radius float64
		labels int
		want   string
	}{{32 * (1 - 0x1p-19), 2, "direct, factored"}, {33, 2, "direct"}, {1, 3, "direct"}, {1, engine.AnyLabels, "direct"}} {
		p.Radius, p.LabelValues = c.radius, c.labels
		k, err := b.Plan(p)
		if err != nil || k.Method() != c.want {
			t.Errorf("%+v: %v, %v", c, k, err)
		}
	}
}

// TestFailuresLeaveNothing: whatever call of the driver fails, the error arrives and
// the memory of the GPU is free afterwards (closing the device checks it).
func TestFailuresLeaveNothing(t *testing.T) {
	p, r, w := records(t, 40, 3, 2)
	checkFailures(t, AutoPrecision, p, r, w)
}

// checkFailures lets each call of the driver fail in turn.
func checkFailures(t *testing.T, precision Precision, p engine.Problem, r *engine.Records, w []float64) {
	t.Helper()
	for number := 0; ; number++ {
		f := newFake()
		b := openMetric(t, f, precision)
		calls, failed := 0, false
		f.fail = func(string) error {
			calls++
			if calls-1 != number {
				return nil
			}
			failed = true
			return driver.Result(2)
		}
		k, err := b.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		e, err := k.Bind(r)
		if err == nil {
			err = e.GradSum(context.Background(), make([]float64, len(w)), w, engine.AllPairs{N: p.N})
			if closed := e.Close(); closed != nil {
				t.Error(closed)
			}
			if again := e.GradSum(context.Background(), make([]float64, len(w)), w, engine.AllPairs{N: p.N}); again == nil {
				t.Error("GradSum after Close")
			}
		}
		if !failed {
			if err != nil {
				t.Error(err)
			}
			if number < 15 {
				t.Errorf("only %d calls could fail", number)
			}
			return
		}
		var code driver.Result
		if !errors.As(err, &code) || code != 2 {
			t.Errorf("call %d failed and the error is %v", number, err)
		}
	}
}
