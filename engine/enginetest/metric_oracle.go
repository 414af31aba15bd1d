package enginetest

import (
	"math"

	"dyad/engine"
)

// metricReference returns the gradient sum over pairs by the definition of a MetricLoss, in Symmetric coordinates,
//
//	sum -phi'(u) y y' v v^T,   u = y y' (1 - v^T W v),   v = x - x',
//
// computed one pair at a time, without any of the identities that backends use. v, u, the products and all sums
// have twice the precision. Only phi' itself is evaluated in float64, at u rounded to float64.
func metricReference(loss engine.MetricLoss, r *engine.Records, w []float64, pairs engine.Pairs) []float64 {
	n, d := r.Len(), r.Dim()
	x := make([]float64, n*d)
	for i := range n {
		r.Row(i, x[i*d:(i+1)*d])
	}
	s := engine.Symmetric{Dim: d}
	root := wide{math.Sqrt2, -math.FMA(math.Sqrt2, math.Sqrt2, -2) / (2 * math.Sqrt2)} // sqrt 2
	// Coordinate k of v v^T is v_a v_b, times sqrt 2 off the diagonal.
	weight := make([]wide, len(w))
	for a := range d {
		for b := a; b < d; b++ {
			k := s.Index(a, b)
			if weight[k] = (wide{hi: w[k]}); b > a {
				weight[k] = root.scale(w[k])
			}
		}
	}
	sum := make([]wide, len(w)) // of c v_a v_b
	v := make([]wide, d)
	scale := pairWeight(r)
	pair := func(i, j int) {
		for a := range v {
			v[a] = twoSum(x[i*d+a], -x[j*d+a])
		}
		var distance wide
		k := 0
		for a := range d {
			var row wide
			for b := a; b < d; b++ {
				row = row.add(weight[k].mul(v[b]))
				k++
			}
			distance = distance.add(row.mul(v[a]))
		}
		t := twoProduct(r.Label(i), r.Label(j))
		u := t.mul(wide{hi: 1}.add(distance.neg())).value()
		c := t.scale(-loss.MetricDPhi(u)).mul(scale(i, j))
		k = 0
		for a := range d {
			ca := c.mul(v[a])
			for b := a; b < d; b++ {
				sum[k] = sum[k].add(ca.mul(v[b]))
				k++
			}
		}
	}
	times := visit(rowPairs(r, pairs), pair) // (i, j) and (j, i) have the same term
	g := make([]float64, len(w))
	for a := range d {
		for b := a; b < d; b++ {
			k := s.Index(a, b)
			if b > a {
				sum[k] = sum[k].mul(root)
			}
			g[k] = times * sum[k].value()
		}
	}
	return g
}
