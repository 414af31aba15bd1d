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
	k, err := b.Plan(p)
	if err != nil {
		t.Fatal(err)
	}
	e, err := k.Bind(r)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	dst := make([]float64, len(theta))
	for range 2 { // the second call finds used scratch space
		if err := e.GradSum(context.Background(), dst, theta, engine.AllPairs{N: p.N}); err != nil {
			t.Fatal(err)
		}
	}
	return dst, k.Roundoff(engine.AllPairs{N: p.N})
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
	c, err := l.Constants(r.Bounds(), l.Radius())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range kernels.Variants() {
		name := fmt.Sprintf("%s, %d units of up to %d rows, %v", describe(l), n, most, v)
		got, rho := gradient(t, embedding.Backend{Workers: 1, Variant: v}, problem(l, r, most), r, theta)
		// The definition has roundings of its own.
		if d := distance(got, want); !(d <= rho+1e-12*pairs) {
			t.Errorf("%s: off by %g, roundoff %g", name, d, rho)
		}
		if rho > 4e-9*pairs*c.Lipschitz {
			t.Errorf("%s: roundoff %g proves nothing", name, rho)
		}
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
	net, err := embedding.NewMLP(embedding.MLP{In: 3, Hidden: []int{5}, Out: 2})
	if err != nil {
		t.Fatal(err)
	}
	l := embedding.Loss{Model: embedding.Model{Network: net}, Pair: embedding.Distance{Of: engine.Logistic{}}, Clip: 0.5}
	theta, r := l.Domain(3, l.Radius()).Start(), data(t, 11, 12, 0, false)
	part := func(rows ...int) []float64 {
		s := r.Subset(rows)
		sum, _ := gradient(t, embedding.Backend{}, problem(l, s, 0), s, theta)
		return sum
	}
	sums := func(b engine.Backend, p engine.Problem, pairs engine.Pairs) []float64 {
		k, err := b.Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		e, err := k.Bind(r)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		dst := make([]float64, len(theta))
		if err := e.GradSum(context.Background(), dst, theta, pairs); err != nil {
			t.Fatal(err)
		}
		if math.IsInf(k.Roundoff(pairs), 1) {
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
	if got := sums(engine.Grouped{Backend: embedding.Backend{}}, p, p.Pairs()); !slices.Equal(got, want) {
		t.Error("the sum of groups is not that of their records")
	}
}

// TestPairClip compares a gradient of a model without factors, whose pairs are clipped one by one, with its
// definition.
func TestPairClip(t *testing.T) {
	net, err := embedding.NewMLP(embedding.MLP{In: 3, Hidden: []int{5}, Out: 2})
	if err != nil {
		t.Fatal(err)
	}
	const clip = 0.2
	l := embedding.Loss{Model: embedding.Model{Network: net, Output: embedding.Output{Within: 1}}, Pair: embedding.Distance{Of: engine.Logistic{}}, PairClip: clip}
	theta, r := l.Domain(3, l.Radius()).Start(), data(t, 12, 20, 0, false)
	got, rho := gradient(t, embedding.Backend{}, problem(l, r, 0), r, theta)
	want, term, clipped := make([]float64, len(theta)), make([]float64, len(theta)), 0
	for i := range 20 {
		for j := range 20 {
			if i == j {
				continue
			}
			clear(term)
			l.AddGrad(term, theta, engine.Record{X: r.Dense()[3*i:][:3], Y: r.Label(i)}, engine.Record{X: r.Dense()[3*j:][:3], Y: r.Label(j)})
			s := min(1, clip/math.Sqrt(squares(term)))
			if s < 1 {
				clipped++
			}
			for k, v := range term {
				want[k] += s * v
			}
		}
	}
	if d := distance(got, want); !(d <= rho+1e-10) || clipped < 20 || clipped > 360 {
		t.Errorf("off by %g, roundoff %g, %d of 380 pairs are clipped", d, rho, clipped)
	}
}

// TestPairClipByFactors compares gradients whose pairs are clipped by products of factors with their
// definition: of scores and of vectors, at several tiles, and for persons.
func TestPairClipByFactors(t *testing.T) {
	hinge := expression(t, "max(0, 0.3 - u)")
	for i, hidden := range [][]int{nil, {5}, {6, 5}} {
		for _, m := range []int{1, 3} {
			net, err := embedding.NewMLP(embedding.MLP{In: 3, Hidden: hidden, Out: m, Activation: embedding.Activation(i % 2)})
			if err != nil {
				t.Fatal(err)
			}
			for k, pair := range []embedding.PairLoss{
				embedding.Score{Of: engine.Logistic{}}, embedding.Score{Of: hinge},
				embedding.Bilinear{Of: engine.Logistic{}}, embedding.Distance{Of: hinge}, embedding.Contrastive{Margin: 1.5},
			} {
				if (k < 2) != (m == 1) || i == 2 && m == 3 { // else pair by pair
					continue
				}
				for _, output := range []embedding.Output{{}, {Unit: true}} {
					if output.Unit && m == 1 {
						continue
					}
					n, most := 19, 3*(k%2)
					if i == 1 && k == 0 {
						n = 130
					}
					checkPairClip(t, embedding.Loss{Model: embedding.Model{Network: net, Output: output}, Pair: pair, Seed: 3}, data(t, uint64(n), n, most, k == 4), most)
				}
			}
		}
	}
}

func checkPairClip(t *testing.T, l embedding.Loss, r *engine.Records, most int) {
	t.Helper()
	theta := l.Domain(3, l.Radius()).Start()
	want, rows, clipped, pairs := make([]float64, len(theta)), make([][]float64, 0), 0, 0
	// The clipping norm is that of a middling pair.
	var weights, lengths []float64
	record := func(i int) engine.Record {
		x := make([]float64, 3)
		r.Row(i, x)
		return engine.Record{X: x, Y: r.Label(i)}
	}
	l.PairClip = 1
	for p := range r.Units() {
		for q := range r.Units() {
			p0, p1 := r.UnitRows(p)
			q0, q1 := r.UnitRows(q)
			for i := p0; i < p1 && p != q; i++ {
				for j := q0; j < q1; j++ {
					term := make([]float64, len(theta))
					l.AddGrad(term, theta, record(i), record(j))
					rows, weights = append(rows, term), append(weights, 1/float64(p1-p0)/float64(q1-q0))
					lengths = append(lengths, math.Sqrt(squares(term)))
				}
			}
		}
	}
	sorted := slices.Sorted(slices.Values(lengths))
	l.PairClip = sorted[len(sorted)*3/4] * 0.9
	for at, term := range rows {
		s := weights[at]
		if pairs++; lengths[at] > l.PairClip {
			clipped++
			s *= l.PairClip / lengths[at]
		}
		for k, v := range term {
			want[k] += s * v
		}
	}
	k, err := embedding.Backend{}.Plan(problem(l, r, most))
	if err != nil {
		t.Fatal(err)
	}
	if k.Method() == "pair by pair" {
		t.Errorf("%s is clipped pair by pair", describe(l))
	}
	got, rho := gradient(t, embedding.Backend{Workers: 1}, problem(l, r, most), r, theta)
	if d := distance(got, want); !(d <= rho+1e-7*math.Sqrt(squares(want))) {
		t.Errorf("%s, %d units of up to %d rows: off by %g of %g, roundoff %g", describe(l), r.Units(), most, d, math.Sqrt(squares(want)), rho)
	}
	if clipped < pairs/20 || clipped > pairs*19/20 {
		t.Errorf("%s: %d of %d pairs are clipped", describe(l), clipped, pairs)
	}
	if again, _ := gradient(t, embedding.Backend{Workers: 3}, problem(l, r, most), r, theta); !slices.Equal(got, again) {
		t.Errorf("%s: other bits with 3 workers", describe(l))
	}
}

// TestClippedPairsAreShort has two records, whose term is half of the sum, at all distances, and sees that its
// length never exceeds the clipping norm and comes to it.
func TestClippedPairsAreShort(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 21))
	for _, m := range []int{1, 3} {
		for _, hidden := range [][]int{nil, {5}} {
			net, err := embedding.NewMLP(embedding.MLP{In: 3, Hidden: hidden, Out: m, Activation: embedding.Softplus})
			if err != nil {
				t.Fatal(err)
			}
			for _, pair := range losses(t, m) {
				for _, output := range []embedding.Output{{}, {Unit: true}} {
					if m == 1 && output.Unit { // signs
						continue
					}
					l := embedding.Loss{Model: embedding.Model{Network: net, Output: output}, Pair: pair, PairClip: 1e-3}
					closest := 0.0
					for i := range 60 {
						x, size := make([]float64, 6), math.Pow(10, -float64(i%13))
						for k := range 3 {
							x[k] = rng.NormFloat64()
							x[3+k] = x[k] + size*rng.NormFloat64()
						}
						r, err := engine.AdoptRecords(x, []float64{1, float64(1 - 2*(i/13%2))}, 3, engine.UnitBounds())
						if err != nil {
							t.Fatal(err)
						}
						sum, rho := gradient(t, embedding.Backend{}, problem(l, r, 0), r, far(l, rng))
						length := (math.Sqrt(squares(sum)) - rho) / 2
						if closest = max(closest, length/l.PairClip); length > l.PairClip*(1+1e-14) {
							t.Fatalf("%s: a term of length %g, clipped to %g", describe(l), length, l.PairClip)
						}
					}
					if closest < 0.9 {
						t.Errorf("%s: terms come to %g of the clipping norm only", describe(l), closest)
					}
				}
			}
		}
	}
}
