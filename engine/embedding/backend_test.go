package embedding_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
)

// data are n records of three features within the unit bounds, with labels -1 and 1; with persons, of n
// persons with up to most rows.
func data(t testing.TB, seed uint64, n, most int, sparse bool) *engine.Records {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 9))
	var x, y []float64
	var of []int32
	for p := range n {
		rows := 1
		if most > 0 {
			rows = 1 + rng.IntN(most)
		}
		for range rows {
			of = append(of, int32(p))
			for range 3 {
				x = append(x, 2*rng.Float64()-1)
			}
			y = append(y, float64(2*rng.IntN(2)-1))
		}
	}
	var r *engine.Records
	var err error
	if sparse {
		start, index := []int64{0}, []int32{}
		for i := range y {
			index = append(index, 0, 1, 2)
			start = append(start, int64(3*i+3))
		}
		r, err = engine.NewSparseRecords(start, index, x, y, 3, engine.UnitBounds())
	} else {
		r, err = engine.NewRecords(x, y, 3, engine.UnitBounds())
	}
	if err == nil && most > 0 {
		r, err = r.GroupPersons(of, n, most)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func problem(l embedding.Loss, r *engine.Records, most int) engine.Problem {
	return engine.Problem{N: r.Units(), D: 3, Bounds: r.Bounds(), Loss: l, Radius: l.Radius(), PersonRows: most}
}

func gradient(t testing.TB, b engine.Backend, p engine.Problem, r *engine.Records, theta []float64) ([]float64, float64) {
	t.Helper()
	k := must.Get(b.Plan(p))(t)
	e := must.Get(k.Bind(r))(t)
	defer e.Close()
	dst := make([]float64, len(theta))
	for range 2 { // the second call finds used scratch space
		must.Do(t, e.Sum(context.Background(), dst, engine.Gradient(theta, engine.AllPairs{N: p.N})))
	}
	return dst, k.Bounds(engine.Query{Pairs: engine.AllPairs{N: p.N}}).Sum
}

// definition is the sum of the terms of Loss.AddGrad over the pairs of rows of different units, with
// weights.
func definition(l embedding.Loss, r *engine.Records, theta []float64) []float64 {
	sum, term := make([]float64, len(theta)), make([]float64, len(theta))
	record := func(i int) engine.Record {
		x := make([]float64, 3)
		r.Row(i, x)
		return engine.Record{X: x, Y: r.Label(i)}
	}
	for p := range r.Units() {
		p0, p1 := r.UnitRows(p)
		for q := range r.Units() {
			q0, q1 := r.UnitRows(q)
			if p == q {
				continue
			}
			for i := p0; i < p1; i++ {
				for j := q0; j < q1; j++ {
					clear(term)
					l.AddGrad(term, theta, record(i), record(j))
					for k, v := range term {
						sum[k] += v / float64(p1-p0) / float64(q1-q0)
					}
				}
			}
		}
	}
	return sum
}

func kinked(t testing.TB, m int) []embedding.PairLoss {
	hinge := expression(t, "max(0, 0.3 - u)")
	if m == 1 {
		return []embedding.PairLoss{embedding.Score{Of: hinge}, embedding.Bilinear{Of: hinge}}
	}
	return []embedding.PairLoss{embedding.Bilinear{Of: hinge}, embedding.Distance{Of: hinge}}
}

// TestSumsAreThoseOfPairs compares every model and loss with the sum of its terms, and with other numbers
// of workers bit for bit.
func TestSumsAreThoseOfPairs(t *testing.T) {
	for _, m := range []int{1, 4} {
		for at, model := range models(t, m) {
			for i, pair := range append(losses(t, m), kinked(t, m)...) {
				if !sizes.Full() && (at+i)%3 != 0 {
					continue // every model and every loss stays
				}
				n, most := []int{2, 9, 17}[at%3], 3*((at+i)%2)
				if at == 5 && i%2 == 0 && !testing.Short() {
					n, most = 130, 0 // several tiles and blocks
				}
				checkSums(t, embedding.Loss{Model: model, Pair: pair, Clip: 0.8, Seed: 7}, n, most, at%2 == 1)
			}
		}
	}
}

func checkSums(t *testing.T, l embedding.Loss, n, most int, sparse bool) {
	t.Helper()
	theta := l.Domain(3, l.Radius()).Start()
	r := data(t, uint64(n), n, most, sparse)
	want, pairs := definition(l, r, theta), float64(n*(n-1))
	c := must.Get(l.Constants(r.Bounds(), l.Radius()))(t)
	for _, v := range kernels.Variants() {
		name := fmt.Sprintf("%s, %d units of up to %d rows, %v", describe(l), n, most, v)
		got, rho := gradient(t, embedding.Backend{Workers: 1, Variant: v}, problem(l, r, most), r, theta)
		// The definition has roundings of its own.
		must.Within(t, distance(got, want), 0, rho+1e-12*pairs, "%s: off by ..., roundoff %g", name, rho)
		must.Within(t, rho, 0, 4e-9*pairs*c.Lipschitz, "%s: roundoff ... proves nothing", name)
		if again, _ := gradient(t, embedding.Backend{Workers: 3, Variant: v}, problem(l, r, most), r, theta); !slices.Equal(got, again) {
			t.Errorf("%s: other bits with 3 workers", name)
		}
	}
}

func distance(x, y []float64) float64 {
	var sum float64
	for k, v := range x {
		sum += (v - y[k]) * (v - y[k])
	}
	return math.Sqrt(sum)
}

// TestBatchesAndGroups compares sums over batches of records, and within query groups, with those over the
// same records alone.
func TestBatchesAndGroups(t *testing.T) {
	net := must.Get(embedding.NewMLP(embedding.MLP{In: 3, Hidden: []int{5}, Out: 2}))(t)
	l := embedding.Loss{Model: embedding.Model{Network: net}, Pair: embedding.Distance{Of: engine.Logistic{}}, Clip: 0.5}
	theta, r := l.Domain(3, l.Radius()).Start(), data(t, 11, 12, 0, false)
	part := func(rows ...int) []float64 {
		s := r.Subset(rows)
		sum, _ := gradient(t, embedding.Backend{}, problem(l, s, 0), s, theta)
		return sum
	}
	sums := func(b engine.Backend, p engine.Problem, pairs engine.Pairs) []float64 {
		k := must.Get(b.Plan(p))(t)
		e := must.Get(k.Bind(r))(t)
		defer e.Close()
		dst := make([]float64, len(theta))
		must.Do(t, e.Sum(context.Background(), dst, engine.Gradient(theta, pairs)))
		if math.IsInf(k.Bounds(engine.Query{Pairs: pairs}).Sum, 1) {
			t.Errorf("no roundoff bound for %T", pairs)
		}
		return dst
	}
	order := []int32{5, 3, 9, 0, 11, 1, 2, 4, 6, 7, 8, 10}
	if got := sums(engine.Parts{Backend: embedding.Backend{}, Sizes: []int{5}}, problem(l, r, 0), engine.SubsetPairs{Order: order, N: 5}); !slices.Equal(got, part(5, 3, 9, 0, 11)) {
		t.Error("the sum of a batch is not that of its records")
	}
	p := problem(l, r, 0)
	p.Groups = []int{4, 1, 7}
	want := part(0, 1, 2, 3)
	for k, v := range part(5, 6, 7, 8, 9, 10, 11) {
		want[k] += v
	}
	must.Same(t, sums(engine.Grouped{Backend: embedding.Backend{}}, p, p.Pairs()), want, "the sum of groups is not that of their records")
}
