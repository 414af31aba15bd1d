package enginetest

import (
	"math"

	"dyad/engine"
)

// reference returns the gradient sum over pairs by the definition of a ScoreLoss,
//
//	sum phi'(u) (y - y') (x - x'),   u = (y - y') w.(x - x'),
//
// computed one pair at a time, with u, the products and all sums in twice the precision. Only phi' itself is
// evaluated in float64, at u rounded to float64.
func reference(loss engine.ScoreLoss, r *engine.Records, w []float64, pairs engine.Pairs) []float64 {
	n, d := r.Len(), r.Dim()
	x := make([]float64, n*d)
	s := make([]wide, n)
	for i := range s {
		row := x[i*d : (i+1)*d]
		r.Row(i, row)
		for k, v := range row {
			s[i] = s[i].add(twoProduct(v, w[k]))
		}
	}
	// v is phi'(u_ij) (y_i - y_j).
	v := func(i, j int) wide {
		diff := twoSum(r.Label(i), -r.Label(j))
		if diff.hi == 0 {
			return wide{}
		}
		margin := diff.mul(s[i].add(s[j].neg()))
		return diff.scale(loss.DPhi(margin.value()))
	}
	// The pair (i, j) adds v x_i - v x_j, so records have coefficients c.
	c := make([]wide, n)
	weight := pairWeight(r)
	pair := func(i, j int) {
		p := v(i, j).mul(weight(i, j))
		c[i] = c[i].add(p)
		c[j] = c[j].add(p.neg())
	}
	// (i, j) and (j, i) have opposite v and opposite x - x', so both have the same term.
	orders := visit(rowPairs(r, pairs), pair)
	for i := range c {
		c[i] = c[i].scale(orders)
	}
	sum := make([]wide, d)
	for i, ci := range c {
		for k := range sum {
			sum[k] = sum[k].add(ci.scale(x[i*d+k]))
		}
	}
	g := make([]float64, d)
	for k := range g {
		g[k] = sum[k].value()
	}
	return g
}

// definition returns the gradient sum by Loss.AddGrad over the ordered pairs, in float64.
func definition(loss engine.Loss, r *engine.Records, w []float64, pairs engine.Pairs) []float64 {
	rec := make([]engine.Record, r.Len())
	for i := range rec {
		rec[i] = engine.Record{X: make([]float64, r.Dim()), Y: r.Label(i)}
		r.Row(i, rec[i].X)
	}
	g := make([]float64, loss.ParamDim(r.Dim()))
	_, prefix := pairs.(engine.PrefixPairs)
	visit(pairs, func(i, j int) {
		loss.AddGrad(g, w, rec[i], rec[j])
		if !prefix {
			loss.AddGrad(g, w, rec[j], rec[i])
		}
	})
	return g
}

// pairWeight returns the weight of a pair of rows in twice the precision. The weight is 1 if rows are records.
// With persons it is 1/(m m') for rows of two persons with m and m' rows, and 0 within a person.
func pairWeight(r *engine.Records) func(i, j int) wide {
	if !r.ByPerson() {
		return func(int, int) wide { return wide{hi: 1} }
	}
	person, rows := make([]int, r.Len()), make([]int, r.Units())
	for k := range rows {
		from, to := r.UnitRows(k)
		rows[k] = to - from
		for i := from; i < to; i++ {
			person[i] = k
		}
	}
	return func(i, j int) wide {
		p, q := person[i], person[j]
		if p == q {
			return wide{}
		}
		m := float64(rows[p] * rows[q])
		hi := 1 / m
		return wide{hi, -math.FMA(hi, m, -1) / m}
	}
}

// rowPairs returns pairs of persons as pairs of their rows.
func rowPairs(r *engine.Records, pairs engine.Pairs) engine.Pairs {
	if r.ByPerson() {
		return engine.AllPairs{N: r.Len()}
	}
	return pairs
}
