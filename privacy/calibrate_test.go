package privacy_test

import (
	"math"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// Calibrate, then account: never above the budget, and 1e-9 less noise would be.
func TestCalibrateThenAccount(t *testing.T) {
	for _, sensitivity := range []float64{1e-30, 8. / 1024, 1, 3.7e12} {
		c := must.Get(privacy.CertificateForTest(sensitivity))(t)
		for _, epsilon := range []float64{1e-6, 0.1, 1, 2.5, 20, 100} {
			for _, delta := range []float64{1e-300, 1e-30, 1e-5, 1. / 512, 0.9} {
				for _, releases := range []int{1, 7, 1_000_003} {
					b := privacy.Budget{Epsilon: epsilon, Delta: delta}
					m, err := privacy.CalibrateGaussian(c, b, releases)
					if err != nil {
						t.Fatalf("%+v: %v", b, err)
					}
					total := func(sigma float64) *account.GDP {
						var a account.GDP
						must.Do(t, a.Compose(account.Repeat(account.GaussianEvent{Sensitivity: sensitivity, Sigma: sigma}, releases)))
						return &a
					}
					a := total(m.Sigma)
					if e, d := a.Epsilon(delta), a.Delta(epsilon); e > epsilon || d > delta {
						t.Errorf("%+v, %d releases, sensitivity %v: accounted (%v, %v)", b, releases, sensitivity, e, d)
					}
					if e, d := total(m.Sigma*(1-1e-9)).Epsilon(delta), total(m.Sigma*(1-1e-9)).Delta(epsilon); e <= epsilon && d <= delta {
						t.Errorf("%+v, %d releases, sensitivity %v: 1e-9 less noise meets the budget too", b, releases, sensitivity)
					}
					must.Equal(t, m.Grid, privacy.GridFor(m.Sigma), "grid")
				}
			}
		}
	}
}

func TestCalibrateRefuses(t *testing.T) {
	one := must.Get(privacy.CertificateForTest(1))(t)
	huge := must.Get(privacy.CertificateForTest(math.MaxFloat64))(t)
	good := privacy.Budget{Epsilon: 1, Delta: 1e-5}
	for _, c := range []struct {
		c        privacy.Certificate
		b        privacy.Budget
		releases int
		want     string
	}{
		{privacy.Certificate{}, good, 1, "certificate is empty"},
		{one, privacy.Budget{Epsilon: 1}, 1, "delta is 0"},
		{one, privacy.Budget{Delta: 1e-5}, 1, "epsilon is 0"},
		{one, privacy.Budget{Epsilon: math.Inf(1), Delta: 1e-5}, 1, "epsilon is +Inf"},
		{one, privacy.Budget{Epsilon: 1, Delta: 1}, 1, "delta is 1"},
		{one, good, 0, "releases is 0"},
		{one, good, -3, "releases is -3"},
		{huge, good, 1, "sigma is +Inf"},
	} {
		if m, err := privacy.CalibrateGaussian(c.c, c.b, c.releases); err == nil || !strings.Contains(err.Error(), c.want) || m != (privacy.Gaussian{}) {
			t.Errorf("%+v, %d releases: %+v, error %v, want one with %q", c.b, c.releases, m, err, c.want)
		}
	}
}
