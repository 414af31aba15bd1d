package cpu_test

import (
	"math"
	"testing"
	"time"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

// noMetric leaves metric losses out: they have no near-linear method.
var noMetric = []engine.MetricLoss{}

// onlyAnyLabels accepts that the near-linear method has no tables for any labels.
func onlyAnyLabels(t *testing.T) func(engine.Problem) {
	return func(p engine.Problem) {
		if p.LabelValues != engine.AnyLabels {
			t.Errorf("the near-linear method declines n = %d, radius %g, %d labels", p.N, p.Radius, p.LabelValues)
		}
	}
}

func TestConformance(t *testing.T) {
	for _, method := range []cpu.Method{cpu.Auto, cpu.Direct, cpu.NearLinear} {
		t.Run(method.String(), func(t *testing.T) {
			opts := enginetest.Options{
				Short:       testing.Short() || !sizes.Full() && method != cpu.Auto,
				WithWorkers: func(k int) engine.Backend { return cpu.Backend{Workers: k, Method: method} },
			}
			if method != cpu.Auto {
				opts.MetricLosses = noMetric // Auto covers them
			}
			if method == cpu.NearLinear {
				opts.Radii = []float64{0.05, 1} // the others below
			}
			if method == cpu.NearLinear {
				opts.Unsupported = onlyAnyLabels(t)
			}
			enginetest.Run(t, cpu.Backend{Method: method}, opts)
		})
	}
}

// TestNearLinearOverLargeRange uses few sizes, because over a large range a few
// records cost as much as a hundred thousand, and so does a group.
func TestNearLinearOverLargeRange(t *testing.T) {
	sizes.NotShort(t, "slow")
	enginetest.Run(t, cpu.Backend{Method: cpu.NearLinear}, enginetest.Options{
		MetricLosses: noMetric,
		Unsupported:  onlyAnyLabels(t),
		Sizes:        []int{3, 129},
		Groups:       sizes.Of([][]int{}, [][]int{{3, 1, 30}}),
		Radii:        []float64{20},
	})
	enginetest.Run(t, cpu.Backend{Method: cpu.NearLinear}, enginetest.Options{
		Losses:       []engine.ScoreLoss{engine.Logistic{}},
		MetricLosses: noMetric,
		Unsupported:  onlyAnyLabels(t),
		Sizes:        []int{129},
		Groups:       sizes.Of([][]int{}, [][]int{{3, 1, 30}}),
		Radii:        []float64{sizes.Of(60.0, 200)},
	})
}

// TestVariants runs the suite on every variant of the kernels that this processor has,
// and says which it lacks. TestConformance covers the fastest one at more sizes.
func TestVariants(t *testing.T) {
	for _, v := range []kernels.Variant{kernels.Generic, kernels.AVX2, kernels.AVX512} {
		t.Run(v.String(), func(t *testing.T) {
			if _, err := kernels.Select(v); err != nil {
				t.Skip(err)
			}
			sizes, radii := sizes.Of([]int{3, 65}, []int{3, 65, 300}), []float64{0.05, 1}
			if testing.Short() {
				sizes, radii = []int{33}, []float64{1}
			}
			for _, method := range []cpu.Method{cpu.Auto, cpu.Direct, cpu.NearLinear} {
				if testing.Short() && method != cpu.Auto {
					continue // TestConformance has them for one variant
				}
				opts := enginetest.Options{
					Sizes: sizes,
					Radii: radii,
					WithWorkers: func(k int) engine.Backend {
						return cpu.Backend{Workers: k, Method: method, Variant: v}
					},
				}
				if method != cpu.Auto {
					opts.MetricLosses = noMetric
				}
				if method == cpu.NearLinear {
					opts.Unsupported = onlyAnyLabels(t)
				}
				if method == cpu.Direct {
					opts.Radii = []float64{1, 200} // factored and not
				}
				enginetest.Run(t, cpu.Backend{Method: method, Variant: v}, opts)
			}
		})
	}
}

func TestVariantOfPlan(t *testing.T) {
	problem := func(n int, radius float64) engine.Problem {
		return engine.Problem{N: n, D: 20, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: radius}
	}
	for _, v := range []kernels.Variant{-1, kernels.AVX512 + 1} {
		must.Fail((cpu.Backend{Variant: v}).Plan(problem(10, 1)))(t, engine.ErrUnsupported, "Plan with variant ", v)
	}
	// What is public does not depend on the processor.
	for _, n := range []int{10, 130, 1000, 1000000} {
		for _, radius := range []float64{0.1, 1, 100} {
			want := must.Get(cpu.Backend{Variant: kernels.Generic}.Plan(problem(n, radius)))(t)
			for _, v := range kernels.Variants() {
				got := must.Get(cpu.Backend{Variant: v}.Plan(problem(n, radius)))(t)
				pairs := engine.AllPairs{N: n}
				if got.Method() != want.Method() || got.Bounds(engine.Query{Pairs: pairs}).Sum != want.Bounds(engine.Query{Pairs: pairs}).Sum {
					t.Errorf("n=%d radius %v: %v plans %s with roundoff %v, generic %s with %v", n, radius, v,
						got.Method(), got.Bounds(engine.Query{Pairs: pairs}).Sum, want.Method(), want.Bounds(engine.Query{Pairs: pairs}).Sum)
				}
			}
		}
	}
}

// TestSingleConformance runs the suite on metric pairs in float32: within Roundoff, the same bits
// for any number of workers, dense or sparse.
func TestSingleConformance(t *testing.T) {
	sizes, radii := []int{2, 65, 129}, []float64{1, 10}
	if testing.Short() {
		sizes, radii = []int{33}, []float64{1}
	}
	for _, v := range kernels.Variants() {
		t.Run(v.String(), func(t *testing.T) {
			with := func(k int) engine.Backend {
				return cpu.Backend{Workers: k, Variant: v, Float32: true}
			}
			enginetest.Run(t, with(0), enginetest.Options{
				Losses: []engine.ScoreLoss{}, MetricLosses: []engine.MetricLoss{engine.MahalanobisLogistic{}},
				Sizes: sizes, Radii: radii, PerPair: 2e-4, WithWorkers: with,
				// Bounds of the suite go up to margins beyond float32.
				Unsupported: func(p engine.Problem) {
					if p.Radius*p.Bounds.FeatureNorm < 2 {
						t.Errorf("declines %+v", p)
					}
				},
			})
		})
	}
}

// A pace is a number within reason for every kind of problem, also those that have no estimate of
// their own, in little time; and where a gradient takes longer than the model says, it is larger.
func TestPace(t *testing.T) {
	hinge, _ := engine.LibraryByName("hinge")
	e := must.Get(hinge.Expression(engine.ExpressionOptions{}))(t)
	for name, p := range map[string]engine.Problem{
		"near-linear": {N: 10_000_000, D: 20, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2},
		"sorted":      {N: 1_000_000, D: 20, Bounds: engine.UnitBounds(), Loss: engine.Score{Of: e}, Radius: 1, LabelValues: 2},
		"metric":      {N: 100_000, D: 10, Bounds: engine.UnitBounds(), Loss: engine.Metric{Of: engine.Logistic{}}, Radius: 1, LabelValues: 2},
		"groups":      {N: 60, D: 4, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, Groups: []int{30, 30}},
		"wide":        {N: 1000, D: 100_000, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2},
		"wide metric": {N: 1000, D: 90_000, Bounds: engine.UnitBounds(), Loss: engine.Metric{Of: engine.Logistic{}}, Radius: 1, LabelValues: 2},
		"tiny":        {N: 2, D: 1, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2},
	} {
		start := time.Now()
		pace := cpu.Backend{}.Pace(p)
		if took := time.Since(start); !(pace > 1e-3 && pace < 1e4) || math.IsInf(pace, 0) || took > 20*time.Second {
			t.Errorf("%s: pace %v after %v", name, pace, took)
		}
		t.Log(name, pace, time.Since(start))
	}
}
