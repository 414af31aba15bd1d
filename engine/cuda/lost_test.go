package cuda

import (
	"context"
	"errors"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/engine/embedding"
	"dyad/internal/must"
)

// TestOldGPU: a GPU that the kernels were not compiled for is refused when it is opened, before
// records are read, and nothing is left of it.
func TestOldGPU(t *testing.T) {
	for _, g := range []struct {
		major, minor int
		usable       bool
	}{{7, 5, false}, {6, 1, false}, {8, 0, true}, {12, 0, true}} {
		f := newFake()
		f.major, f.minor = g.major, g.minor
		d, err := Open(f, 0)
		if g.usable {
			if err != nil {
				t.Errorf("%d.%d: %v", g.major, g.minor, err)
			} else if err := d.Close(); err != nil {
				t.Error(err)
			}
		} else if d != nil || !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "8.0 or more") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d.%d: %v, %v", g.major, g.minor, d, err)
		}
	}
}

// TestLostGPU: whichever call loses the context, the error is one line, and closing the evaluator
// and the device adds none, for each kind of kernel.
func TestLostGPU(t *testing.T) {
	p, r, w := records(t, 40, 3, 2)
	metric, v := metricMeasured(p)
	data, few := pairData(t, 12, 4, 20, embedding.L2), weights(8, 1)
	sum := func(p engine.Problem, w []float64, how Backend) func(b Backend) error {
		return func(b Backend) error {
			b.Method = how.Method
			k := must.Get(b.Plan(p))(t)
			e, err := k.Bind(r)
			if err != nil {
				return err
			}
			dst := make([]float64, len(w))
			for range 2 { // the second is captured
				err = errors.Join(err, e.Sum(context.Background(), dst, engine.Gradient(w, p.Pairs())))
				if err != nil {
					break
				}
			}
			return errors.Join(err, e.Close())
		}
	}
	for name, job := range map[string]func(b Backend) error{
		"near-linear": sum(p, w, Backend{Method: NearLinear}), "direct": sum(p, w, Backend{Method: Direct}), "metric": sum(metric, v, Backend{}),
		"moments": func(b Backend) error {
			k := must.Get(b.PlanMoments(p))(t)
			e, err := k.Bind(r)
			if err != nil {
				return err
			}
			dst := engine.NewMoments(p.D, engine.NoSecond)
			return errors.Join(e.Sum(context.Background(), dst.All, engine.Query{Radius: 1, Centre: make([]float64, p.D)}), e.Close())
		},
		"pairs": func(b Backend) error {
			s, err := b.Sums(data, embedding.Contrastive{Margin: 1}, 2)
			if err != nil {
				return err
			}
			return errors.Join(s.Sum(context.Background(), make([]float64, 8), few, upTo(0, 20), 0.1, embedding.WholeMatrix), s.Close())
		},
	} {
		// Where a graph cannot be captured the sum goes on without one, to the next call.
		eachCall(t, 8, driver.Result(700), name, func(f *fakeDriver) error { return job(openFake(t, f)) })
	}
}
