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
		got := must.Get(DeLongDifference(a, b, y, nil))(t)
		v10, v01 := slowPlacements(a, y)
		of10, of01 := slowPlacements(b, y)
		for i, v := range of10 {
			v10[i] -= v
		}
		for i, v := range of01 {
			v01[i] -= v
		}
		mean, want := slowAUC(a, y)-slowAUC(b, y), slowVariance(v10, v01)
		if math.Abs(got.Difference-mean) > 1e-12 || math.Abs(got.Variance-want) > 1e-12 {
			t.Fatalf("%+v, want %g and %g", got, mean, want)
		}
	}
	y := []float64{1, 1, -1, -1}
	same := must.Get(DeLongDifference([]float64{1, 2, 1, 0}, []float64{1, 2, 1, 0}, y, nil))(t)
	must.Equal(t, same, AUCDifference{}, "a model and itself")
	if _, _, err := same.Interval(0.95); !errors.Is(err, ErrDegenerate) {
		t.Errorf("no variance: %v", err)
	}
	must.Err(DeLongDifference([]float64{1}, []float64{1, 2}, y, nil))(t, "scores of different records are compared")
}
