package cuda

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/cuda/driver"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

// openFake returns the backend on the interpreter.
func openFake(t *testing.T, f *fakeDriver) Backend {
	t.Helper()
	d := must.Get(Open(f, 0))(t)
	t.Cleanup(func() {
		must.CheckDo(t, d.Close())
	})
	return Backend{Device: d}
}

// singlePrecision is the limit of Roundoff per pair of terms in float32.
const singlePrecision = 4e-6

// options keep the interpreter's work small.
func options(sizes []int, radius float64) enginetest.Options {
	return enginetest.Options{
		Losses: []engine.ScoreLoss{engine.Logistic{}}, MetricLosses: []engine.MetricLoss{},
		Sizes: sizes, Radii: []float64{radius}, PerPair: singlePrecision, Groups: [][]int{},
	}
}

// TestConformance runs the suite of all backends on the methods that visit every pair,
// with the approximate instructions exact and off by their documented error either way.
func TestConformance(t *testing.T) {
	for _, c := range []struct {
		skew   float64
		sizes  []int
		radius float64
	}{{0, []int{2, sizes.Of(66, 129)}, 1}, {0, []int{17}, 200}, {1, []int{17}, 1}, {-1, []int{17}, 1}} {
		f := newFake()
		f.skew = c.skew
		if testing.Short() {
			if c.skew != 0 || c.radius != 1 {
				continue // package ptxtest does this for the tiles alone
			}
			c.sizes = []int{3}
		}
		b := openFake(t, f)
		b.Method = Direct
		enginetest.Run(t, b, options(c.sizes, c.radius))
	}
}

// TestNearLinearConformance runs the suite on the near-linear method, whose Roundoff is
// that of float64: of the size of the CPU's for one group of terms, and larger for two
// groups (radius 2.5) and eight (6). Only problems with too many labels are declined.
func TestNearLinearConformance(t *testing.T) {
	b := openFake(t, newFake())
	b.Method = NearLinear
	for _, c := range []struct {
		loss    engine.ScoreLoss
		radii   []float64
		sizes   []int
		perPair float64
	}{
		{engine.Logistic{}, []float64{1}, []int{2, sizes.Of(66, 129)}, 1e-12},
		{engine.Logistic{}, []float64{2.5, 6}, []int{17}, 5e-12},
		{enginetest.SmoothHinge{}, []float64{1}, []int{17}, 3e-12},
	} {
		o := enginetest.Options{Losses: []engine.ScoreLoss{c.loss}, MetricLosses: []engine.MetricLoss{}, Radii: c.radii, Sizes: c.sizes, PerPair: c.perPair, Groups: [][]int{}}
		if testing.Short() {
			if c.radii[0] != 1 || c.loss != engine.ScoreLoss(engine.Logistic{}) {
				continue
			}
			o.Sizes = []int{3}
		}
		o.Unsupported = func(p engine.Problem) {
			if p.LabelLimit() <= maxClasses {
				t.Errorf("declined: %s, radius %v, %d labels", p.Loss.Name(), p.Radius, p.LabelLimit())
			}
		}
		enginetest.Run(t, b, o)
	}
}

// watcher is an enginetest.T that counts failures.
type watcher struct{ failures int }

func (*watcher) Helper()                 {}
func (*watcher) Logf(string, ...any)     {}
func (w *watcher) Errorf(string, ...any) { w.failures++ }

// fails says whether the suite finds a fault in a backend, and stops it at the first.
func fails(b engine.Backend, o enginetest.Options) bool {
	var s stopper
	done := make(chan struct{})
	go func() {
		defer close(done)
		enginetest.Run(&s, b, o)
	}()
	<-done
	return s.failed
}

// stopper is an enginetest.T whose goroutine ends at the first failure.
type stopper struct {
	watcher
	failed bool
}

func (s *stopper) Errorf(string, ...any) {
	s.failed = true
	runtime.Goexit()
}

