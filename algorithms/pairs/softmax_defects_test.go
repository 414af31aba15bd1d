package pairs_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/internal/must"
)

// byAnchor clips the gradient of every anchor's loss as a whole, as if it were a function of its own pair: the defect that the
// decomposition avoids.
func byAnchor(t testing.TB, p *pairs.Plan, x []float64) pairs.BatchSum {
	s := p.Spec
	loss := s.Loss.(embedding.InfoNCE)
	data := disjoint(t, s, x)
	pass := must.Get(s.Network.Model.NewTermPass())(t)
	return func(_ context.Context, dst, w []float64, _ int, members []int32, clip float64) error {
		pass.Set(w)
		clear(dst)
		for _, i := range members {
			var e []float64
			var g [][]float64
			total := 0.0
			for _, j := range members {
				f, own := make([]float64, 4), make([]float64, len(w))
				pass.Embed(f, slices.Concat(data.Row(int(2*i)), data.Row(int(2*j+1))), 2)
				pass.Pull(own, []float64{f[2], f[3], f[0], f[1]}, 2)
				e, g = append(e, math.Exp((f[0]*f[2]+f[1]*f[3])/loss.Temperature)), append(g, own)
				total += e[len(e)-1]
			}
			row, norm := make([]float64, len(w)), 0.0
			for at, j := range members {
				c := e[at] / total
				if i == j {
					c--
				}
				for k, v := range g[at] {
					row[k] += c / loss.Temperature * v
				}
			}
			for _, v := range row {
				norm = math.Hypot(norm, v)
			}
			for k, v := range row {
				dst[k] += v * min(1, 2/loss.Temperature*clip/max(norm, 1e-300))
			}
		}
		return nil
	}
}

// Known defects move a release by more than the certificate that goes with them.
func TestSoftmaxDefectsAreCaught(t *testing.T) {
	s := softmaxSpec(t, 24, embedding.InfoNCE{Temperature: 1})
	p := planOf(t, s)
	certified := p.Certificate().Sensitivity()
	scaled := func(by float64) softmaxSums {
		return func(t testing.TB, p *pairs.Plan, x []float64) pairs.BatchSum {
			sum := ownSoftmax(t, p, x)
			return func(ctx context.Context, dst, w []float64, step int, members []int32, clip float64) error {
				err := sum(ctx, dst, w, step, members, clip)
				for k := range dst {
					dst[k] *= by
				}
				return err
			}
		}
	}
	m, a := float64(s.Pairs-1), math.Exp(-2)
	for name, c := range map[string]struct {
		build     softmaxSums
		certified float64
		caught    bool
	}{
		"the control":                      {ownSoftmax, certified, false},
		"a clip twice as large":            {scaled(2), certified, true},
		"noise for the pair's own softmax": {ownSoftmax, 2 * m / (m + a) / float64(s.Batch), true},
		"noise for one clipped anchor":     {ownSoftmax, 2 * 2 / float64(s.Batch), true},
		"a temperature of 2 for 1":         {ownSoftmax, planOf(t, softmaxSpec(t, 24, embedding.InfoNCE{Temperature: 2})).Certificate().Sensitivity(), true},
		"anchors are clipped as a whole":   {byAnchor, certified, true},
	} {
		worst := 0.0
		for _, angle := range []float64{0.02, 0.5, 1.5, 2.6, 3.1} {
			x, theta := signed(s, angle)
			worst = max(worst, lastPairMoves(t, p, x, theta, c.build))
		}
		must.Equal(t, worst > 1.2*c.certified, c.caught, "%s: one pair moves the release by %v, certified %v", name,
			worst, c.certified)
	}
}
