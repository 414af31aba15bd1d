package engine

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestProductOfLabelsLearnsNothing attacks docs/theory.md#product-of-labels: with Y(y, y') = y y' the objective of scores over
// all ordered pairs does not change when labels do, and for a convex phi nothing is below the model 0. The control: with
// y - y' both are false, so the test would see an objective that learns.
func TestProductOfLabelsLearnsNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, d = 12, 3
	x, y := make([][d]float64, n), make([]float64, n)
	for i := range x {
		y[i] = float64(1 - 2*(i%2))
		for k := range d {
			x[i][k] = rng.NormFloat64() + y[i]
		}
	}
	losses := map[string]func(float64) float64{
		"logistic": func(u float64) float64 { return math.Log1p(math.Exp(-u)) },
		"hinge":    func(u float64) float64 { return max(0, 1-u) },
		"square":   func(u float64) float64 { return (1 - u) * (1 - u) },
	}
	objective := func(phi func(float64) float64, of func(y, v float64) float64, w [d]float64, y []float64) (sum float64) {
		for i := range n {
			for j := range n {
				if i != j {
					s := 0.0
					for k := range d {
						s += w[k] * (x[i][k] - x[j][k])
					}
					sum += phi(of(y[i], y[j]) * s)
				}
			}
		}
		return sum / (n * (n - 1))
	}
	product, difference := func(y, v float64) float64 { return y * v }, func(y, v float64) float64 { return y - v }
	for name, phi := range losses {
		learns, sees := false, false
		for range 100 {
			var w [d]float64
			for k := range d {
				w[k] = rng.NormFloat64() / 4
			}
			other := make([]float64, n)
			for i := range other {
				other[i] = float64(1 - 2*rng.IntN(2))
			}
			at := objective(phi, product, w, y)
			if off := math.Abs(at - objective(phi, product, w, other)); off > 1e-12*at {
				t.Fatalf("%s: other labels change the objective by %v", name, off)
			}
			if at < objective(phi, product, [d]float64{}, y)-1e-12 {
				t.Fatalf("%s: the model %v is below the model 0", name, w)
			}
			control := objective(phi, difference, w, y)
			learns = learns || control < objective(phi, difference, [d]float64{}, y)-0.01
			sees = sees || math.Abs(control-objective(phi, difference, w, other)) > 0.01
		}
		if !learns || !sees {
			t.Errorf("%s: the control does not see an objective that learns", name)
		}
	}
}
