package pairs_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/algorithms/attack"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// replacedPairMoves is how far the mean of a batch of all pairs at theta moves when the records of the last one are replaced by those
// of y, as a share of what the plan accounts for.
func replacedPairMoves(t testing.TB, p *pairs.Plan, x, y, theta []float64) float64 {
	t.Helper()
	spec := p.Spec
	other := slices.Clone(x)
	copy(other[len(x)-2*spec.Dim:], y)
	all := make([]int32, spec.Pairs)
	for i := range all {
		all[i] = int32(i)
	}
	a, b := make([]float64, len(theta)), make([]float64, len(theta))
	must.Do(t, errors.Join(ownSoftmax(t, p, slices.Clone(x))(context.Background(), a, theta, 0, all, spec.Clip), ownSoftmax(t, p, other)(context.Background(), b, theta, 0, all, spec.Clip)))
	return attack.Apart(p.Certificate(), a, b) / spec.Clip / float64(spec.Batch) / replacedMove(p)
}

// No pair that is replaced moves a release by more than the plan accounts for: random records and networks, and what a search
// finds from there and from the worst case of a linear map, for both losses.
func TestReplacedPairsOfASoftmaxMoveWithinTheCertificate(t *testing.T) {
	rounds, losses := sizes.Of(60, 120), softmaxes
	if testing.Short() {
		rounds, losses = 15, []embedding.InfoNCE{softmaxes[1], softmaxes[6]}
	}
	r := rand.New(rand.NewPCG(21, 22))
	best := map[string]float64{}
	for _, loss := range losses {
		for _, hidden := range [][]int{nil, {3}} {
			for _, m := range []int{2, 12} {
				s := softmaxSpec(t, m, loss, hidden...)
				p := planOf(t, s)
				x, y, theta := randomFeatures(r, s), make([]float64, 2*s.Dim), s.Network.Start
				for k := range y {
					y[k] = 0.5 * r.NormFloat64()
				}
				if hidden == nil {
					x, theta = signed(s, 0.02)
					sin, cos := math.Sincos(0.04)
					copy(y, []float64{-0.9 * cos, -0.9 * sin})
					copy(y[s.Dim:], []float64{0.3, -0.006, 0.9})
				}
				now := replacedPairMoves(t, p, x, y, theta)
				for range rounds { // climb
					x2, y2, w := slices.Clone(x), slices.Clone(y), slices.Clone(theta)
					step := math.Pow(10, -3*r.Float64()) * r.NormFloat64()
					switch r.IntN(4) {
					case 0:
						w[r.IntN(len(w))] += step
						s.Network.Model.Project(w)
					case 1:
						x2[r.IntN(len(x2))] += step
					default:
						y2[r.IntN(len(y2))] += step
					}
					if v := replacedPairMoves(t, p, x2, y2, w); v >= now {
						x, y, theta, now = x2, y2, w, v
					}
				}
				must.AtMost(t, now, 1, "%s at %g, %d pairs, %v: a replaced pair moves the release by %v of what is accounted for", loss.Name(), loss.Temperature, m, hidden, now)
				best[loss.Name()] = max(best[loss.Name()], now)
			}
		}
	}
	t.Logf("shares of what is accounted for: %v", best)
	if best["infonce"] < 0.98 || best["ntxent"] < 0.6 {
		t.Errorf("replaced pairs never move by more than %v", best)
	}
}
