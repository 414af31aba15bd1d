package cpu_test

import (
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/internal/sizes"
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
