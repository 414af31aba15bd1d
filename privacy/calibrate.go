package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/account"
)

// CalibrateGaussian returns Gaussian noise for the given number of adaptive queries. Each query has
// certificate c, and all queries together meet the budget b. The standard deviation is
//
//	Sigma = c.Sensitivity() sqrt(releases) / GDPMu(epsilon, delta)
//
// This formula is proved in docs/theory.md#calibration. Sigma is rounded up until the GDP accountant computes
// an epsilon of at most b.Epsilon at b.Delta. Grid is GridFor(Sigma), or the grid of c if the theorem of c
// requires a particular grid.
//
// If c is about batches, Sigma is the smallest value for which account.Total computes a cost within the
// budget, up to a relative error of 2e-4 (see calibrateBatch).
//
// CalibrateGaussian returns an error if c was not built by a constructor, if b is out of range, if releases <
// 1, or if c is a joint certificate and releases is not 1. It also returns an error if b.Delta is 0, because
// Gaussian noise never gives pure epsilon-DP. Use CalibratePure in that case.
func CalibrateGaussian(c Certificate, b Budget, releases int) (Gaussian, error) {
	if c.IsZero() {
		return Gaussian{}, errors.New("privacy: calibrating noise: the certificate is empty; create it with a " +
			"constructor")
	}
	if c.joint() && releases != 1 {
		return Gaussian{}, fmt.Errorf("privacy: calibrating noise: the certificate covers all releases together; "+
			"count them as 1 release, not %d", releases)
	}
	if err := b.Validate(); err != nil {
		return Gaussian{}, err
	}
	if b.Delta == 0 {
		return Gaussian{}, errors.New("privacy: calibrating noise: delta is 0, but Gaussian noise never gives pure " +
			"epsilon; choose delta > 0, for example DefaultDelta(n), or call CalibratePure")
	}
	if releases < 1 {
		return Gaussian{}, fmt.Errorf("privacy: calibrating noise: the number of releases is %d, but must be at "+
			"least 1", releases)
	}
	if _, sampled := c.sampled(); sampled {
		return batchNoises.Get(batchQuestion{c, b, releases},
			func() (Gaussian, error) { return calibrateBatch(c, b, releases) })
	}
	sigma := c.Sensitivity() * math.Sqrt(float64(releases)) / account.GDPMu(b.Epsilon, b.Delta)
	// GDPMu is rounded down and the accountant rounds up. A few more units in the last place make up for the
	// roundings in between. The steps grow, so the loop ends.
	for step := 0x1p-52; step < 0x1p-20; step *= 2 {
		m := Gaussian{Sigma: sigma, Grid: gridOr(c.hidden().grid, sigma)}
		if err := m.Validate(); err != nil {
			return Gaussian{}, fmt.Errorf("privacy: calibrating noise for epsilon %v, delta %v: %w", b.Epsilon, b.Delta, err)
		}
		event := account.Repeat(m.Event(c), releases) // a joint certificate has releases = 1
		var a account.GDP
		if err := a.Compose(event); err != nil {
			return Gaussian{}, err
		}
		if a.Epsilon(b.Delta) <= b.Epsilon {
			return m, nil
		}
		sigma *= 1 + step
	}
	return Gaussian{}, fmt.Errorf("privacy: calibrating noise: float64 is not precise enough for epsilon %v with "+
		"delta %v", b.Epsilon, b.Delta)
}

// PureNoise selects the kind of noise for a guarantee of pure epsilon-DP.
type PureNoise int

// The kinds of pure noise. The zero value is the kind with less noise.
const (
	// KNormNoise selects KNorm. Its noise has E||z||^2 = m(m+1) (Delta/epsilon)^2 for m coordinates.
	KNormNoise PureNoise = iota
	// LaplaceNoise selects Laplace. Its noise has E||z||^2 = 2 m^2 (Delta/epsilon)^2 for m coordinates.
	LaplaceNoise
)

// String returns "K-norm" or "Laplace".
func (k PureNoise) String() string {
	switch k {
	case KNormNoise:
		return "K-norm"
	case LaplaceNoise:
		return "Laplace"
	}
	return fmt.Sprintf("PureNoise(%d)", int(k))
}

// CalibratePure returns noise for one release of a query with certificate c and the given number of
// coordinates. The release is epsilon-differentially private with delta = 0. The scale is
//
//	KNorm:    Scale = c.Sensitivity()/epsilon
//	Laplace:  Scale = sqrt(coordinates) c.Sensitivity()/epsilon, without the root if c
//	          is in the L1 norm
//
// These formulas are proved in docs/theory.md#calibration. Scale is rounded up until the GDP accountant
// computes at most BelowDecimal(epsilon) at delta 0. Grid is GridFor(Scale). The epsilons of several releases
// add up as decimals: five releases with epsilon 0.2 cost 1.
//
// CalibratePure returns an error if c was not built by a constructor, is a joint certificate, or is about
// Poisson batches. It also returns an error if epsilon is not positive and finite, if coordinates < 1, if
// kind is unknown, or if a number overflows float64.
func CalibratePure(c Certificate, epsilon float64, coordinates int, kind PureNoise) (Mechanism, error) {
	if c.IsZero() {
		return nil, errors.New("privacy: calibrating noise: the certificate is empty; create it with a constructor")
	}
	if rate, _ := c.Poisson(); rate > 0 {
		return nil, errors.New("privacy: calibrating noise: Poisson batches need Gaussian noise; choose delta > 0")
	}
	if c.joint() {
		return nil, errors.New("privacy: calibrating noise: a certificate that covers several releases has no pure " +
			"epsilon; choose delta > 0")
	}
	if err := (Budget{Epsilon: epsilon}).Validate(); err != nil {
		return nil, err
	}
	if coordinates < 1 {
		return nil, fmt.Errorf("privacy: calibrating noise: the number of coordinates is %d, but must be at least 1",
			coordinates)
	}
	var build func(scale float64) Mechanism
	scale := c.Sensitivity() / epsilon
	switch kind {
	case KNormNoise:
		build = func(scale float64) Mechanism { return KNorm{Scale: scale, Grid: GridFor(scale)} }
	case LaplaceNoise:
		scale = Laplace{Coordinates: coordinates}.sensitivity(c) / epsilon
		build = func(scale float64) Mechanism {
			return Laplace{Scale: scale, Coordinates: coordinates, Grid: GridFor(scale)}
		}
	default:
		return nil, fmt.Errorf("privacy: calibrating noise: %v is unknown, want KNormNoise or LaplaceNoise", kind)
	}
	// The event rounds its epsilon up. A few more units in the last place make up for that rounding. The
	// steps grow, so the loop ends.
	for step := 0x1p-52; step < 0x1p-20; step *= 2 {
		m := build(scale)
		if err := m.Validate(); err != nil {
			return nil, fmt.Errorf("privacy: calibrating noise for epsilon %v: %w", epsilon, err)
		}
		var a account.GDP
		if err := a.Compose(m.Event(c)); err != nil {
			return nil, fmt.Errorf("privacy: calibrating noise for epsilon %v: %w", epsilon, err)
		}
		if a.Epsilon(0) <= BelowDecimal(epsilon) {
			return m, nil
		}
		scale *= 1 + step
	}
	return nil, fmt.Errorf("privacy: calibrating noise: float64 is not precise enough for epsilon %v", epsilon)
}
