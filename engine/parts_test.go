package engine_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
)

// A sum over a part is that of the plain kernel on a copy of its records, bit for bit,
// in any order of calls, and nothing else is accepted.
func TestPartsEqualTheirSubset(t *testing.T) {
	const n, d = 45, 3
	order := make([]int32, n)
	for i := range order {
		order[i] = int32((i*19 + 4) % n)
	}
	for _, loss := range []engine.Loss{engine.Logistic{}, engine.MahalanobisLogistic{}} {
		p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: loss, Radius: 1}
		kernel := must.Get(engine.Parts{Backend: cpu.Backend{}, Sizes: []int{20, 2, 23, 20}}.Plan(p))(t)
		records := attack.RandomRecords(n, d, engine.UnitBounds(), 3)
		ev := must.Get(kernel.Bind(records))(t)
		defer ev.Close()
		w := p.Domain().Start()
		w[0] -= 0.25
		got, want := make([]float64, len(w)), make([]float64, len(w))
		for _, part := range []engine.SubsetPairs{{N: 20}, {From: 22, N: 23}, {Order: order, From: 3, N: 20}, {Order: order, N: 20}, {Order: order, N: 20}, {From: 43, N: 2}} {
			rows := make([]int, part.N)
			for i := range rows {
				rows[i] = part.From + i
				if part.Order != nil {
					rows[i] = int(order[part.From+i])
				}
			}
			one := p
			one.N = part.N
			plain := must.Get(cpu.Backend{}.Plan(one))(t)
			direct := must.Get(plain.Bind(records.Subset(rows)))(t)
			err := errors.Join(ev.Sum(context.Background(), got, engine.Gradient(w, part)), direct.Sum(context.Background(), want, engine.Gradient(w, engine.AllPairs{N: part.N})), direct.Close())
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, %+v: %v, want %v (%v)", loss.Name(), part, got, want, err)
			}
			if r := kernel.Bounds(engine.Query{Pairs: part}).Sum; r != plain.Bounds(engine.Query{Pairs: engine.AllPairs{N: part.N}}).Sum || math.IsInf(r, 0) {
				t.Errorf("%s: roundoff of %+v is %v", loss.Name(), part, r)
			}
		}
		twice := slices.Clone(order)
		twice[1] = twice[0]
		for _, bad := range []engine.Pairs{engine.AllPairs{N: n}, engine.SubsetPairs{N: 21}, engine.SubsetPairs{From: 26, N: 20}, engine.SubsetPairs{From: -1, N: 20}, engine.SubsetPairs{Order: order[:20], N: 20}, engine.SubsetPairs{Order: twice, N: 20}} {
			must.ErrDo(t, ev.Sum(context.Background(), got, engine.Gradient(w, bad)), "%s: a sum over %+v was computed", loss.Name(), bad)
		}
		if !math.IsInf(kernel.Bounds(engine.Query{Pairs: engine.AllPairs{N: n}}).Sum, 1) || !math.IsInf(kernel.Bounds(engine.Query{Pairs: engine.SubsetPairs{N: 21}}).Sum, 1) {
			t.Error("roundoff of pairs that were not planned is finite")
		}
	}
	// What one record changes of a part is what it changes of the copy: known if the inner
	// kernel knows it.
	p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
	part := engine.Gradient(nil, engine.SubsetPairs{Order: order, From: 2, N: 20})
	for i, inner := range []engine.Backend{cpu.Backend{}, erring(nil)} {
		k := must.Get(engine.Parts{Backend: inner, Sizes: []int{20, 2}}.Plan(p))(t)
		want := []float64{k.Bounds(part).Sum, 20e-3}[i]
		if got := k.Bounds(part).OneRecord(); got != want {
			t.Errorf("a record changes the error of a part by %v, want %v", got, want)
		}
		whole := must.Get(inner.Plan(engine.Problem{N: 20, D: d, Bounds: p.Bounds, Loss: p.Loss, Radius: 1}))(t)
		if got, want := k.Bounds(part).Bytes, whole.Bounds(engine.Gradient(nil, engine.AllPairs{N: 20})).Bytes+8*20*(d+1); got != want {
			t.Errorf("an evaluator of parts holds %v bytes with its copy, want %v", got, want)
		}
		for _, pairs := range []engine.Pairs{engine.SubsetPairs{N: 21}, engine.AllPairs{N: 20}} {
			if !math.IsInf(k.Bounds(engine.Gradient(nil, pairs)).OneRecord(), 1) {
				t.Error("the bound of pairs that were not planned is finite")
			}
		}
	}
	for _, sizes := range [][]int{nil, {1}, {46}} {
		must.Err((engine.Parts{Backend: cpu.Backend{}, Sizes: sizes}).Plan(engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}))(t, "sizes %v were planned", sizes)
	}
}
