package cuda

import (
	"context"
	"math"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
)

// metricPrecision is three times the limit of Roundoff per pair in float32.
const metricPrecision = 3 * 6e-6

// metricOptions keep the interpreter's work small.
func metricOptions() enginetest.Options {
	o := enginetest.Options{
		Losses: []engine.ScoreLoss{}, MetricLosses: []engine.MetricLoss{engine.MahalanobisLogistic{}},
		Sizes: []int{2, 67}, Radii: []float64{1}, PerPair: metricPrecision,
	}
	if testing.Short() {
		o.Sizes = []int{3}
	}
	return o
}

// metricLosses are expressions with different instructions.
func metricLosses(t *testing.T) (smooth []engine.MetricLoss) {
	t.Helper()
	for _, text := range []string{"sqrt(1 + u^2) - u", "log(1 + exp(-u))", "(1 - u)^2"} {
		e, err := engine.NewExpression("phi", text, engine.ExpressionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		smooth = append(smooth, engine.Metric{Of: e})
	}
	return smooth
}

func hinge(t *testing.T) engine.Scalar {
	t.Helper()
	l, ok := engine.LibraryByName("hinge")
	if !ok {
		t.Fatal("no hinge loss")
	}
	e, err := l.Expression(engine.ExpressionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestMetricConformance runs the suite of all backends on the embedded PTX, with the
// approximate instructions exact and off by their documented error either way.
func TestMetricConformance(t *testing.T) {
	for _, skew := range []float64{0, 1, -1} {
		f := newFake()
		f.skew = skew
		o := metricOptions()
		if skew != 0 {
			o.Sizes = []int{17}
			if testing.Short() {
				continue
			}
		}
		enginetest.Run(t, openFake(t, f), o)
	}
}

// TestMetricExpressions: the suite with code for phi' that is put into the tiles.
func TestMetricExpressions(t *testing.T) {
	o := metricOptions()
	o.MetricLosses, o.Sizes, o.Radii = metricLosses(t), []int{5}, []float64{2}
	if testing.Short() {
		o.MetricLosses = o.MetricLosses[:1]
	}
	enginetest.Run(t, openFake(t, newFake()), o)
}

// TestMetricDefectsAreFound is the control of TestMetricConformance.
func TestMetricDefectsAreFound(t *testing.T) {
	for name, edit := range map[string][2]string{
		"an operand of the Gram matrix":   {"fma.rn.f32 ", "add.rn.f32 "},
		"log2 e in the code for phi'":     {"0f3FB8AA3B", "0f3FBCAA3B"},
		"a sum that is not atomic":        {"red.global.add.u64", "st.global.u64"},
		"a product in float64":            {"fma.rn.f64 ", "add.rn.f64 "},
		"a fixed point number":            {"cvt.rni.s64.f32", "cvt.s64.s32"},
		"the label product is the margin": {"sub.rn.f32", "add.rn.f32"},
	} {
		if testing.Short() && name != "log2 e in the code for phi'" {
			continue
		}
		f := newFake()
		found := false
		f.edit = func(ptx string) string {
			edited := strings.ReplaceAll(ptx, edit[0], edit[1])
			found = found || edited != ptx
			return edited
		}
		o := metricOptions()
		o.Sizes = []int{3}
		var w watcher
		enginetest.Run(&w, openFake(t, f), o)
		if !found || w.failures == 0 {
			t.Errorf("%s: edited %v, %d failures", name, found, w.failures)
		}
	}
}

// metricProblem returns records with labels of two classes, and a semidefinite W.
func metricProblem(t *testing.T, n, d int) (engine.Problem, *engine.Records, []float64) {
	t.Helper()
	p, r, _ := records(t, n, d, 2)
	p.Loss = engine.MahalanobisLogistic{}
	w := make([]float64, engine.Symmetric{Dim: d}.Len())
	for a := range d {
		w[engine.Symmetric{Dim: d}.Index(a, a)] = 1 / float64(d)
	}
	return p, r, w
}

// TestMetricAgainstCPU: both backends are within their bounds of each other, with
// several tiles, spans and pieces of features, in one launch and in slices.
func TestMetricAgainstCPU(t *testing.T) {
	n, d := 150, 70
	if testing.Short() {
		n = 70
	}
	p, r, w := metricProblem(t, n, d)
	var sums [2][]float64
	var bound float64
	for i, b := range []engine.Backend{cpu.Backend{}, openFake(t, newFake())} {
		k, err := b.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		e, err := k.Bind(r)
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = make([]float64, len(w))
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
	if !(diff <= bound && diff < 1e-6*norm) {
		t.Errorf("the difference %g is above both bounds, %g, or 1e-6 of %g", diff, bound, norm)
	}
	t.Logf("relative difference %.2g, bound %.2g", diff/norm, bound/norm)
}

// TestMetricFailuresLeaveNothing: as TestFailuresLeaveNothing.
func TestMetricFailuresLeaveNothing(t *testing.T) {
	p, r, w := metricProblem(t, 5, 2)
	checkFailures(t, p, r, w)
}
