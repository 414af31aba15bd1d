package privacy_test

import (
	"math"
	"testing"

	"dyad/privacy"
)

// NoiseNorm is the root of E||Z||^2 of the law, here by Simpson's rule: m times
// the second moment of a coordinate, or the second moment of the radius.
func TestNoiseNorm(t *testing.T) {
	moment := func(density func(float64) float64) float64 {
		const steps, h = 1 << 14, 100.0 / (1 << 14)
		mass, second := 0.0, 0.0
		for i := 0; i <= steps; i++ {
			weight, z := 2+2*float64(i%2), float64(i)*h
			if i == 0 || i == steps {
				weight = 1
			}
			mass += weight * density(z)
			second += weight * z * z * density(z)
		}
		return second / mass
	}
	exponential := func(z float64) float64 { return math.Exp(-z) }
	for _, m := range []int{1, 2, 8, 30} {
		n := float64(m)
		for _, c := range []struct {
			m    privacy.Mechanism
			want float64
		}{
			{privacy.Gaussian{Sigma: 3}, n * moment(func(z float64) float64 { return math.Exp(-z * z / 2) })},
			{privacy.Laplace{Scale: 3, Coordinates: m}, n * moment(exponential)},
			{privacy.KNorm{Scale: 3}, moment(func(r float64) float64 { return math.Pow(r, n-1) * exponential(r) })},
		} {
			if got := c.m.NoiseNorm(m); math.Abs(got/(3*math.Sqrt(c.want))-1) > 1e-6 {
				t.Errorf("%v in %d coordinates: norm %v, want %v", c.m, m, got, 3*math.Sqrt(c.want))
			}
		}
	}
}
