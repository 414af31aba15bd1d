package metrics

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/internal/must"
)

// TestDeLongDifferenceIsItsDefinition: the variance is the sum of the variances of the two scores less twice their
// covariance, from all pairs one by one.
func TestDeLongDifferenceIsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		n := 4 + rng.IntN(30)
		a, b, y := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			a[i], b[i], y[i] = float64(rng.IntN(8)), float64(rng.IntN(8)), float64(2*(i%2)-1)
		}
		got := must.Get(DeLongDifference(a, b, y))(t)
		kernel := func(s []float64, i, j int) float64 {
			switch {
			case s[i] > s[j]:
				return 1
			case s[i] == s[j]:
				return 0.5
			}
			return 0
		}
		row, column := map[int]float64{}, map[int]float64{}
		var p, q, mean float64
		for i := range n {
			if y[i] > 0 {
				p++
			} else {
				q++
			}
		}
		for i := range n {
			for j := range n {
				if y[i] > 0 && y[j] < 0 {
					k := kernel(a, i, j) - kernel(b, i, j)
					row[i] += k / q
					column[j] += k / p
					mean += k / (p * q)
				}
			}
		}
		want := 0.0
		for i := range n {
			if y[i] > 0 {
				want += (row[i] - mean) * (row[i] - mean) / (p * (p - 1))
			} else {
				want += (column[i] - mean) * (column[i] - mean) / (q * (q - 1))
			}
		}
		if math.Abs(got.Difference-mean) > 1e-12 || math.Abs(got.Variance-want) > 1e-12 {
			t.Fatalf("%+v, want %g and %g", got, mean, want)
		}
	}
	y := []float64{1, 1, -1, -1}
	same, err := DeLongDifference([]float64{1, 2, 1, 0}, []float64{1, 2, 1, 0}, y)
	if err != nil || same != (AUCDifference{}) {
		t.Errorf("a model and itself: %+v, %v", same, err)
	}
	if _, _, err := same.Interval(0.95); !errors.Is(err, ErrDegenerate) {
		t.Errorf("no variance: %v", err)
	}
	must.Err(DeLongDifference([]float64{1}, []float64{1, 2}, y))(t, "scores of different records are compared")
}
