package privacy

import (
	"errors"
	"fmt"
	"math"
)

// CalibrateGaussian returns the Gaussian noise with which releases adaptive
// queries, each with certificate c, meet the budget together:
//
//	Sigma = c.Sensitivity() sqrt(releases) / GDPMu(epsilon, delta)
//
// (privacy.md 1.4), rounded up until GDP accounts at most b.Epsilon at b.Delta.
// Grid is GridFor(Sigma). Errors: c was not built by a constructor, b is out of
// range or has delta = 0 (no Gaussian noise gives pure epsilon), releases < 1.
func CalibrateGaussian(c Certificate, b Budget, releases int) (Gaussian, error) {
	if c.IsZero() {
		return Gaussian{}, errors.New("privacy: calibrating noise: the certificate is empty, build it with a constructor")
	}
	if err := b.Validate(); err != nil {
		return Gaussian{}, err
	}
	if b.Delta == 0 {
		return Gaussian{}, errors.New("privacy: calibrating noise: delta is 0, but Gaussian noise never gives pure epsilon: choose delta > 0, for example DefaultDelta(n)")
	}
	if releases < 1 {
		return Gaussian{}, fmt.Errorf("privacy: calibrating noise: %d releases, must be at least 1", releases)
	}
	sigma := c.Sensitivity() * math.Sqrt(float64(releases)) / GDPMu(b.Epsilon, b.Delta)
	// GDPMu is rounded down, the accountant up: a few units in the last place
	// make up for the roundings in between. Growing steps, so it ends.
	for step := 0x1p-52; step < 0x1p-20; step *= 2 {
		m := Gaussian{Sigma: sigma, Grid: GridFor(sigma)}
		if err := m.Validate(); err != nil {
			return Gaussian{}, fmt.Errorf("privacy: calibrating noise for epsilon %v, delta %v: %w", b.Epsilon, b.Delta, err)
		}
		var a GDP
		event := m.Event(c)
		event.Count = releases
		if err := a.Compose(event); err != nil {
			return Gaussian{}, err
		}
		if a.Epsilon(b.Delta) <= b.Epsilon {
			return m, nil
		}
		sigma *= 1 + step
	}
	return Gaussian{}, fmt.Errorf("privacy: calibrating noise: epsilon %v with delta %v is beyond the precision of float64", b.Epsilon, b.Delta)
}
