package embedding

import (
	"context"
	"math"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	"dyad/kernels"
)

// TestClippedRowsAreFound shows why Jacobians are clipped and not J_i^T V_i, which depends on all records: the
// mean of these rows over n - 1, each clipped to a norm that none of them exceeds, moves by far more than
// 2 clip/n, which it would if rows were functions of records. The mean with clipped Jacobians obeys its
// certificate for the same data, also where that clips.
func TestClippedRowsAreFound(t *testing.T) {
	const n = 40
	net := must.Get(NewMLP(MLP{In: 1, Hidden: []int{2}, Out: 1, Activation: Softplus}))(t)
	minus := must.Get(engine.NewExpression("minus", "-u", engine.ExpressionOptions{}))(t)
	// Embeddings are 1 and -1, and hidden values positive for both.
	theta := []float64{1, 0, -1, 0, 1, -1}
	pair := Bilinear{Of: minus}
	features := func(turned bool) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(1 - 2*(i%2))
		}
		if turned {
			x[n-1] = -x[n-1]
		}
		return x
	}
	ones := make([]float64, n)
	for i := range ones {
		ones[i] = 1
	}
	set := must.Get(kernels.Select(kernels.Best))(t)
	clip := 0.0
	rows := func(turned bool) (mean []float64) {
		p, x, mean := Model{Network: net}.newPass(set), features(turned), make([]float64, len(theta))
		p.Set(theta)
		f, norms := make([]float64, n), make([]float64, n)
		for i := range x {
			p.embed(f[i:], norms, x[i:], 1)
		}
		a, b := make([]float64, 1), make([]float64, 1)
		for i := range x {
			v := []float64{0}
			for j := range x {
				if j != i {
					pair.Link().Pull(a, b, f[i:i+1], f[j:j+1], pair.DPhi(pair.Link().Of(f[i:i+1], f[j:j+1]), 1, 1))
					v[0] += 2 * a[0] / (n - 1)
				}
			}
			row := make([]float64, len(theta))
			p.embed([]float64{0}, norms, x[i:], 1)
			p.pull(row, v, ones, 1)
			clip = max(clip, math.Sqrt(sumOfSquares(row)))
			for k, g := range row {
				mean[k] += g / n
			}
		}
		return mean
	}
	moved := func(a, b []float64) float64 {
		for k := range a {
			b[k] -= a[k]
		}
		return math.Sqrt(sumOfSquares(b))
	}
	if by := moved(rows(false), rows(true)); !(by > 5*2*clip/n) {
		t.Errorf("clipped rows move by %g, the claim is %g: this shows little", by, 2*clip/n)
	}
	for _, limit := range []float64{0.5, 10} {
		l := Loss{Model: Model{Network: net}, Pair: pair, Clip: limit}
		c := must.Get(l.Constants(engine.UnitBounds(), l.Radius()))(t)
		k := must.Get(Backend{}.Plan(engine.Problem{N: n, D: 1, Bounds: engine.UnitBounds(), Loss: l, Radius: l.Radius()}))(t)
		var sums [2][]float64
		for side := range sums {
			r := must.Get(engine.NewRecords(features(side == 1), ones, 1, engine.UnitBounds()))(t)
			e := must.Get(k.Bind(r))(t)
			sums[side] = make([]float64, len(theta))
			must.Do(t, e.Sum(context.Background(), sums[side], engine.Gradient(theta, engine.AllPairs{N: n})))
		}
		must.Within(t, moved(sums[0], sums[1])/n/(n-1), 0, 2*c.PairDiameter/n, "clipped Jacobians move by")
	}
}
