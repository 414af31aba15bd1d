package metrics

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
	"dyad/kernels"
)

// aloneRecords are records of d features, stored densely or compressed.
func aloneRecords(t *testing.T, n, d int, sparse bool, seed uint64) *engine.Records {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 9))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range x {
		if !sparse || rng.IntN(3) == 0 {
			x[i] = rng.NormFloat64() * math.Exp2(float64(rng.IntN(40)-20))
		}
	}
	for i := range y {
		y[i] = float64(2*rng.IntN(2) - 1)
	}
	r := must.Get(engine.NewRecords(x, y, d, engine.UnitBounds()))(t)
	if sparse {
		return sparseCopy(t, r)
	}
	return r
}

// places are subsets and orders of n records.
func places(n int, rng *rand.Rand) [][]int {
	all := [][]int{{n - 1}, {0, n - 1}}
	for _, size := range []int{3, 4, 5, 7, 8, n} {
		if size <= n {
			all = append(all, rng.Perm(n)[:size])
		}
	}
	return all
}

// A score has the same bits whatever other records there are and wherever its record stands:
// certificates of evaluations rest on it (docs/theory.md#evaluated-scores). Sums by a vector
// kernel that takes rows in fours do not have this property, and the test sees it.
func TestScoresAreThoseOfTheirRecords(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	vectorsDiffer := false
	for _, d := range []int{1, 2, 3, 5, 8, 13, 64, 101} {
		for _, sparse := range []bool{false, true} {
			const n = 37
			r := aloneRecords(t, n, d, sparse, uint64(d))
			w := make([]float64, d)
			for k := range w {
				w[k] = rng.NormFloat64()
			}
			want := must.Get(Scores(r, w))(t)
			for _, rows := range places(n, rng) {
				got := must.Get(Scores(r.Subset(rows), w))(t)
				for i, row := range rows {
					if math.Float64bits(got[i]) != math.Float64bits(want[row]) {
						t.Fatalf("d %d, sparse %v: the score of a record is %v among %d and %v among %d", d, sparse, want[row], n, got[i], len(rows))
					}
				}
				if sparse {
					continue
				}
				set := must.Get(kernels.Select(kernels.Best))(t)
				all, some := make([]float64, n), make([]float64, len(rows))
				set.Dots(all, r.Dense(), w)
				set.Dots(some, r.Subset(rows).Dense(), w)
				for i, row := range rows {
					vectorsDiffer = vectorsDiffer || some[i] != all[row]
				}
			}
		}
	}
	if set, err := kernels.Select(kernels.Best); err == nil && set.Variant() != kernels.Generic && !vectorsDiffer {
		t.Error("vector kernels have the property, too: this test shows nothing")
	}
}

// What nearest neighbours among public records predict for a record is a function of that
// record, whatever other records are asked about.
func TestNearestNeighboursOfARecordAreItsOwn(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	for _, d := range []int{1, 3, 9} {
		for _, sparse := range []bool{false, true} {
			const n = 150
			reference, r := aloneRecords(t, 300, d, sparse, 100+uint64(d)), aloneRecords(t, n, d, sparse, 200+uint64(d))
			for _, metric := range [][]float64{nil, identity(d)} {
				o := KNNOptions{K: 5, Metric: metric}
				want := must.Get(KNN(context.Background(), reference, r, o))(t)
				for _, rows := range places(n, rng) {
					got := must.Get(KNN(context.Background(), reference, r.Subset(rows), o))(t)
					for i, row := range rows {
						if got.Predicted[i] != want.Predicted[row] {
							t.Fatalf("d %d: a record is predicted %v among %d and %v among %d", d, want.Predicted[row], n, got.Predicted[i], len(rows))
						}
					}
				}
			}
		}
	}
}

func identity(d int) []float64 {
	w := make([]float64, d*d)
	for k := range d {
		w[k*d+k] = 1
	}
	return w
}
