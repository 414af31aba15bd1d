package enginetest

import (
	"math"

	"dyad/engine"
)

// answer is a reference sum with the distance, in addition to Roundoff, by which a correct backend may differ from it.
type answer struct {
	sum   []float64
	slack float64
}

// kinkSlack bounds how far the sum over pairs moves if every margin moves by a few roundings. It is for a
// ScalarLoss that is not smooth and returns 0 for any other loss. Roundoff does not cover this move
// (engine.Kernel), because a pair at a kink may get the slope of either side. The bound is small if no margin
// is near a kink, so a backend that takes a wrong piece or drops a pair fails. single is the relative error of
// margins and slopes, with respect to the largest of them, of a backend that computes them in less than
// float64.
func kinkSlack(loss engine.Loss, p engine.Problem, r *engine.Records, w []float64, pairs engine.Pairs,
	single float64) float64 {
	form, ok := loss.(engine.ScalarLoss)
	if !ok {
		return 0
	}
	lo, hi := form.MarginRange(p.Bounds, p.Radius)
	bounds, err := form.Scalar().Bounds(lo, hi)
	if err != nil {
		return math.Inf(1)
	}
	if bounds.Smooth() {
		return 0
	}
	_, metric := loss.(engine.MetricLoss)
	reach := max(float64(4*p.D+32)*0x1p-53, single) * hi
	records := make([]engine.Record, r.Len())
	for i := range records {
		records[i] = engine.Record{X: make([]float64, p.D), Y: r.Label(i)}
		r.Row(i, records[i].X)
	}
	pair := func(i, j int) float64 {
		z, zp := records[i], records[j]
		square := 0.0
		for k := range z.X {
			square += (z.X[k] - zp.X[k]) * (z.X[k] - zp.X[k])
		}
		var u, factor float64
		if metric {
			u, factor = metricMargin(w, z, zp), math.Abs(z.Y*zp.Y)*square
		} else {
			u, factor = margin(w, z, zp), math.Abs(z.Y-zp.Y)*math.Sqrt(square)
		}
		a, b, c := form.Scalar().DPhi(u-reach), form.Scalar().DPhi(u), form.Scalar().DPhi(u+reach)
		return (max(a, b, c) - min(a, b, c) + single*bounds.Slope()) * factor
	}
	var sum float64
	weight := pairWeight(r)
	orders := visit(rowPairs(r, pairs), func(i, j int) { sum += pair(i, j) * weight(i, j).value() })
	return orders * sum
}
