package privacy_test

import (
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
)

func TestPureNoiseRefuses(t *testing.T) {
	src := privacy.NewSeededSource(1)
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		m   privacy.Mechanism
		x   float64
		src *privacy.Source
	}{
		{privacy.Laplace{Scale: 1, Coordinates: 3}, nan, src}, {privacy.Laplace{Scale: 1, Coordinates: 3}, 1, nil},
		{privacy.Laplace{Scale: 0, Coordinates: 3}, 1, src}, {privacy.Laplace{Scale: inf, Coordinates: 3}, 1, src},
		{privacy.Laplace{Scale: 1, Coordinates: 2}, 1, src}, {privacy.Laplace{Scale: 1, Coordinates: 4}, 1, src}, {privacy.Laplace{Scale: 1}, 1, src},
		{privacy.Laplace{Scale: 1, Coordinates: 3, Grid: 3}, 1, src},
		{privacy.KNorm{Scale: 1}, inf, src}, {privacy.KNorm{Scale: 1}, 1, nil},
		{privacy.KNorm{}, 1, src}, {privacy.KNorm{Scale: -1}, 1, src}, {privacy.KNorm{Scale: nan}, 1, src},
		{privacy.KNorm{Scale: 1, Grid: 0.75}, 1, src}, {privacy.KNorm{Scale: 1, Grid: -1}, 1, src},
	} {
		x := []float64{5, c.x, 7}
		must.ErrDo(t, privacy.AddNoise(c.m, x, c.src), "%#v, x = %v: no error", c.m, c.x)
		for _, v := range x {
			must.Equal(t, v, 0, "%#v, x = %v: left %v behind", c.m, c.x, x)
		}
	}
	must.CheckDo(t, privacy.AddNoise(privacy.KNorm{Scale: 1}, nil, src), "an empty vector")
}

// The ends of the float64 range, as for Gaussian noise.
func TestPureNoiseExtremes(t *testing.T) {
	src := privacy.NewSeededSource(11)
	for _, c := range []struct{ x, sigma, grid float64 }{
		{math.MaxFloat64, 1, 0}, {-math.MaxFloat64, math.MaxFloat64, 0}, {5e-324, 5e-324, 0},
		{1, 5e-324, 0}, {5e-324, 1, 0}, {1, 1, 0x1p1023}, {1, 1, 5e-324}, {-1, 1e300, 0}, {3, 1e-10, 1}, {3, 1e10, 1e-200},
	} {
		grid := c.grid
		if grid == 1e-200 {
			grid = 0x1p-700
		}
		for _, m := range []privacy.Mechanism{privacy.Laplace{Scale: c.sigma, Coordinates: 2, Grid: grid}, privacy.KNorm{Scale: c.sigma, Grid: grid}} {
			x := []float64{c.x, c.x}
			must.CheckDo(t, privacy.AddNoise(m, x, src), m)
			for _, v := range x {
				if math.IsNaN(v) || math.IsInf(v, 0) || v == 0 && math.Signbit(v) || math.Abs(v-c.x) > 60*max(c.sigma, grid) && !math.IsInf(v-c.x, 0) {
					t.Errorf("%#v, x = %v: %v", m, c.x, v)
				}
			}
		}
	}
}
