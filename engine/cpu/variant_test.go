package cpu_test

import (
	"errors"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	power "dyad/internal/sizes"
	"dyad/kernels"
)

// TestVariants runs the suite on every variant of the kernels that this processor has,
// and says which it lacks. TestConformance covers the fastest one at more sizes.
func TestVariants(t *testing.T) {
	for _, v := range []kernels.Variant{kernels.Generic, kernels.AVX2, kernels.AVX512} {
		t.Run(v.String(), func(t *testing.T) {
			if _, err := kernels.Select(v); err != nil {
				t.Skip(err)
			}
			sizes, radii := power.Of([]int{3, 65}, []int{3, 65, 300}), []float64{0.05, 1}
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
		if _, err := (cpu.Backend{Variant: v}).Plan(problem(10, 1)); !errors.Is(err, engine.ErrUnsupported) {
			t.Errorf("Plan with variant %d: %v, want ErrUnsupported", v, err)
		}
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
