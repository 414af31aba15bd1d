package account_test

import (
	"errors"
	"math"
)

// minDelta is the smallest delta, here and in the accountants.
const minDelta = 1e-300

// A DiscreteGaussian is the law on the integers with P(k) proportional to
// exp(-k^2/(2 Sigma^2)) [Canonne, Kamath and Steinke 2020, Definition 1]. The curve of
// mu-GDP does not hold for it (docs/theory.md#lattice).
type DiscreteGaussian struct {
	Sigma float64 // in (0, 1e6]
}

// Validate returns an error unless Sigma is in range.
func (g DiscreteGaussian) Validate() error {
	if !(g.Sigma > 0 && g.Sigma <= 1e6) {
		return errors.New("sigma of a discrete Gaussian must be in (0, 1e6]")
	}
	return nil
}

// weights returns exp(-k^2/(2 sigma^2)) for 0 <= k <= 39 sigma + 1, where it is
// below the smallest normal number, and the sum over all integers.
func (g DiscreteGaussian) weights() (w []float64, total float64) {
	w = make([]float64, int(39*g.Sigma)+2)
	for k := len(w) - 1; k >= 0; k-- {
		x := float64(k) / g.Sigma
		w[k] = math.Exp(-x * x / 2)
		total += w[k]
	}
	return w, 2*total - 1
}

// PMF is P(k), within 1e-13 relative while P(k) > 1e-300. Sigma must be valid.
func (g DiscreteGaussian) PMF(k int) float64 {
	_, total := g.weights()
	x := float64(k) / g.Sigma
	return math.Exp(-x*x/2) / total
}

// Variance is the variance, at most Sigma^2, within 1e-13 relative. Sigma must be
// valid.
func (g DiscreteGaussian) Variance() float64 {
	w, total := g.weights()
	sum := 0.0
	for k := len(w) - 1; k > 0; k-- {
		sum += float64(k) * float64(k) * w[k]
	}
	return 2 * sum / total
}

// Delta is the exact hockey-stick divergence of order exp(epsilon) between the law
// and itself shifted by an integer sensitivity >= 1 in one dimension, rounded up:
// the sum of max(0, P(k) - exp(epsilon) P(k + sensitivity)). More dimensions are
// not covered: the law is not isotropic.
// epsilon >= 0; arguments out of range give 1.
func (g DiscreteGaussian) Delta(epsilon float64, sensitivity int) float64 {
	if !(epsilon >= 0) || sensitivity < 1 || g.Validate() != nil {
		return 1
	}
	w, total := g.weights()
	// The loss at k is (sensitivity^2 + 2 k sensitivity)/(2 sigma^2): above
	// epsilon for k beyond epsilon sigma^2/sensitivity - sensitivity/2.
	s := float64(sensitivity)
	first := math.Floor(epsilon*g.Sigma*g.Sigma/s - s/2)
	if !(first < float64(len(w))) {
		return minDelta
	}
	first = max(first, -float64(len(w)-1))
	sum := 0.0
	for k := len(w) - 1; k >= int(first); k-- {
		loss := s * (s + 2*float64(k)) / (2 * g.Sigma * g.Sigma)
		if gap := epsilon - loss; gap < 0 {
			weight := w[max(k, -k)]
			sum += weight * -math.Expm1(gap) * (1 + 1e-15*(1+loss+epsilon)/min(1, -gap))
		}
	}
	return min(1, max(minDelta, sum/total*(1+1e-12)))
}

// DiscreteLaplaceDelta is the exact hockey-stick divergence of order exp(epsilon)
// between the law on the integers with P(k) proportional to exp(-a |k|) and itself
// shifted by an integer sensitivity >= 1, rounded up; a > 0, epsilon >= 0.
// Arguments out of range give 1. With s = sensitivity and the loss a (s - 2k) at
// 0 <= k <= s, which is a s for k <= 0, it is
//
//	P(k <= 0)(1 - exp(epsilon - a s)) + sum over 0 < k < (s - epsilon/a)/2 of P(k)(1 - exp(epsilon - a (s-2k)))
func DiscreteLaplaceDelta(epsilon, a float64, sensitivity int) float64 {
	if !(epsilon >= 0) || !(a > 0) || math.IsInf(a, 1) || sensitivity < 1 {
		return 1
	}
	s := float64(sensitivity)
	if epsilon >= a*s*(1+1e-15) {
		return 0
	}
	geometric := math.Exp(-a)
	zero := -math.Expm1(-a) / (1 + geometric) // P(0)
	sum := max(0, -math.Expm1(epsilon-a*s)) / (1 + geometric)
	for k := 1; 2*k < sensitivity; k++ {
		if gap := epsilon - a*(s-2*float64(k)); gap < 0 {
			sum += zero * math.Exp(-a*float64(k)) * -math.Expm1(gap)
		}
	}
	return min(1, sum*(1+1e-12)+1e-15)
}
