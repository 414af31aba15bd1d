package audit

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"dyad/algorithms/pairs"
	"dyad/engine/pairgraph"
)

// The sizes of the search of worstSoftmax.
const (
	softmaxPlaces = 12
	softmaxCoins  = 8
)

// worstSoftmax is WorstPairs for a batch softmax (docs/theory.md#batch-softmax). All anchors except individual 0 are
// at one point u, and their positives are at -v. Individual 0 is at -u, and the positives of its pairs are at v. So
// the positives of individual 0 dominate the softmax of every anchor, and the other positives dominate the softmax
// of individual 0. In the first kind of neighbour the labels of the pairs of individual 0 are flipped, which removes
// these pairs from every batch. In the second kind individual 0 moves to u. If pairs are the unit, the third kind
// moves the positives of individual 0 to -v. For a linear map, u and v are mapped to directions with a small angle.
// Then individual 0 also moves past v. If pairs are the unit, their positives move to the other side of u. These
// moves reverse the gradients in both softmaxes (docs/theory.md#softmax-replaced).
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
		var past, other []float64 // places of anchors and of positives that reverse the gradients
		if linear := newLinearPlaces(r, s); place < softmaxPlaces/2 && linear != nil {
			const angle = 0.01
			u, v = linear.at(0, 1, 0), linear.at(angle, 0.3, 0.9)
			past, other = linear.at(2*angle, 1, 0), linear.at(-angle, 0.3, 0.9)
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
		if past != nil {
			beyond := data.clone()
			copy(beyond.X, negated(past))
			sides["its record past the positives"] = beyond
			if s.Unit != pairs.Individual {
				both := beyond.clone()
				for _, e := range g.Pairs() {
					if e.A == 0 {
						copy(both.X[int(e.B)*s.Dim:], other)
					}
				}
				sides["both turned around"] = both
			}
		}
		for _, says := range slices.Sorted(maps.Keys(sides)) {
			t, err := onPairs(p, PairInstance{Graph: g, Sides: [2]PairSide{data, sides[says]},
				Text: fmt.Sprintf("%d of %d pairs are reversed, at random places (draw %d); neighbour: %s", changed,
					s.Pairs, place, says)})
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

// softmaxGraph returns a graph with individual 0 in `changed` pairs. It is a graph of disjoint pairs if changed is 1
// and there are enough individuals.
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

// softmaxSide puts every individual at the place for its first pair.
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

// randomPlace returns a random record whose norm is the bound.
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

// linearPlaces finds records that a linear map takes to directions in the plane of two coordinates. A part of
// each record can be a vector that the map takes to 0.
type linearPlaces struct {
	s       pairs.Spec
	q       [][]float64 // the rows of the map, orthonormal
	l       [][]float64 // the coefficients of the rows of the map in terms of q
	outside []float64   // a vector of length 1 that the map takes to 0
}

// newLinearPlaces returns nil for a network with hidden layers, or if the map takes no vector to 0.
func newLinearPlaces(r *rand.Rand, s pairs.Spec) *linearPlaces {
	in, rows := s.Network.Model.Dims()
	w := s.Network.Start
	if len(w) != in*rows || rows < 2 || in <= rows {
		return nil
	}
	p := &linearPlaces{s: s}
	part := func(x []float64) (of []float64) { // subtracts the parts along q
		for _, q := range p.q {
			c := floats.Dot(x, q)
			floats.AddScaled(x, -c, q)
			of = append(of, c)
		}
		return of
	}
	for i := range rows + 1 {
		x := randomPlace(r, s)
		if i < rows {
			x = slices.Clone(w[i*in:][:in])
		}
		of := part(x)
		norm := floats.Norm(x, 2)
		if !(norm > 1e-6) {
			return nil
		}
		floats.Scale(1/norm, x)
		if i == rows {
			p.outside = x
			return p
		}
		p.l, p.q = append(p.l, append(of, norm)), append(p.q, x)
	}
	return nil
}

// at returns a record that the map takes to the direction with this angle in the plane of the first two coordinates.
// The lengths inside and outside are in units of the bound.
func (p *linearPlaces) at(angle, inside, outside float64) []float64 {
	target := make([]float64, len(p.q))
	target[1], target[0] = math.Sincos(angle)
	x := make([]float64, p.s.Dim)
	var c []float64 // l c = target
	for i, row := range p.l {
		v := target[i]
		for j, e := range c {
			v -= row[j] * e
		}
		c = append(c, v/row[i])
		floats.AddScaled(x, c[i], p.q[i])
	}
	floats.Scale(inside*p.s.Bound/floats.Norm(x, 2), x)
	floats.AddScaled(x, outside*p.s.Bound, p.outside)
	return x
}
