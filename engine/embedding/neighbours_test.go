package embedding_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// replaced are two data sets of n units that differ in the last one: rows, features and labels. Rows are random, or all
// alike and the last one turned around, or its labels turned.
func replaced(t testing.TB, rng *rand.Rand, n, most int) (data, neighbour *engine.Records) {
	t.Helper()
	kind := rng.IntN(4)
	direction := make([]float64, 3)
	for k := range direction {
		direction[k] = rng.NormFloat64()
	}
	engine.ProjectBall(direction, 1)
	if rng.IntN(2) == 0 {
		direction = []float64{1, 0, 0}
	}
	label := float64(2*rng.IntN(2) - 1)
	build := func(side int, rng *rand.Rand) *engine.Records {
		var x, y []float64
		var of []int32
		for p := range n {
			if p == n-1 {
				rng = rand.New(rand.NewPCG(uint64(side), rng.Uint64()))
			}
			rows := 1
			if most > 0 {
				rows = 1 + rng.IntN(most)
			}
			for range rows {
				of = append(of, int32(p))
				last := p == n-1 && side == 1
				for _, v := range direction {
					switch {
					case kind == 0:
						v = rng.NormFloat64()
					case last && kind != 1:
						v = -v
					}
					x = append(x, v)
				}
				switch {
				case kind == 0:
					y = append(y, float64(2*rng.IntN(2)-1))
				case last && kind != 2:
					y = append(y, -label)
				default:
					y = append(y, label)
				}
			}
		}
		r, err := engine.AdoptRecords(x, y, 3, engine.UnitBounds())
		if err == nil && most > 0 {
			r, err = r.GroupPersons(of, n, most)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	seed := rng.Uint64()
	return build(0, rand.New(rand.NewPCG(seed, 1))), build(1, rand.New(rand.NewPCG(seed, 1)))
}

// far is a theta in the balls, its start or a random one.
func far(l embedding.Loss, rng *rand.Rand) []float64 {
	theta := l.Domain(3, l.Radius()).Start()
	if rng.IntN(4) > 0 {
		size := math.Pow(10, 3*rng.Float64()-2)
		for i := range theta {
			theta[i] = size * rng.NormFloat64()
		}
		_ = l.Domain(3, l.Radius()).Project(theta, math.Inf(1)) // never fails
	}
	return theta
}

// TestNeighboursOfNetworks searches for records and persons that move the mean of a network's terms by more
// than 2 Dg/n + 2 rho, for every model and loss, and comes near it.
func TestNeighboursOfNetworks(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	tries, closest := sizes.Of(6, 40), map[string]float64{}
	if testing.Short() {
		tries = 3
	}
	for _, m := range []int{1, 3} {
		for _, model := range models(t, m) {
			for _, pair := range append(losses(t, m), kinked(t, m)...) {
				for range tries {
					l := embedding.Loss{Model: model, Pair: pair, Clip: []float64{0.1, 1, 5}[rng.IntN(3)], Seed: rng.Uint64()}
					n, most := 2+rng.IntN(11), 3*rng.IntN(2)
					data, neighbour := replaced(t, rng, n, most)
					theta := far(l, rng)
					one, rho := gradient(t, embedding.Backend{}, problem(l, data, most), data, theta)
					two, _ := gradient(t, embedding.Backend{}, problem(l, data, most), neighbour, theta)
					c := must.Get(l.Constants(data.Bounds(), l.Radius()))(t)
					ratio := distance(one, two) / (2*float64(n-1)*c.PairDiameter + 2*rho)
					if ratio > 1 {
						t.Fatalf("%s, C %g, %d units of up to %d rows: a neighbour moves the sum by %g of its certificate", describe(l), l.Clip, n, most, ratio)
					}
					kind := fmt.Sprintf("%T", pair)
					closest[kind] = max(closest[kind], ratio)
				}
			}
		}
	}
	t.Logf("closest: %v", closest)
	if !testing.Short() && closest["embedding.Score"] < 0.5 {
		t.Errorf("the search comes to %g of the certificate of scores: it shows little", closest["embedding.Score"])
	}
}
