package pairs_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/account"
)

// signedAt is signed with the odd pair at any place, and with its features at the place of three coordinates among d.
func signedAt(s pairs.Spec, angle float64, odd, at int) (x, theta []float64) {
	x, theta = make([]float64, s.Individuals*s.Dim), make([]float64, 2*s.Dim)
	of := func(k int) int { return (at + k) % s.Dim }
	theta[of(0)], theta[s.Dim+of(1)] = 1, 1
	sin, cos := math.Sincos(angle)
	for i := range s.Pairs {
		sign := 1.0
		if i == odd {
			sign = -1
		}
		x[2*i*s.Dim+of(0)] += 0.9 * sign
		for k, v := range []float64{-0.3 * cos, -0.3 * sin, -0.9} {
			x[(2*i+1)*s.Dim+of(k)] += v * sign
		}
	}
	return x, theta
}

// At all sizes, and wherever the pair stands, replacing both of its records moves a release about a batch of it by no more than
// the plan accounts for a pair that is replaced, and by a good part of it in three dimensions or more, where cosines can turn.
func TestSoftmaxOfEverySize(t *testing.T) {
	for _, c := range sizes.Cells(t, 1.2e6, 1) {
		for _, loss := range []embedding.InfoNCE{{Temperature: 2}, {Temperature: 5, Symmetric: true}} {
			s := softmaxSpec(t, c.N, loss)
			net := must.Get(embedding.NewMLP(embedding.MLP{In: c.D, Out: 2}))(t)
			s.Dim, s.Batch, s.Epochs, s.Clip, s.Network.Model.Network = c.D, min(c.N, 60), 1, 1e-3, net // a smaller clip pays for roundings
			at := []int{0, c.D / 2, c.D - 1}[c.Unit%3]
			x, theta := signedAt(s, 0.02, c.Unit, at)
			s.Network.Start = theta
			p := planOf(t, s)
			plain, _ := signedAt(s, 0.02, -1, at)
			closest := 0.0
			run := func(x []float64, before *attack.Recorder) *attack.Recorder {
				r := &attack.Recorder{Session: &oneBatch{unit: c.Unit, size: s.Batch}, Of: before}
				must.Get(pairs.Train(context.Background(), disjoint(t, s, x), nil, p, r, 1, algorithms.Tracker{}))(t)
				return r
			}
			whole := run(x, nil)
			// Past v and on the other side of u, the gradients of both softmaxes turn around (docs/theory.md#softmax-replaced).
			turned := slices.Clone(x)
			for k, v := range []float64{-0.9 * math.Cos(0.04), -0.9 * math.Sin(0.04), 0} {
				of := (at + k) % c.D
				turned[2*c.Unit*c.D+of] = v
				turned[(2*c.Unit+1)*c.D+of] = []float64{0.3 * math.Cos(0.02), -0.3 * math.Sin(0.02), 0.9}[k]
			}
			far := slices.Clone(x)
			for k := range 2 * c.D {
				far[2*c.Unit*c.D+k] *= -1e200
			}
			for _, other := range [][]float64{plain, turned, far} {
				closest = max(closest, run(other, whole).Moves()[0].By/replacedMove(p))
			}
			if !(closest <= 1) || c.D > 2 && closest < map[bool]float64{false: 0.85, true: 0.2}[loss.Symmetric] {
				t.Errorf("%s, %v: a pair moves the release by %v of what the plan accounts for", loss.Name(), c, closest)
			}
		}
	}
}

// replacedMove is how far the plan accounts for a pair that is replaced.
func replacedMove(p *pairs.Plan) float64 {
	return p.Noise().Event(p.Certificate()).(account.PoissonEvent).KnownSensitivity()
}

// oneBatch is near and draws one batch of pairs from end to end, with the attacked one, and then none.
type oneBatch struct {
	near
	unit, size, drawn int
}

func (b *oneBatch) SamplePoisson(dst []int32, n int, _ float64) ([]int32, error) {
	dst = dst[:0]
	for i := range n {
		if b.drawn == 0 && (i == b.unit || i%max(1, n/b.size) == 0) {
			dst = append(dst, int32(i))
		}
	}
	b.drawn++
	return dst, nil
}
