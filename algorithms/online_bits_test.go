package algorithms

import (
	"context"
	"math"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// scripted is a session whose releases are the same numbers whatever is released, and
// which notes the exact queries: two streams on it have the same past.
type scripted struct {
	privacy.Session
	exact [][]float64
}

func (s *scripted) Release(x []float64, _ privacy.Certificate, _ privacy.Mechanism) error {
	s.exact = append(s.exact, slices.Clone(x))
	for k := range x {
		x[k] = math.Sin(float64(3*len(s.exact) + k))
	}
	return nil
}

// PairwiseStream charges nothing, not even roundoff, for an update that no pair with the
// replaced record is in: its query must have the same bits. A row that lies unused in
// memory, or a kernel that looks at rows outside of its pairs, would break that.
func TestUntouchedUpdatesHaveTheSameBits(t *testing.T) {
	const n, d, replaced = 60, 3, 20
	for _, loss := range []engine.Loss{engine.Logistic{}, engine.MahalanobisLogistic{}} {
		for _, o := range []StreamOptions{
			{Horizon: n, Buffer: 4}, {Horizon: n, Buffer: 7, Batch: 3}, {Horizon: n, Buffer: 1, Batch: 2, BurnIn: 14},
		} {
			spec := must.Get(NewStreamSpec(cpu.Backend{}, engine.Problem{N: 2, D: d, Bounds: engine.UnitBounds(), Loss: loss, Radius: 1}, o, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, Certified))(t)
			p := must.Get(OnPairC{}.Plan(spec))(t)
			queries := func(replace bool) [][]float64 {
				s := &scripted{Session: openStream(t, p, 3)}
				online := must.Get(NewStream(p, s))(t)
				for i := 1; i <= n; i++ {
					x, y := []float64{0.4 * math.Cos(float64(i)), 0.5 * math.Sin(2*float64(i)), 0.3}, float64(i%2*2-1)
					if i == replaced && replace {
						x, y = []float64{-0.9, 0.1, -0.4}, -y
					}
					must.Get(online.Step(context.Background(), x, y))(t)
				}
				return s.exact
			}
			a, b := queries(false), queries(true)
			batch, first := p.Spec.Batch, p.Spec.BurnIn
			moved := false
			for i := range a {
				from, to := first+i*batch+1, first+(i+1)*batch // records of the update
				touched := to >= replaced && from <= replaced+o.Buffer
				same := slices.EqualFunc(a[i], b[i], func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
				if !same && !touched {
					t.Errorf("%s, %+v: update %d is not of the record and has other bits: %v %v", loss.Name(), o, i+1, a[i], b[i])
				}
				// The last update that is touched moves: counting one record less would fail.
				moved = moved || !same && from <= replaced+o.Buffer && to >= replaced+o.Buffer
			}
			if !moved {
				t.Errorf("%s, %+v: the last touched update has the same bits: the test cannot fail", loss.Name(), o)
			}
		}
	}
}
