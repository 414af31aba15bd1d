package engine_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

const levels = 1 << 10

// choice is a query and its products and weights for records of 5 features.
func choice(rng *rand.Rand) (engine.Query, []float64, []engine.Product, []float64) {
	vector := func(size float64) []float64 {
		v := make([]float64, 5)
		for k := range v {
			v[k] = size * rng.NormFloat64()
		}
		return v
	}
	q := engine.Query{W: vector(30), Intercept: rng.NormFloat64(), Centre: vector(0.2), Radius: 0.3}
	return q, vector(9), []engine.Product{{A: 0, WidthA: 1, B: 1, WidthB: 1, Scale: 1}, {A: 0, WidthA: 2, B: 2, WidthB: 3, Scale: 2}, {A: 3, WidthA: 1, B: 4, WidthB: 1, Scale: 0.5}}, []float64{0.3, 1, 0}
}

// Every record of every small data set is replaced by every other one of a grid that has the corners: no score moves by more than the
// certificate of privacy.ResidualScores says, 2 N, and some move by nearly that.
func TestResidualScoresOfNeighbours(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 2))
	most := 0.0
	for range 40 {
		q, by, products, weights := choice(rng)
		var rows [][]float64
		for code := range 243 { // each feature is -1, 0 or 1, projected to norm 1
			x := make([]float64, 5)
			for k, c := 0, code; k < 5; k, c = k+1, c/3 {
				x[k] = float64(c%3 - 1)
			}
			rows = append(rows, x)
		}
		scores := func(x [2][]float64, y [2]float64) []int64 {
			r := must.Get(engine.NewRecords(slices.Concat(x[0], x[1]), y[:], 5, engine.UnitBounds()))(t)
			return must.Get(r.ResidualScores(context.Background(), q, by, products, weights, levels))(t)
		}
		for range 3 {
			kept, label := rows[rng.IntN(len(rows))], float64(2*rng.IntN(2)-1)
			low, high := []int64{math.MaxInt64, math.MaxInt64, math.MaxInt64}, make([]int64, 3)
			for _, x := range rows {
				for _, y := range []float64{-1, 1} {
					for k, s := range scores([2][]float64{kept, x}, [2]float64{label, y}) {
						low[k], high[k] = min(low[k], s), max(high[k], s)
					}
				}
			}
			for k := range high {
				most = max(most, float64(high[k]-low[k])/(2*levels))
			}
		}
	}
	if most > 1 || most < 0.9 {
		t.Errorf("a replaced record moves scores by up to %v of the bound, want nearly 1 and not more", most)
	}
}

// A person's terms are means over its rows, so that scores of persons with any number of rows move by no more; and a person with the same
// row several times is one with that row.
func TestResidualScoresOfPersons(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 3))
	for range 200 {
		q, by, products, weights := choice(rng)
		scores := func(rows ...int) []int64 { // of two persons with so many rows
			var x, y []float64
			first, own := []int{0}, rand.New(rand.NewPCG(1, uint64(rows[0])))
			for person, n := range rows {
				for range n {
					for range 5 {
						x = append(x, own.NormFloat64())
					}
					y = append(y, float64(1-2*person))
				}
				first = append(first, len(y))
			}
			r := must.Get(must.Get(engine.NewRecords(x, y, 5, engine.UnitBounds()))(t).WithPersons(first, 64))(t)
			return must.Get(r.ResidualScores(context.Background(), q, by, products, weights, levels))(t)
		}
		a, b := scores(3, 1), scores(3, 64)
		for k := range a {
			if a[k]-b[k] > 2*levels || b[k]-a[k] > 2*levels {
				t.Fatalf("another person moves score %d from %d to %d", k, a[k], b[k])
			}
		}
	}
}

// A record with its products is a function of the record, within the norm bound, and keeps label and person.
func TestRecordsWithProducts(t *testing.T) {
	r := must.Get(engine.NewRecords([]float64{0.1, 0.2, 0.3, 0.4, 0, 0, 0, 1}, []float64{1, -1}, 4, engine.UnitBounds()))(t)
	r = must.Get(r.WithProducts(0.5, []engine.Product{{A: 0, WidthA: 2, B: 2, WidthB: 2, Scale: 10}, {A: 3, WidthA: 1, B: 3, WidthB: 1, Scale: 7}}))(t)
	want, got := []float64{0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.12}, make([]float64, 9)
	r.Row(0, got)
	length := engine.Frobenius(want)
	for k := range want {
		want[k] /= length
	}
	if !(engine.Distance(got, want) <= 1e-10) {
		t.Errorf("features %v, want %v", got, want)
	}
	if r.Label(0) != 1 || r.Label(1) != -1 || r.Dim() != 9 {
		t.Errorf("labels %v of %d features", r.Labels(), r.Dim())
	}
}
