package cpu_test

import (
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/kernels"
)

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
