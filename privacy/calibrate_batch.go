package privacy

import (
	"fmt"
	"math"

	"dyad/internal/memo"
	"dyad/privacy/account"
)

// knownSensitivity is the sensitivity of a query about a batch if the batch is known.
func (c Certificate) knownSensitivity() float64 {
	if e, ok := (Gaussian{Sigma: 1}).Event(c).(account.PoissonEvent); ok {
		return e.KnownSensitivity()
	}
	return c.Sensitivity()
}

// share is the expected fraction of the records that a batch contains.
func (c Certificate) share() float64 {
	b, _ := c.sampled()
	return b.rate + float64(b.size)/float64(b.records) // one of the two terms is 0
}

// UnsampledSigma returns the standard deviation of Gaussian noise with which the given number of queries
// meets the budget b even if the batches are known. It is sensitivity sqrt(releases)/GDPMu. For Poisson
// batches the sensitivity assumes that every batch contains all records of an owner. The queries meet b
// with this noise whether or not the batches are secret.
func UnsampledSigma(c Certificate, b Budget, releases int) float64 {
	return c.knownSensitivity() * math.Sqrt(float64(releases)) / account.GDPMu(b.Epsilon, b.Delta)
}

// BasicBatchSigma returns the standard deviation of Gaussian noise for which the steps of all releases
// together cost the budget b by basic composition. Let gamma = Batch/Records. A step that is (e, d)-DP on its
// batch is (ln(1 + gamma (exp(e)-1)), gamma d)-DP [Balle, Barthe and Gaboardi 2018, Theorem 9;
// docs/theory.md#calibration]. The result is +Inf if c has no batches drawn without replacement. The result
// serves only for comparison, because CalibrateGaussian composes privacy loss distributions instead.
func BasicBatchSigma(c Certificate, b Budget, releases int) float64 {
	size, records := c.Batch()
	if size == 0 || releases < 1 {
		return math.Inf(1)
	}
	gamma := float64(size) / float64(records)
	epsilon := math.Log1p(math.Expm1(b.Epsilon/float64(releases)) / gamma)
	delta := b.Delta / float64(releases) / gamma
	return c.Sensitivity() / account.GDPMu(epsilon, min(delta, 0.999))
}

// batchPrecision is the relative width of the interval of sigma at which calibrateBatch stops its search.
const batchPrecision = 2e-4

// calibrateBatch searches for the smallest noise with which the given number of queries on batches meets b.
// It starts with a bracket around the value that a central limit theorem suggests, and narrows the bracket by
// false position on log delta. It returns only noise for which account.Total computes a cost within the
// budget. So a flaw of the search, or of the accountant's monotonicity, cannot make the result unsound.
func calibrateBatch(c Certificate, b Budget, releases int) (Gaussian, error) {
	var failed error
	// over is log(delta/b.Delta) as a function of log sigma. The noise is sufficient if over is <= 0.
	over := func(logSigma float64) float64 {
		var a account.Total
		if err := a.Compose(account.Repeat(Gaussian{Sigma: math.Exp(logSigma)}.Event(c), releases)); err != nil {
			failed = err
			return 0
		}
		return math.Log(max(a.Delta(b.Epsilon), 1e-300)) - math.Log(b.Delta)
	}
	most := math.Log(UnsampledSigma(c, b, releases)) + 1e-9 // this noise is known to be sufficient
	hi := min(most, math.Log(1.2*c.knownSensitivity()*math.Sqrt(float64(releases))*c.share()/
		account.GDPMu(b.Epsilon, b.Delta)))
	overHi := over(hi)
	lo, overLo := hi, overHi
	for step := 0.1; overHi > 0 && hi < most; step *= 1.5 {
		lo, overLo = hi, overHi
		hi = min(hi+step, most)
		overHi = over(hi)
	}
	for step := 0.1; overLo <= 0 && failed == nil; step *= 1.5 {
		hi, overHi = lo, overLo
		lo -= step
		overLo = over(lo)
	}
	weightLo, weightHi := 1.0, 1.0 // the weight of an end that does not move is halved (Illinois method)
	for hi-lo > batchPrecision && failed == nil {
		x, y := weightLo*overLo, -weightHi*overHi
		mid := lo + (hi-lo)*x/(x+y)
		mid = min(max(mid+batchPrecision/4, lo+batchPrecision/2), hi-batchPrecision/2)
		if v := over(mid); v <= 0 {
			hi, overHi, weightHi, weightLo = mid, v, 1, weightLo/2
		} else {
			lo, overLo, weightLo, weightHi = mid, v, 1, weightHi/2
		}
	}
	if failed != nil {
		return Gaussian{}, fmt.Errorf("privacy: calibrating noise on batches: %w", failed)
	}
	sigma := math.Exp(hi)
	for step := 0x1p-40; step < 0x1p-6; step *= 2 {
		m := Gaussian{Sigma: sigma, Grid: GridFor(sigma)}
		if err := m.Validate(); err != nil {
			return Gaussian{}, fmt.Errorf("privacy: calibrating noise on batches for epsilon %v, delta %v: %w",
				b.Epsilon, b.Delta, err)
		}
		var a account.Total
		if err := a.Compose(account.Repeat(m.Event(c), releases)); err != nil {
			return Gaussian{}, err
		}
		if a.Epsilon(b.Delta) <= b.Epsilon {
			return m, nil
		}
		sigma *= 1 + step
	}
	return Gaussian{}, fmt.Errorf("privacy: calibrating noise on batches: the accountant is not precise enough for "+
		"epsilon %v with delta %v", b.Epsilon, b.Delta)
}

type batchQuestion struct {
	c        Certificate
	b        Budget
	releases int
}

// batchNoises caches results of calibrateBatch. A search, or a command that plans, trains and reports, asks
// the same question repeatedly.
var batchNoises memo.Answers[batchQuestion, Gaussian]
