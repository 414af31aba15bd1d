package account

import (
	"math"

	"dyad/privacy/internal/round"
)

// minDelta is the smallest delta that the exact formula computes. Below minDelta float64 numbers approach
// underflow, and the closed forms of zCDP are used.
const minDelta = 1e-300

// gdpMargin is a bound on the relative error of hockeyStick. The error has the following parts. The
// difference of Mills ratios contributes 2^-43, from millsDrop. For mu >= 1/2, it contributes the errors of
// two ratios, which the subtraction amplifies 80 times for 1 <= p <= 37.6 and 5 times below. The factor
// exp(-p^2/2) contributes 2^-43, because p^2/2 <= 707 is rounded. A few roundings remain. The total is below
// 2^-41 = 4.6e-13. The largest error that TestHockeyStickAccuracy finds against 2400-bit arithmetic is 3e-15.
const gdpMargin = 1e-12

// hockeyStick is E[max(0, 1 - exp(-mu (Z - p)))] for a standard normal Z, mu > 0 and p + mu > 0, within
// gdpMargin relative. With p = epsilon/mu - mu/2 it is the delta(epsilon) of mu-GDP: phi(p) exp(0) integral
// over x > 0 of exp(-p x - x^2/2)(1 - exp(-mu x)) = phi(p) (J_0(p) - J_0(p+mu)) (see mills.go). This equals
// Phi(-p) - exp(epsilon) Phi(-p-mu). The result increases with mu and decreases with p.
func hockeyStick(p, mu float64) float64 {
	density := math.Exp(-p*p/2) / (2 * sqrtHalfPi) // phi(p)
	switch {
	case mu < 0.5:
		return density * millsDrop(max(0, p+mu/2), mu/2)
	case p >= 0:
		return density * (mills(p) - mills(p+mu))
	default: // Phi(-p) = 1 - phi(p) J_0(-p)
		return 1 - density*(mills(-p)+mills(p+mu))
	}
}

// GDPDelta returns the delta of a mu-GDP mechanism at epsilon >= 0, for mu >= 0:
//
//	Phi(-epsilon/mu + mu/2) - exp(epsilon) Phi(-epsilon/mu - mu/2)
//
// Sources are Balle and Wang 2018, Theorem 8; Dong, Roth and Su 2022, Corollary 2.13; and docs/theory.md#gdp.
// The result is rounded up, so it is never below the exact value. It exceeds the exact value by at most 2e-12
// relative, plus the change that a relative error of 1e-15 in mu causes. Values below 1e-300 are returned as
// 1e-300 (0 for mu = 0). Arguments out of range give 1, which promises nothing.
func GDPDelta(epsilon, mu float64) float64 {
	if !(epsilon >= 0) || !(mu >= 0) || math.IsInf(mu, 1) {
		return 1
	}
	if mu == 0 || math.IsInf(epsilon, 1) {
		return 0
	}
	c := epsilon / mu
	if math.IsInf(c, 1) { // p is at least 1e300
		return minDelta
	}
	// The computed c - mu/2 is off by at most 2^-53 (c + |p|) + 2^-1074; moving
	// p down by more than that can only raise delta.
	p := c - mu/2 - 0x1p-51*(c+mu/2)
	if p > 37.5 { // delta <= phi(p)/p < 1e-306
		return minDelta
	}
	return min(1, max(minDelta, hockeyStick(p, mu)*(1+gdpMargin)))
}

// GDPMu returns the largest mu for which mu-GDP implies (epsilon, delta)-DP, rounded down. In real arithmetic
// delta(epsilon; GDPMu(epsilon, delta)) <= delta. So noise of standard deviation sensitivity/GDPMu meets the
// budget (epsilon, delta). The argument epsilon must be finite and >= 0, and delta must be in (0, 1). For
// other arguments the result is 0, the mu of infinite noise.
func GDPMu(epsilon, delta float64) float64 {
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) || !(delta > 0 && delta < 1) {
		return 0
	}
	// Two proved lower bounds. The second: delta(epsilon) <= delta(0) =
	// 2 Phi(mu/2) - 1 <= mu/sqrt(2 pi) < mu/2.5.
	lo := max(gdpMuClosedForm(epsilon, delta), 2.5*delta)
	if delta < minDelta {
		return lo
	}
	return largest(lo, func(mu float64) bool { return GDPDelta(epsilon, mu) <= delta })
}

// gdpMuClosedForm returns epsilon / sqrt(2 (ln(1/delta) + epsilon)), rounded down. This mu meets (epsilon,
// delta) for every epsilon >= 0 and delta in (0, 1) (proof: docs/theory.md#gdp).
func gdpMuClosedForm(epsilon, delta float64) float64 {
	root := math.Sqrt(2 * (-math.Log(delta) + epsilon))
	if epsilon == 0 || math.IsInf(root, 1) {
		return 0
	}
	return epsilon / root * (1 - 0x1p-49)
}

// GDPEpsilon returns the smallest epsilon >= 0 for which mu-GDP implies (epsilon, delta)-DP, rounded up. In
// real arithmetic delta(GDPEpsilon(mu, delta); mu) <= delta. The result is +Inf for delta <= 0 (unless mu =
// 0), for mu = +Inf and for arguments out of range. It is 0 for delta >= 1.
func GDPEpsilon(mu, delta float64) float64 {
	switch {
	case !(mu >= 0) || math.IsNaN(delta):
		return math.Inf(1)
	case mu == 0 && delta >= 0 || delta >= 1:
		return 0
	case !(delta > 0) || math.IsInf(mu, 1):
		return math.Inf(1)
	}
	// zCDP with rho = mu^2/2: rho + 2 sqrt(rho ln(1/delta)) [Bun and Steinke 2016].
	hi := round.Up(mu*mu/2+mu*math.Sqrt(-2*math.Log(delta)), 16)
	if delta < minDelta || math.IsInf(hi, 1) {
		return hi
	}
	if GDPDelta(0, mu) <= delta {
		return 0
	}
	return smallest(0, hi, func(epsilon float64) bool { return GDPDelta(epsilon, mu) <= delta })
}
