package local_test

import (
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/local"
	"dyad/privacy/privtest"
)

// Two opposite corners of the ball: the odds of a half line are e^epsilon at most, and
// nearly reached far in the tail. With the radius in place of the diameter they exceed
// it.
func TestPrivateVectorOdds(t *testing.T) {
	const n = 1 << 18
	m := local.Vector{Dim: 1, Bound: 0.7, Epsilon: 1}
	below := func(x float64, seed uint64) (hits int) {
		src := privacy.NewSeededSource(seed)
		for range n {
			v := []float64{x}
			must.Do(t, m.Perturb(v, src))
			if v[0] < -0.7 {
				hits++
			}
		}
		return hits
	}
	// P(-0.7 + Z < -0.7) = 1/2 and P(0.7 + Z < -0.7) = e^-1/2.
	near, far := below(-0.7, 1), below(9, 2) // 9 is clipped to 0.7
	must.CheckDo(t, privtest.CheckBinomial(near, n, 0.5, alpha))
	must.CheckDo(t, privtest.CheckBinomial(far, n, 0.5*math.Exp(-1), alpha))
	if privtest.CheckBinomial(far, n, 0.5*math.Exp(-2), alpha) == nil {
		t.Error("the noise is that of the radius, half of what is due")
	}
}

func TestPrivateVectorClipsAndRefuses(t *testing.T) {
	src := privacy.NewSeededSource(1)
	m := local.Vector{Dim: 3, Bound: 1, Epsilon: 50} // noise of scale 0.04
	for _, x := range [][]float64{{1e300, 1e300, 0}, {5, -5, 5}, {0.2, 0.2, 0.2}} {
		must.Do(t, m.Perturb(x, src))
		must.AtMost(t, math.Abs(x[0])+math.Abs(x[1])+math.Abs(x[2]), 2, "the vector became %v: it was not clipped", x)
	}
	for _, bad := range []local.Vector{{Dim: 3, Epsilon: 1}, {Dim: 3, Bound: 1}, {Dim: 0, Bound: 1, Epsilon: 1}, {Dim: 2, Bound: 1, Epsilon: 1}, {Dim: 3, Bound: math.Inf(1), Epsilon: 1}} {
		x := []float64{1, 2, 3}
		if err := bad.Perturb(x, src); err == nil || x[0] != 0 {
			t.Errorf("%+v was accepted, or left %v behind", bad, x)
		}
	}
}
