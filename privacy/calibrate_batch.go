package privacy

import (
	"fmt"
	"math"
)

// batchEvent is count releases with certificate c, which is about batches.
func (c Certificate) batchEvent(sigma float64, count int) WithoutReplacementEvent {
	return WithoutReplacementEvent{Law: GaussianLaw, Sensitivity: c.Sensitivity(), Scale: sigma, Batch: c.batch, Records: c.records, Count: count}
}

// UnsampledSigma is the noise that releases queries with certificate c would need if
// their batches were known: sensitivity sqrt(releases)/GDPMu. It meets b with any
// batches, secret or not.
func UnsampledSigma(c Certificate, b Budget, releases int) float64 {
	return c.Sensitivity() * math.Sqrt(float64(releases)) / GDPMu(b.Epsilon, b.Delta)
}

// BasicBatchSigma is the noise that basic composition of amplified steps asks for: with
// gamma = Batch/Records a step that is (e, d)-DP on its batch is (ln(1 + gamma (exp(e)-1)),
// gamma d)-DP [Balle, Barthe and Gaboardi 2018, Theorem 9; privacy.md 7.6], and releases
// of them add up to b. It is +Inf if c is not about batches. It is for comparison:
// CalibrateGaussian composes privacy loss distributions.
func BasicBatchSigma(c Certificate, b Budget, releases int) float64 {
	if c.batch == 0 || releases < 1 {
		return math.Inf(1)
	}
	gamma := float64(c.batch) / float64(c.records)
	epsilon := math.Log1p(math.Expm1(b.Epsilon/float64(releases)) / gamma)
	delta := b.Delta / float64(releases) / gamma
	return c.Sensitivity() / GDPMu(epsilon, min(delta, 0.999))
}

// batchPrecision is the relative width to which calibrateBatch bisects.
const batchPrecision = 2e-4

// calibrateBatch bisects the accountant for the smallest noise of releases queries on
// batches. It returns only noise for which Total grants the budget, so neither
// the search nor a flaw of the accountant's monotonicity can make it unsound.
func calibrateBatch(c Certificate, b Budget, releases int) (Gaussian, error) {
	enough := func(sigma float64) (bool, error) {
		var a Total
		err := a.Compose(c.batchEvent(sigma, releases))
		return err == nil && a.Delta(b.Epsilon) <= b.Delta, err
	}
	hi := UnsampledSigma(c, b, releases)
	lo := hi / 2
	for {
		ok, err := enough(lo)
		if err != nil {
			return Gaussian{}, fmt.Errorf("privacy: calibrating noise on batches: %w", err)
		}
		if !ok {
			break
		}
		hi, lo = lo, lo/2
	}
	for hi > lo*(1+batchPrecision) {
		mid := math.Sqrt(lo * hi)
		ok, err := enough(mid)
		if err != nil {
			return Gaussian{}, fmt.Errorf("privacy: calibrating noise on batches: %w", err)
		}
		if ok {
			hi = mid
		} else {
			lo = mid
		}
	}
	for step := 0x1p-40; step < 0x1p-6; step *= 2 {
		m := Gaussian{Sigma: hi, Grid: GridFor(hi)}
		if err := m.Validate(); err != nil {
			return Gaussian{}, fmt.Errorf("privacy: calibrating noise on batches for epsilon %v, delta %v: %w", b.Epsilon, b.Delta, err)
		}
		var a Total
		if err := a.Compose(c.batchEvent(hi, releases)); err != nil {
			return Gaussian{}, err
		}
		if a.Epsilon(b.Delta) <= b.Epsilon {
			return m, nil
		}
		hi *= 1 + step
	}
	return Gaussian{}, fmt.Errorf("privacy: calibrating noise on batches: epsilon %v with delta %v is beyond the precision of the accountant", b.Epsilon, b.Delta)
}
