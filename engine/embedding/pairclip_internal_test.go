package embedding

import (
	"context"
	"math"
	"math/big"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	"dyad/kernels"
)

// TestPairLengthsAreBounds has a network whose Jacobian in the first layer cancels up to its rounding: what the
// pair is clipped by is not below the norm of the exact term.
func TestPairLengthsAreBounds(t *testing.T) {
	set := must.Get(kernels.Select(kernels.Generic))(t)
	const large, clip = 0x1p45, 1e-6
	net := MLP{In: 1, Hidden: []int{2, 2}, Out: 1, Radii: []float64{4, 4 * large, 4}}
	r := must.Get(engine.NewRecords([]float64{0.9, -0.8}, []float64{1, -1}, 1, engine.UnitBounds()))(t)
	l := Loss{Model: Model{Network: net}, Pair: Score{Of: engine.Logistic{}}, PairClip: clip}
	worst := 0.0
	for _, p := range []float64{1. / 3, 0.3, 0.77, 1.1, 0.123} {
		const q, bias = 0.7, 0.25
		other := large * p / q
		// Both first units are tanh(bias), the second ones 0, and what comes back to the first ones is (large p - other q).
		theta := []float64{0, bias, 0, bias, large, -large, 0, -other, other, 0, p, q}
		k := &kernel{problem: engine.Problem{N: 2, D: 1, Bounds: r.Bounds(), Loss: l, Radius: l.Radius()}, loss: l, rows: 2, dim: 1, set: set, workers: 1, slopes: engine.ScalarBounds{SlopeMin: -1}, chunks: 1}
		e := &evaluator{kernel: k, records: r}
		e.clipped = newClippedPairs(e)
		e.start()
		e.work[0].pass.Set(theta)
		ctx := context.Background()
		must.Do(t, e.eachBlock(ctx, e.embed))
		must.Do(t, e.sumPairs(ctx))
		exact := func(x float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(x) }
		rest := new(big.Float).Sub(new(big.Float).Mul(exact(large), exact(p)), new(big.Float).Mul(exact(other), exact(q)))
		back, _ := rest.Float64()
		h := math.Tanh(bias)
		norm := math.Sqrt2 * math.Abs(back) * (1 - h) * (1 + h) * 1.7 // of J_0 - J_1
		worst = max(worst, math.Abs(e.v[0])/2*norm)
	}
	must.Within(t, worst, 0, clip, "a term that is clipped to %g has norm", clip)
}
