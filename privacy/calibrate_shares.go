package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/account"
)

// CalibrateShares returns the noise of adaptive releases that meet the budget b together. Release i has the
// certificate certificates[i]. This certificate must cover one release computed from all records. So joint
// certificates and certificates of batches are refused. The number shares[i], in (0, 1], is the release's
// share of mu^2, or its share of epsilon if delta = 0. The shares add up to at most 1.
//
// If delta > 0, the noise is Gaussian with Sigma_i = Sensitivity_i/(mu sqrt(Share_i)), where mu =
// GDPMu(epsilon, delta). If delta = 0, the noise is K-norm noise with Scale_i = Sensitivity_i/(Share_i
// epsilon), or Laplace noise with the same scale for a certificate in the L1 norm. All scales are rounded up
// until the GDP accountant computes a cost within the budget.
//
// The shares are fixed before the first release. If the sensitivity of a release depends on earlier
// releases, its noise must change in proportion. A plan with fixed events cannot contain noise that changes,
// so the caller must scale the query instead.
//
// CalibrateShares returns an error if there are no releases, if the shares are out of range or add up to more
// than 1, or if b is out of range. It also returns an error if a certificate is of another kind.
func CalibrateShares(certificates []Certificate, shares []float64, b Budget) ([]Mechanism, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	if len(certificates) == 0 || len(certificates) != len(shares) {
		return nil, errors.New("privacy: calibrating noise: want at least one release, and one budget share per " +
			"release")
	}
	var sum float64
	for i, c := range certificates {
		if !(shares[i] > 0) {
			return nil, fmt.Errorf("privacy: calibrating noise: release %d has the share %v, but shares must be "+
				"positive", i+1, shares[i])
		}
		if c.IsZero() || c.form != nil {
			return nil, fmt.Errorf("privacy: calibrating noise: the certificate of release %d is missing, or is "+
				"not for one release from all records", i+1)
		}
		sum += shares[i]
	}
	if !(sum <= 1+0x1p-40) {
		return nil, fmt.Errorf("privacy: calibrating noise: the shares add up to %v, must be at most 1", sum)
	}
	mu, target := 0.0, BelowDecimal(b.Epsilon)
	if b.Delta > 0 {
		mu, target = account.GDPMu(b.Epsilon, b.Delta), b.Epsilon
	}
	// The steps make up for the roundings in between. They grow, so the loop ends.
	for step := 0.0; step < 0x1p-20; step = max(2*step, 0x1p-52) {
		noise := make([]Mechanism, len(certificates))
		var total account.GDP
		for i, c := range certificates {
			var scale float64
			if b.Delta > 0 {
				scale = c.Sensitivity() / (mu * math.Sqrt(shares[i])) * (1 + step)
				noise[i] = Gaussian{Sigma: scale, Grid: GridFor(scale)}
			} else {
				scale = c.Sensitivity() / (shares[i] * b.Epsilon) * (1 + step)
				noise[i] = KNorm{Scale: scale, Grid: GridFor(scale)}
				if c.manhattan {
					noise[i] = Laplace{Scale: scale, Coordinates: c.length, Grid: GridFor(scale)}
				}
			}
			if err := noise[i].Validate(); err != nil {
				return nil, fmt.Errorf("privacy: calibrating noise of release %d: %w", i+1, err)
			}
			if err := total.Compose(noise[i].Event(c)); err != nil {
				return nil, err
			}
		}
		if total.Epsilon(b.Delta) <= target {
			return noise, nil
		}
	}
	return nil, fmt.Errorf("privacy: calibrating noise: float64 is not precise enough for epsilon %v with delta %v",
		b.Epsilon, b.Delta)
}
