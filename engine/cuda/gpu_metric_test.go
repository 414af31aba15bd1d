package cuda

import (
	"context"
	"errors"
	"math"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
)

// metricFloor is the time in seconds that gradient sums of n records with d features
// take at least on an H200: the tensor part, 2 d n^2 operations at 60 % of the peak for each
// of the products of a precision (70 % on ordinary cores), or the 2 special functions
// of each pair, 16 a clock and multiprocessor.
func metricFloor(p Precision, n, d int) float64 {
	work := 2 * float64(d) * float64(n) * float64(n)
	special := float64(n) * float64(n) / (16 * 132 * 1.755e9)
	switch p {
	case BF16x3:
		return max(3*work/(0.6*989e12), special)
	case TF32:
		return max(work/(0.6*495e12), special)
	}
	return work/(0.7*67e12) + special // the same pipes
}

// TestMetricFloor: the floors of bf16x3 at n = 10^5 are those of the design: 6.5 and 26
// milliseconds at d = 64 and 256.
func TestMetricFloor(t *testing.T) {
	for d, want := range map[int]float64{64: 6.5e-3, 256: 26e-3} {
		if got := metricFloor(BF16x3, 1e5, d); math.Abs(got/want-1) > 0.02 {
			t.Errorf("d = %d: %g", d, got)
		}
	}
}

// measureMetric times gradient sums of the Mahalanobis loss in each precision and compares
// them with the CPU's, in float64.
func measureMetric(t *testing.T, b Backend) (all []measurement, err error) {
	for _, n := range []int{1e4, 1e5} {
		for _, d := range []int{64, 128, 256} {
			p, r, _ := measured(t, n, d, 2)
			p.Loss = engine.MahalanobisLogistic{}
			w := make([]float64, p.Loss.ParamDim(d))
			for a := range d {
				w[engine.Symmetric{Dim: d}.Index(a, a)] = 1 / math.Sqrt(float64(d)) * (1 - 0x1p-20)
			}
			reference, err := sumOf(cpu.Backend{}, p, r, w)
			if err != nil {
				return all, err
			}
			for _, precision := range []Precision{FP32, BF16x3, TF32} {
				b.Precision = precision
				m, err := measure(b, p, r, w)
				if err != nil {
					return all, err
				}
				sum, err := sumOf(b, p, r, w)
				if err != nil {
					return all, err
				}
				var diff, size float64
				for k := range sum {
					diff, size = math.Hypot(diff, sum[k]-reference[k]), math.Hypot(size, reference[k])
				}
				m.Labels, m.Error, m.OfFloor = 2, diff/size, metricFloor(precision, n, d)/m.Seconds
				if limit := map[Precision]float64{FP32: 1e-6, BF16x3: 1e-6, TF32: 1e-3}[precision]; m.Error > limit {
					t.Errorf("%+v: the error is above %g", m, limit)
				}
				t.Logf("%+v", m)
				all = append(all, m)
			}
		}
	}
	return all, nil
}

// sumOf is the gradient sum over all pairs of the problem.
func sumOf(b engine.Backend, p engine.Problem, r *engine.Records, w []float64) ([]float64, error) {
	k, err := engine.Grouped{Backend: b}.Plan(p)
	if err != nil {
		return nil, err
	}
	e, err := k.Bind(r)
	if err != nil {
		return nil, err
	}
	sum := make([]float64, len(w))
	err = e.GradSum(context.Background(), sum, w, p.Pairs())
	return sum, errors.Join(err, e.Close())
}
