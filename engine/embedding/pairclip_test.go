package embedding_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/internal/must"
)

// TestPairClip compares a gradient of a model without factors, whose pairs are clipped one by one, with its
// definition.
func TestPairClip(t *testing.T) {
	net := must.Get(embedding.NewMLP(embedding.MLP{In: 3, Hidden: []int{5, 4}, Out: 2}))(t)
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
			s := min(1, clip/entrywise(embedding.L2, term))
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
			net := must.Get(embedding.NewMLP(embedding.MLP{In: 3, Hidden: hidden, Out: m, Activation: embedding.Activation(i % 2)}))(t)
			for k, pair := range []embedding.PairLoss{
				embedding.Score{Of: engine.Logistic{}}, embedding.Score{Of: hinge},
				embedding.Bilinear{Of: engine.Logistic{}}, embedding.Distance{Of: hinge}, embedding.Contrastive{Margin: 1.5},
			} {
				if (k < 2) != (m == 1) || i == 2 && m == 3 { // else pair by pair
					continue
				}
				for _, output := range []embedding.Output{{}, {Unit: true}, {Within: 0.6}} {
					if output != (embedding.Output{}) && m == 1 {
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
					lengths = append(lengths, entrywise(embedding.L2, term))
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
	k := must.Get(embedding.Backend{}.Plan(problem(l, r, most)))(t)
	if k.Method() == "pair by pair" {
		t.Errorf("%s is clipped pair by pair", describe(l))
	}
	got, rho := gradient(t, embedding.Backend{Workers: 1}, problem(l, r, most), r, theta)
	if d := distance(got, want); !(d <= rho+1e-7*entrywise(embedding.L2, want)) {
		t.Errorf("%s, %d units of up to %d rows: off by %g of %g, roundoff %g", describe(l), r.Units(), most, d, entrywise(embedding.L2, want), rho)
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
			net := must.Get(embedding.NewMLP(embedding.MLP{In: 3, Hidden: hidden, Out: m, Activation: embedding.Softplus}))(t)
			for _, pair := range losses(t, m) {
				for _, output := range []embedding.Output{{}, {Unit: true}, {Within: 0.6}} {
					if m == 1 && output != (embedding.Output{}) { // signs
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
						r := must.Get(engine.AdoptRecords(x, []float64{1, float64(1 - 2*(i/13%2))}, 3, engine.UnitBounds()))(t)
						sum, rho := gradient(t, embedding.Backend{}, problem(l, r, 0), r, far(l, rng))
						length := (entrywise(embedding.L2, sum) - rho) / 2
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
