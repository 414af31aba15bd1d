package cuda

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/privacy"
)

// TestPairsDecline: what a GPU cannot do is said before anything is computed.
func TestPairsDecline(t *testing.T) {
	data := pairData(t, 12, 4, 20, embedding.L2)
	small := newFake()
	small.memory = 1 << 20
	for name, c := range map[string]struct {
		fake *fakeDriver
		loss embedding.ListLoss
		rows int
		want error
	}{
		"memory":       {small, embedding.BradleyTerry{}, 1, engine.ErrUnsupported},
		"margin":       {newFake(), embedding.Contrastive{Margin: 1e40}, 2, engine.ErrUnsupported},
		"another loss": {newFake(), otherPairLoss{}, 1, engine.ErrUnsupported},
		"rows":         {newFake(), embedding.BradleyTerry{}, 2, nil},
		"no loss":      {newFake(), nil, 2, nil},
	} {
		if _, err := openFake(t, c.fake).Sums(data, c.loss, c.rows); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := openPairs(t, openFake(t, newFake()), data, embedding.Contrastive{Margin: 1}, 2)
	w, dst := make([]float64, s.Len()), make([]float64, s.Len())
	ctx := context.Background()
	bad := slices.Clone(w)
	bad[3] = math.NaN()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for name, err := range map[string]error{
		"pair":      s.Sum(ctx, dst, w, []int32{20}, 1, 0),
		"weights":   s.Sum(ctx, dst, bad, []int32{1}, 1, 0),
		"length":    s.Sum(ctx, dst[1:], w, []int32{1}, 1, 0),
		"clip":      s.Sum(ctx, dst, w, []int32{1}, 0, 0),
		"cancelled": s.Sum(cancelled, dst, w, []int32{1}, 1, 0),
	} {
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	dst[0] = 1
	if err := s.Sum(ctx, dst, w, nil, 1, 0); err != nil || dst[0] != 0 {
		t.Errorf("no pairs: %v, %v", dst, err)
	}
}

type otherPairLoss struct{ embedding.BradleyTerry }

// TestPairsFailuresLeaveNothing: whatever call of the driver fails, the error arrives, and
// closing the device finds nothing left.
func TestPairsFailuresLeaveNothing(t *testing.T) {
	data := pairData(t, 12, 4, 20, embedding.L2)
	w := weights(8, 1)
	eachCall(t, 15, driver.Result(2), "pairs", func(f *fakeDriver) error {
		s, err := openFake(t, f).Sums(data, embedding.Contrastive{Margin: 1}, 2)
		if err != nil {
			return err
		}
		sum := func() error {
			return s.Sum(context.Background(), make([]float64, 8), w, upTo(0, 20), 0.1, embedding.WholeMatrix)
		}
		err = sum()
		must.CheckDo(t, s.Close())
		must.ErrDo(t, sum(), "Sum after Close")
		return err
	})
}

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
