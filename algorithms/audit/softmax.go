package audit

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"dyad/algorithms/pairs"
	"dyad/engine/pairgraph"
)

// The size of the search of worstSoftmax.
const (
	softmaxPlaces = 12
	softmaxCoins  = 8
)

// worstSoftmax is WorstPairs for a batch softmax. All anchors but individual 0 are at one place u and their positives at -v;
// individual 0 is at -u and the positives of its pairs at v, so that they are in front in the softmax of every anchor and in its own the
// others are (docs/theory.md#batch-softmax). In the neighbour the labels of its pairs turn, which takes them out of every batch, or
// individual 0 moves to u, or, where pairs are the unit, their positives move to -v.
func worstSoftmax(ctx context.Context, p *pairs.Plan, changed int) (Target, error) {
	s := p.Spec
	g, err := softmaxGraph(s, changed)
	if err != nil {
		return Target{}, err
	}
	var targets []Target
	r := rand.New(rand.NewPCG(1, 2))
	for place := range softmaxPlaces {
		u, v := randomPlace(r, s), randomPlace(r, s)
		if place == 0 && s.Dim > 2 {
			u, v = scaled(s, 0.9), scaled(s, 0.3, 0.01, 0.9)
		}
		data := softmaxSide(s, g, u, v)
		turned, moved, swapped := data.clone(), data.clone(), data.clone()
		for i, e := range g.Pairs() {
			if e.A != 0 {
				continue
			}
			turned.Labels[i] = true
			copy(swapped.X[int(e.B)*s.Dim:], negated(v))
		}
		copy(moved.X, u)
		sides := map[string]PairSide{"labels turned": turned, "its record reversed": moved}
		if s.Unit != pairs.Individual {
			sides["positives reversed"] = swapped
		}
		for _, says := range slices.Sorted(maps.Keys(sides)) {
			t, err := OnPairs(p, PairInstance{Graph: g, Sides: [2]PairSide{data, sides[says]}, Text: fmt.Sprintf("%d of %d pairs opposite to the others, place %d, %s", changed, s.Pairs, place, says)})
			if err != nil {
				return Target{}, err
			}
			for t.Coins = 1; t.Coins <= softmaxCoins; t.Coins++ {
				targets = append(targets, t)
			}
		}
	}
	return furthest(ctx, targets, 0)
}

// softmaxGraph has individual 0 in `changed` pairs: a graph of disjoint pairs, if it is in one and there are enough individuals.
func softmaxGraph(s pairs.Spec, changed int) (*pairgraph.Graph, error) {
	if changed > 1 || 2*s.Pairs > s.Individuals {
		return starGraph(s, changed)
	}
	list := make([]pairgraph.Pair, s.Pairs)
	for i := range list {
		list[i] = pairgraph.Pair{A: int32(2 * i), B: int32(2*i + 1)}
	}
	return pairgraph.New(s.Individuals, list)
}

// softmaxSide puts individuals where their first pair has them.
func softmaxSide(s pairs.Spec, g *pairgraph.Graph, u, v []float64) PairSide {
	side := PairSide{make([]float64, s.Individuals*s.Dim), make([]bool, s.Pairs)}
	for _, e := range slices.Backward(g.Pairs()) {
		a, b := u, negated(v)
		if e.A == 0 {
			a, b = negated(u), v
		}
		copy(side.X[int(e.B)*s.Dim:], b)
		copy(side.X[int(e.A)*s.Dim:], a)
	}
	return side
}

func (p PairSide) clone() PairSide { return PairSide{slices.Clone(p.X), slices.Clone(p.Labels)} }

func negated(v []float64) []float64 {
	out := make([]float64, len(v))
	for k, x := range v {
		out[k] = -x
	}
	return out
}

// randomPlace has the norm of the bound.
func randomPlace(r *rand.Rand, s pairs.Spec) []float64 {
	v, norm := make([]float64, s.Dim), 0.0
	for k := range v {
		v[k] = r.NormFloat64()
		norm = math.Hypot(norm, v[k])
	}
	for k := range v {
		v[k] *= s.Bound / norm
	}
	return v
}
