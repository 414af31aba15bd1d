package privacy_test

import (
	"math"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/internal/sampler"
)

func TestGaussianAddRefuses(t *testing.T) {
	src := privacy.NewSeededSource(1)
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		m   privacy.Gaussian
		x   float64
		src *privacy.Source
	}{
		{privacy.Gaussian{Sigma: 1}, nan, src}, {privacy.Gaussian{Sigma: 1}, inf, src}, {privacy.Gaussian{Sigma: 1}, -inf, src},
		{privacy.Gaussian{Sigma: 1}, 1, nil},
		{privacy.Gaussian{}, 1, src}, {privacy.Gaussian{Sigma: -1}, 1, src}, {privacy.Gaussian{Sigma: nan}, 1, src}, {privacy.Gaussian{Sigma: inf}, 1, src},
		{privacy.Gaussian{Sigma: 1, Grid: 3}, 1, src}, {privacy.Gaussian{Sigma: 1, Grid: -0.5}, 1, src},
		{privacy.Gaussian{Sigma: 1, Grid: nan}, 1, src}, {privacy.Gaussian{Sigma: 1, Grid: inf}, 1, src},
	} {
		x := []float64{5, c.x, 7}
		must.ErrDo(t, privacy.AddNoise(c.m, x, c.src), "%+v, x = %v: no error", c.m, c.x)
		for _, v := range x {
			must.Equal(t, v, 0, "%+v, x = %v: left %v behind", c.m, c.x, x)
		}
	}
}

func TestGaussianAddsExactNoise(t *testing.T) {
	m := privacy.Gaussian{Sigma: 0.3}
	a := []float64{1, -2, 3e-9, 0}
	b := append([]float64(nil), a...)
	must.Do(t, privacy.AddNoise(m, a, privacy.NewSeededSource(1)))
	m.Grid = privacy.GridFor(m.Sigma)
	sampler.Gaussian(b, m.Sigma, m.Grid, privacy.NewSeededSource(1).Bits)
	for i := range a {
		if a[i] != b[i] || math.Signbit(a[i]) && a[i] == 0 {
			t.Errorf("coordinate %d: %v and %v", i, a[i], b[i])
		}
	}
}

// The ends of the float64 range: outputs are finite, never -0, and near x.
func TestGaussianExtremes(t *testing.T) {
	src := privacy.NewSeededSource(11)
	for _, c := range []struct{ x, sigma, grid float64 }{
		{math.MaxFloat64, 1, 0}, {-math.MaxFloat64, math.MaxFloat64, 0}, {5e-324, 5e-324, 0},
		{1, 5e-324, 0}, {5e-324, 1, 0}, {1, 1, 0x1p1023}, {1, 1, 5e-324}, {-1, 1e300, 0},
	} {
		x := []float64{c.x}
		must.CheckDo(t, privacy.AddNoise(privacy.Gaussian{Sigma: c.sigma, Grid: c.grid}, x, src), c)
		if v := x[0]; math.IsNaN(v) || math.IsInf(v, 0) || v == 0 && math.Signbit(v) || math.Abs(v-c.x) > 16*max(c.sigma, c.grid) && !math.IsInf(v-c.x, 0) {
			t.Errorf("%+v: %v", c, v)
		}
	}
}
