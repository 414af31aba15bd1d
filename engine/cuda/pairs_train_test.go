package cuda

import (
	"context"
	"math"
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/privacy"
)

// TestPairsTraining: a whole run on the GPU is that on the CPU but for rounding, and not
// the same by accident; both have the same plan and noise.
func TestPairsTraining(t *testing.T) {
	for _, c := range []struct {
		name string
		spec pairs.Spec
	}{
		{"gaussian", pairs.Spec{Kappa: 30, Budget: privacy.Budget{Epsilon: 5, Delta: 1e-5}}},
		{"laplace", pairs.Spec{Kappa: 30, Budget: privacy.Budget{Epsilon: 50}, Noise: privacy.LaplaceNoise, Shrink: true}},
		{"paper", pairs.Spec{Kappa: 30, Budget: privacy.Budget{Epsilon: 50}, Noise: privacy.LaplaceNoise, Mode: algorithms.Paper}},
		{"nonprivate", pairs.Spec{Mode: algorithms.NonPrivate}},
		{"input", pairs.Spec{Kappa: 30, Budget: privacy.Budget{Epsilon: 50}, Method: pairs.Input}},
	} {
		spec := c.spec
		spec.Individuals, spec.Pairs, spec.Dim, spec.Rows, spec.Bound = 20, 60, 5, 3, 1
		spec.Batch, spec.Epochs, spec.Loss, spec.Clip = 25, 2, embedding.Contrastive{Margin: 1}, 0.1
		p := must.Get(spec.Plan())(t)
		data := pairData(t, 20, 5, 60, spec.Norm())
		var w [3][]float64
		f := newFake()
		for k, o := range []pairs.Options{{}, {Engine: openFake(t, f)}, {}} {
			o.Public = true
			if o.Source = privacy.NewSeededSource(5); k == 2 {
				o.Source = privacy.NewSeededSource(6)
			}
			r := must.Get(pairs.Run(context.Background(), data, nil, p, o))(t)
			w[k] = r.Weights
		}
		if f.machine.Counts["cvt.rzi.s64.f64"] == 0 {
			t.Errorf("%s: the GPU summed nothing", c.name)
		}
		off, control := 0.0, 0.0
		for i := range w[0] {
			off, control = max(off, math.Abs(w[0][i]-w[1][i])), max(control, math.Abs(w[0][i]-w[2][i]))
		}
		if size := math.Abs(slices.Max(w[0])); !(off <= 1e-10*(1+size)) || control < 1e-3 {
			t.Errorf("%s: the GPU's matrix is off by %g, another seed's by %g", c.name, off, control)
		}
		t.Logf("%s: off by %g, another seed by %g", c.name, off, control)
	}
}