// TestDefectsAreFound is the control of TestConformance: small defects of the kernels
// and of the code for phi' fail it.
func TestDefectsAreFound(t *testing.T) {
	for _, c := range []struct {
		name   string
		method Method
		edit   [2]string
	}{
		{"one half off by 2^-13", Direct, [2]string{"0f3F000000;", "0f3F000800;"}},
		{"constant of the exponential", Direct, [2]string{"0dBFE62E42FEE00000", "0dBFE62F42FEE00000"}},
		{"log2 e in the code for phi'", Direct, [2]string{"0f3FB8AA3B", "0f3FBCAA3B"}},
		{"a sum that is not atomic", Direct, [2]string{"red.global.add.u64", "st.global.u64"}},
		{"a column of X not multiplied", Direct, [2]string{"fma.rn.f64 ", "add.rn.f64 "}},
		{"marker left", Direct, [2]string{"ex2.approx.ftz.f32 %phi1", "//"}},
		{"a half in the series off by 2^-20", NearLinear, [2]string{"0d3FE0000000000000", "0d3FE0000100000000"}},
		{"a sum of moments without the second record", NearLinear, [2]string{"neg.f64", "mov.f64"}},
	} {
		name, edit := c.name, c.edit
		f := defective(replacing(edit[0], edit[1]))
		o := options([]int{2}, 1)
		if strings.Contains(edit[1], "st.global") || strings.Contains(edit[0], "f3FB8") || strings.Contains(edit[0], "phi1") {
			o.Sizes = []int{3} // two records have one term, and two labels at most
		}
		if testing.Short() && name != "one half off by 2^-13" {
			continue
		}
		b := openFake(t, f)
		if b.Method = c.method; b.Method == NearLinear {
			o.PerPair, o.Unsupported = 1e-12, func(engine.Problem) {}
		}
		if failed := fails(b, o); !f.edited || !failed {
			t.Errorf("%s: edited %v, failed %v", name, f.edited, failed)
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
	r := must.Get(engine.NewRecords(x, y, d, p.Bounds))(t)
	return p, r, w
}

// TestAgainstCPU: both backends are within their bounds of each other, also with
// several tiles, strips and panels.
func TestAgainstCPU(t *testing.T) {
	for _, c := range []struct {
		n, labels int
		method    Method
	}{{700, 2, Direct}, {700, 5, Direct}, {700, 5, NearLinear}, {2500, 2, NearLinear}} {
		n, labels := c.n, c.labels
		if testing.Short() {
			n = 150
		}
		p, r, w := records(t, n, 3, labels)
		gpu := openFake(t, newFake())
		gpu.Method = c.method
		var sums [2][]float64
		var bound float64
		for i, b := range []engine.Backend{cpu.Backend{Method: cpu.Direct}, gpu} {
			k := must.Get(b.Plan(p))(t)
			sums[i] = must.Get(sumOf(b, p, r, w))(t)
			bound += k.Bounds(engine.Query{Pairs: engine.AllPairs{N: n}}).Sum
		}
		diff, norm := apartBy(sums[0], sums[1]), norm2(sums[0])
		must.Within(t, diff, 0, bound, "%+v: the difference ... is above both bounds", c)
		t.Logf("%+v: relative difference %.2g, bound %.2g", c, diff/norm, bound/norm)
	}
}

// TestPlanDeclines: what a GPU cannot do is said before any record is bound.
func TestPlanDeclines(t *testing.T) {
	base := engine.Problem{N: 1000, D: 10, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	for name, change := range map[string]func(*engine.Problem, *fakeDriver){
		"memory": func(p *engine.Problem, f *fakeDriver) { f.memory = 1 << 20 },
		"query groups of a metric loss": func(p *engine.Problem, f *fakeDriver) {
			p.Loss, p.Groups = engine.MahalanobisLogistic{}, []int{500, 500}
		},
		"records": func(p *engine.Problem, f *fakeDriver) { p.N = 1 << 30 },
		"other losses": func(p *engine.Problem, f *fakeDriver) {
			p.Loss, p.LabelValues = enginetest.SmoothHinge{}, engine.AnyLabels
		},
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
		refused(openFake(t, f).Plan(p))(t, name)
	}
	must.Check(openFake(t, newFake()).Plan(base))(t, "without a change")
}

// TestMethodIsPublic: the method follows the schema and the bounds.
func TestMethodIsPublic(t *testing.T) {
	p := engine.Problem{N: 1000, D: 10, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}}
	for _, c := range []struct {
		radius float64
		labels int
		method Method
		want   string // "" for none
	}{
		{9, 2, AnyMethod, "near-linear"}, {9, 2, Direct, "direct, factored"}, {4, 16, NearLinear, "near-linear"}, {9, 16, NearLinear, ""},
		{9, 17, NearLinear, ""}, {9, 17, AnyMethod, "direct"}, {12, 2, NearLinear, ""}, {9, 2, NearLinear + 1, ""},
		{12 * (1 - 0x1p-19), 2, Direct, "direct, factored"}, {12, 2, AnyMethod, "direct"}, {1, 3, Direct, "direct"}, {1, engine.AnyLabels, AnyMethod, "direct"},
	} {
		b := openFake(t, newFake())
		p.Radius, p.LabelValues, b.Method = c.radius, c.labels, c.method
		k, err := b.Plan(p)
		if c.want == "" && err == nil || c.want != "" && (err != nil || k.Method() != c.want) {
			t.Errorf("%+v: %v, %v", c, k, err)
		}
	}
}

// TestFailuresLeaveNothing: whatever call of the driver fails, the error arrives and
// the memory of the GPU is free afterwards (closing the device checks it).
func TestFailuresLeaveNothing(t *testing.T) {
	p, r, w := records(t, 40, 3, 2)
	checkFailures(t, Backend{Method: NearLinear}, 1<<40, p, r, w)
	persons, rows := personsOf(t, p, r, 1, 3)
	checkFailures(t, Backend{Method: NearLinear}, 1<<40, persons, rows, w)
	checkFailures(t, Backend{Method: Direct}, 1<<40, persons, rows, w)
	if testing.Short() {
		return
	}
	checkFailures(t, Backend{Method: Direct}, 1<<40, p, r, w)
	p, r, w = records(t, 5000, 3, 2) // two panels and more
	checkFailures(t, Backend{Method: NearLinear}, tinyMemory, p, r, w)
}

// checkFailures lets each call of the driver fail in turn.
func checkFailures(t *testing.T, how Backend, memory uint64, p engine.Problem, r *engine.Records, w []float64) {
	t.Helper()
	eachCall(t, 15, driver.Result(2), p.Loss.Name(), func(f *fakeDriver) error {
		f.memory = memory
		b := openFake(t, f)
		b.Method, b.Precision = how.Method, how.Precision
		e, err := must.Get(b.Plan(p))(t).Bind(r)
		if err != nil {
			return err
		}
		sum := func(pairs engine.Pairs) error {
			return e.Sum(context.Background(), make([]float64, len(w)), engine.Gradient(w, pairs))
		}
		err = sum(engine.AllPairs{N: p.N})
		if err == nil && !p.ByPerson() {
			err = sum(engine.PrefixPairs{T: p.N - 1})
		}
		must.CheckDo(t, e.Close())
		must.ErrDo(t, sum(engine.AllPairs{N: p.N}), "GradSum after Close")
		return err
	})
}

// TestCompile: every embedded program is compiled, and one that is not a program is named.
func TestCompile(t *testing.T) {
	must.Equal(t, len(must.Get(openFake(t, newFake()).Device.Compile())(t)), len(kernels.PTXNames()), "programs")
	f := newFake()
	f.edit = func(ptx string) string {
		if strings.Contains(ptx, ".entry pair_sums(") {
			ptx = strings.ReplaceAll(ptx, "cvt.rzi.s64.f64", "frobnicate")
		}
		return ptx
	}
	must.Fail(openFake(t, f).Device.Compile())(t, "pairs.ptx", "a program that does not compile")
}
