package privacy_test

import (
	"math"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Calibrate, then account: never above epsilon, and 1e-9 less noise would be.
func TestCalibratePureThenAccount(t *testing.T) {
	total := func(m privacy.Mechanism, c privacy.Certificate) float64 {
		var a account.GDP
		must.Do(t, a.Compose(m.Event(c)))
		return a.Epsilon(0)
	}
	for _, sensitivity := range []float64{1e-30, 8. / 1024, 1, 3.7e12} {
		c := must.Get(privacy.CertificateForTest(sensitivity))(t)
		for _, epsilon := range []float64{1e-6, 0.1, 1, 2.5, 100} {
			for _, coordinates := range []int{1, 2, 7, 465, 1_000_003} {
				for _, kind := range []privacy.PureNoise{privacy.KNormNoise, privacy.LaplaceNoise} {
					m := must.Get(privacy.CalibratePure(c, epsilon, coordinates, kind))(t)
					var less privacy.Mechanism
					var scale, want float64
					switch m := m.(type) {
					case privacy.KNorm:
						scale, want = m.Scale, sensitivity/epsilon
						less = privacy.KNorm{Scale: m.Scale * (1 - 1e-9)}
					case privacy.Laplace:
						scale, want = m.Scale, math.Sqrt(float64(coordinates))*sensitivity/epsilon
						less = privacy.Laplace{Scale: m.Scale * (1 - 1e-9), Coordinates: coordinates}
					}
					if math.Abs(scale/want-1) > 1e-14 || m.GridSize() != privacy.GridFor(scale) {
						t.Errorf("%v: scale %v, want %v; grid %v", m, scale, want, m.GridSize())
					}
					if e := total(m, c); e > epsilon {
						t.Errorf("%v for epsilon %v, sensitivity %v: accounted %v", m, epsilon, sensitivity, e)
					}
					if e := total(less, c); e <= epsilon {
						t.Errorf("%v for epsilon %v, sensitivity %v: 1e-9 less noise meets it too", m, epsilon, sensitivity)
					}
				}
			}
		}
	}
}

// docs/theory.md#k-norm-noise: K-norm noise is smaller by 2m/(m+1): 1.78 at m = 8, 1.99 at 361.
func TestKNormIsLessNoiseThanLaplace(t *testing.T) {
	c := must.Get(privacy.CertificateForTest(0.3))(t)
	for m, want := range map[int]float64{1: 1, 8: 1.78, 361: 1.99} {
		k, err1 := privacy.CalibratePure(c, 0.7, m, privacy.KNormNoise)
		l, err2 := privacy.CalibratePure(c, 0.7, m, privacy.LaplaceNoise)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		ratio := math.Pow(l.NoiseNorm(m)/k.NoiseNorm(m), 2)
		if math.Abs(ratio-want) > 0.006 || math.Abs(ratio-2*float64(m)/float64(m+1)) > 1e-9 {
			t.Errorf("%d coordinates: the ratio of squared norms is %v, want %v", m, ratio, want)
		}
	}
}

func TestCalibratePureRefuses(t *testing.T) {
	one := must.Get(privacy.CertificateForTest(1))(t)
	huge := must.Get(privacy.CertificateForTest(math.MaxFloat64))(t)
	for _, c := range []struct {
		c           privacy.Certificate
		epsilon     float64
		coordinates int
		kind        privacy.PureNoise
		want        string
	}{
		{privacy.Certificate{}, 1, 1, privacy.KNormNoise, "certificate is empty"},
		{one, 0, 1, privacy.KNormNoise, "epsilon is 0"},
		{one, math.Inf(1), 1, privacy.KNormNoise, "epsilon is +Inf"},
		{one, 1, 0, privacy.LaplaceNoise, "coordinates is 0"},
		{one, 1, 1, 7, "PureNoise(7) is unknown"},
		{huge, 0.1, 1, privacy.KNormNoise, "scale is +Inf"},
		{huge, 1, 5, privacy.LaplaceNoise, "scale is +Inf"},
	} {
		if m, err := privacy.CalibratePure(c.c, c.epsilon, c.coordinates, c.kind); err == nil || !strings.Contains(err.Error(), c.want) || m != nil {
			t.Errorf("epsilon %v, %d coordinates, %v: %v, error %v, want one with %q", c.epsilon, c.coordinates, c.kind, m, err, c.want)
		}
	}
}
