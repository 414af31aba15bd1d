package cuda

import (
	"context"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// metricLimits are three times the limits of Roundoff per pair.
var metricLimits = map[Precision]float64{FP32: 3 * 6e-6, BF16x3: 3 * 1e-4}

// metricOptions keep the interpreter's work small.
func metricOptions(p Precision) enginetest.Options {
	o := enginetest.Options{
		Losses: []engine.ScoreLoss{}, MetricLosses: []engine.MetricLoss{engine.MahalanobisLogistic{}},
		Sizes: []int{2, 67}, Radii: []float64{1}, PerPair: metricLimits[p],
	}
	if !sizes.Full() {
		o.Sizes = map[bool][]int{false: {19}, true: {2, 19}}[p == FP32] // TestMetricAgainstCPU has several tiles of every precision
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
		e := must.Get(engine.NewExpression("phi", text, engine.ExpressionOptions{}))(t)
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
	return must.Get(l.Expression(engine.ExpressionOptions{}))(t)
}

// openMetric returns the backend on the interpreter with a precision.
func openMetric(t *testing.T, f *fakeDriver, p Precision) Backend {
	t.Helper()
	b := openFake(t, f)
	b.Precision = p
	return b
}

// TestMetricConformance runs the suite of all backends on the embedded PTX, with the
// approximate instructions and the tensor cores exact and off by their assumed error
// either way.
func TestMetricConformance(t *testing.T) {
	for i, p := range []Precision{FP32, BF16x3} {
		skews := []float64{0, 1, -1}
		if !sizes.Full() { // what the skewed instructions compute is the same at every precision
			skews = [][]float64{{0, 1}, {0, -1}}[i]
		}
		for _, skew := range skews {
			f := newFake()
			f.skew = skew
			o := metricOptions(p)
			if skew != 0 {
				o.Sizes = []int{5}
				if testing.Short() {
					continue
				}
			}
			enginetest.Run(t, openMetric(t, f, p), o)
		}
	}
}

// TestMetricExpressions: the suite with code for phi' that is put into the tiles.
func TestMetricExpressions(t *testing.T) {
	sizes.NotShort(t, "slow")
	for i, p := range []Precision{BF16x3, FP32} {
		o := metricOptions(p)
		o.MetricLosses, o.Sizes, o.Radii = metricLosses(t), []int{5}, []float64{2}
		if !sizes.Full() {
			o.MetricLosses = o.MetricLosses[i : i+1]
		}
		enginetest.Run(t, openMetric(t, newFake(), p), o)
	}
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
		f := defective(replacing(edit[0], edit[1]))
		o := metricOptions(FP32)
		o.Sizes = []int{3}
		if failed := fails(openMetric(t, f, FP32), o); !f.edited || !failed {
			t.Errorf("%s: edited %v, found %v", name, f.edited, failed)
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

// TestMetricAgainstCPU: the sums are within the bound of the CPU's, with several
// tiles and pieces of features, and the errors are as small as one expects of the
// precision.
func TestMetricAgainstCPU(t *testing.T) {
	sizes.NotShort(t, "slow")
	const n, d = 150, 70
	p, r, w := metricProblem(t, n, d)
	exact := must.Get(sumOf(cpu.Backend{}, p, r, w))(t)
	for precision, limit := range map[Precision]float64{FP32: 1e-7, BF16x3: 3e-6} {
		if testing.Short() && precision == FP32 {
			continue
		}
		b := openMetric(t, newFake(), precision)
		k := must.Get(b.Plan(p))(t)
		sum := must.Get(sumOf(b, p, r, w))(t)
		bound := k.Bounds(engine.Query{Pairs: engine.AllPairs{N: n}}).Sum
		diff, norm := apartBy(sum, exact), norm2(sum)
		if !(diff <= bound && diff < limit*norm) {
			t.Errorf("%v: the difference %g is above the bound, %g, or %g of %g", precision, diff, bound, limit, norm)
		}
		t.Logf("%v: relative difference %.2g, bound %.2g", precision, diff/norm, bound/norm)
	}
}

// TestMetricNeighbours: replacing a record changes the error of the sum by at most twice
// NeighbourRoundoff, at its worst place and for all precisions, and a defect in the sums
// over spans is found.
func TestMetricNeighbours(t *testing.T) {
	sizes.NotShort(t, "slow")
	n, d := 66, 3
	p, r, w := metricProblem(t, n, d)
	far := func(at int) *engine.Records {
		x, y := make([]float64, n*d), append([]float64(nil), r.Labels()...)
		for i := range n {
			r.Row(i, x[i*d:(i+1)*d])
		}
		for k := range d {
			x[at*d+k] = -x[at*d+k]
		}
		y[at] = -y[at]
		return must.Get(engine.NewRecords(x, y, d, p.Bounds))(t)
	}
	change := func(b engine.Backend, next *engine.Records) []float64 {
		before := must.Get(sumOf(b, p, r, w))(t)
		after := must.Get(sumOf(b, p, next, w))(t)
		for k := range after {
			after[k] -= before[k]
		}
		return after
	}
	for _, precision := range []Precision{FP32, BF16x3} {
		for _, skew := range []float64{0, 1} {
			for _, defect := range []bool{false, true} {
				if skew == 0 && (defect || precision != FP32 && !sizes.Full()) {
					continue
				}
				f := newFake()
				f.skew = skew
				if defect {
					f.edit = replacing("cvt.rni.s64.f32", "cvt.s64.s32")
				}
				b := openMetric(t, f, precision)
				k := must.Get(b.Plan(p))(t)
				pairs := engine.AllPairs{N: n}
				bound := k.Bounds(engine.Query{Pairs: pairs}).OneRecord()
				var most float64
				for _, at := range []int{0, n - 1} {
					next := far(at)
					got, want := change(b, next), change(cpu.Backend{}, next)
					most = max(most, apartBy(got, want))
				}
				if (most <= 2*bound) == defect || bound > k.Bounds(engine.Query{Pairs: pairs}).Sum {
					t.Errorf("%v, skew %v, defect %v: the error changes by %g, the bound is %g, Roundoff %g", precision, skew, defect, most, 2*bound, k.Bounds(engine.Query{Pairs: pairs}).Sum)
				}
			}
		}
	}
}

// TestMetricNoiseForRoundoff: what a certificate of one gradient pays for rounding does
// not grow with n, and is at most 2 % of the sensitivity.
func TestMetricNoiseForRoundoff(t *testing.T) {
	sizes.NotShort(t, "slow")
	for _, precision := range []Precision{FP32, BF16x3} {
		for _, n := range []int{1e3, 1e5, 1e7} {
			p := engine.Problem{N: n, D: 64, Bounds: engine.UnitBounds(), Loss: engine.MahalanobisLogistic{}, Radius: 1}
			k := must.Get(openMetric(t, newFake(), precision).Plan(p))(t)
			c := must.Get(p.Loss.Constants(p.Bounds, p.Radius))(t)
			pairs := engine.AllPairs{N: n}
			sensitivity := float64(pairs.MaxPerRecord()) * c.PairDiameter
			near, far := 2*k.Bounds(engine.Query{Pairs: pairs}).OneRecord()/sensitivity, 2*k.Bounds(engine.Query{Pairs: pairs}).Sum/sensitivity
			if near > 0.02 || near > far {
				t.Errorf("%v, n = %d: %.2g of the sensitivity, by the distance %.2g", precision, n, near, far)
			}
			t.Logf("%v, n = %d: %.2g of the sensitivity, by the distance %.2g", precision, n, near, far)
		}
	}
}

// TestMetricSlices: a context that is cancelled between launches stops the computation,
// and the next one is as if it had not been there.
func TestMetricSlices(t *testing.T) {
	sizes.NotShort(t, "two spans of columns take seconds")
	p, r, w := metricProblem(t, 1030, 1)
	f := newFake()
	f.dry = true
	k := must.Get(openMetric(t, f, BF16x3).Plan(p))(t)
	k.(*metricKernel).pairsPerLaunch = 1
	e := must.Get(k.Bind(r))(t)
	defer e.Close()
	ctx, cancel := context.WithCancel(context.Background())
	launches := func() int { return f.called("Launch metric_tiles") }
	f.fail = func(string) error {
		if launches() > 0 {
			cancel()
		}
		return nil
	}
	dst := make([]float64, len(w))
	if err := e.Sum(ctx, dst, engine.Gradient(w, engine.AllPairs{N: p.N})); err != context.Canceled || launches() != 1 {
		t.Errorf("%d launches, error %v", launches(), err)
	}
	if err := e.Sum(context.Background(), dst, engine.Gradient(w, engine.AllPairs{N: p.N})); err != nil || launches() != 3 {
		t.Errorf("%d launches, error %v", launches(), err)
	}
}

// TestPrecisions: names are read as they are written, and reports name what runs.
func TestPrecisions(t *testing.T) {
	p, _, _ := metricProblem(t, 10, 3)
	for _, precision := range []Precision{AutoPrecision, FP32, BF16x3} {
		must.Equal(t, must.Get(ParsePrecision(precision.String()))(t), precision, "%v", precision)
		want := "direct, " + precision.String()
		if precision == AutoPrecision {
			want = "direct, bf16x3"
		}
		must.Equal(t, must.Get(openMetric(t, newFake(), precision).Plan(p))(t).Method(), want, "%v", precision)
	}
	must.Err(ParsePrecision("fp16"))(t, "fp16 was accepted")
}

// TestVariantsAreRefused: the tiles of bench/gpu/variants are not chosen by name, nor by times that were measured of them.
func TestVariantsAreRefused(t *testing.T) {
	for _, name := range []string{"tf32", "wgmma"} {
		must.Err(ParsePrecision(name))(t, "%s was accepted", name)
		f := newFake()
		f.major = 9
		b := openFake(t, f)
		b.Models = &Models{{GPU: "PTX interpreter", Method: "direct, bf16x3", PerPair: 2e-12}, {GPU: "PTX interpreter", Method: "direct, " + name, PerPair: 1e-12}}
		k, err := b.Plan(engine.Problem{N: 1e5, D: 64, Bounds: engine.UnitBounds(), Loss: engine.MahalanobisLogistic{}, Radius: 1})
		if err != nil || k.Method() != "direct, bf16x3" {
			t.Errorf("%s is measured to be faster: %v, %v", name, k, err)
		}
	}
}

// TestMetricFailuresLeaveNothing: as TestFailuresLeaveNothing.
func TestMetricFailuresLeaveNothing(t *testing.T) {
	sizes.NotShort(t, "slow")
	p, r, w := metricProblem(t, 5, 2)
	checkFailures(t, Backend{Precision: FP32}, 1<<40, p, r, w)
}
