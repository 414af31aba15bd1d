package cpu

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

// rowSum is sum_j phi'(s_i - s_j), phi' = -1/(1 + exp(u)), over other = exp(-s_j) with
// own = exp(s_i), in compensated sums: off by a few 1e-16 for each term.
func rowSum(own float64, other []float64) float64 {
	sum, low := 0.0, 0.0
	for _, b := range other {
		v := -1 / (1 + own*b)
		s := sum + v
		t := s - sum
		low += (sum - (s - t)) + (v - t)
		sum = s
	}
	return sum + low
}

// TestNearLinearError compares row sums of the logistic loss with direct sums: the
// largest error of sampled rows is at most 1e-14 n. An expansion of half the terms, the
// control, is far beyond that.
func TestNearLinearError(t *testing.T) {
	n, rows := sizes.Of(200_000, 1_000_000), sizes.Trials(1000)
	if testing.Short() {
		n, rows = 20_000, 50
	}
	rng := rand.New(rand.NewPCG(1, 6))
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = 2*rng.Float64()-1, float64(2*rng.IntN(2)-1)
	}
	r := must.Get(engine.NewRecords(x, y, 1, engine.UnitBounds()))(t)
	// Labels are 2 apart: margins 2 (s_i - s_j), |s| <= radius.
	for _, radius := range []float64{0.5, 1, 12.5} {
		of := func(label float64) (exp []float64) { // exp(-y u) of the other label
			for i, v := range x {
				if y[i] == -label {
					exp = append(exp, math.Exp(-label*2*radius*v))
				}
			}
			return exp
		}
		negative, positive := of(1), of(-1)
		sample, want := make([]int, rows), make([]float64, rows)
		for k := range sample {
			i := rng.IntN(n)
			other := negative
			if y[i] < 0 {
				other = positive
			}
			sample[k], want[k] = i, y[i]*rowSum(math.Exp(y[i]*2*radius*x[i]), other)
		}
		for _, v := range kernels.Variants() {
			plan := must.Get(Backend{Workers: 2, Method: NearLinear, Variant: v}.Plan(
				engine.Problem{N: n, D: 1, Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: radius}))(t)
			worst := func(k kernel) (largest float64) {
				e := must.Get(k.Bind(r))(t)
				ev := e.(*evaluator)
				c := newNearLinear(ev)
				must.Do(t, c.prepare(context.Background(), []float64{radius}))
				got := make([]float64, n)
				for chunk := range k.chunks() {
					for from, to := ev.chunk(chunk); from < to; from += coefRows {
						c.block(0, got[from:min(from+coefRows, to)], from)
					}
				}
				for k, i := range sample {
					// 2 for both orders of a pair, 2 for the distance of the labels.
					largest = max(largest, math.Abs(got[i]/4-want[k]))
				}
				return largest
			}
			k := *plan.(*kernel)
			if err := worst(k); err > 1e-14*float64(n) {
				t.Errorf("%v, radius %v: error %.3g of %d records", v, radius, err, n)
			} else {
				t.Logf("%v, radius %v, %d bins of %d terms: error %.2g n", v, radius, k.bins, k.expansion.Terms, err/float64(n))
			}
			k.expansion.Terms = k.expansion.Terms/8*4 + 1
			if err := worst(k); err < 1e-14*float64(n) {
				t.Errorf("%v, radius %v: with half the terms the error is %.3g, so the test sees nothing", v, radius, err)
			}
		}
	}
}
