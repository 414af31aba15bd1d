package account

import (
	"math"

	"dyad/privacy/internal/round"
)

// ZCDP is an accountant for zero-concentrated differential privacy. A release is rho-zCDP if its Renyi
// divergence of every order alpha > 1 is at most alpha rho, and rho adds up under adaptive composition [Bun
// and Steinke 2016, Lemma 2.3; docs/theory.md#zcdp]. The zero value is an empty composition.
//
// ZCDP supports GaussianEvent (rho = Sensitivity^2/(2 Sigma^2): Bun and Steinke 2016, Proposition 1.6), and
// LaplaceEvent, PureEvent and RandomizedResponseEvent (epsilon of pure DP gives rho = epsilon^2/2: Bun and
// Steinke 2016, Proposition 1.4). It also supports BoundedRangeEvent and RandomStoppingEvent (mu-GDP gives
// rho = mu^2/2), NonPrivateEvent, PublicEvent and ComposedEvent. No answer is above the sum of pure epsilons.
type ZCDP struct {
	rho  float64 // rounded up; +Inf: no guarantee
	pure float64 // sum of pure epsilons, +Inf if there is none
}

var _ Accountant = (*ZCDP)(nil)

// Compose implements Accountant.
func (a *ZCDP) Compose(e Event) error {
	next := *a
	err := leaves(e, func(f facts) error {
		rho, err := f.rho()
		next.rho = addUp(next.rho, rho)
		next.pure = addUp(next.pure, f.pure.times(f.times()))
		return err
	})
	if err == nil {
		*a = next
	}
	return err
}

// rho returns the rho of all releases of the facts, rounded up. A release of pure epsilon counts as a
// Gaussian release of mu = epsilon.
func (f facts) rho() (float64, error) {
	ratio := f.mu
	switch {
	case f.shape == nonPrivate:
		return math.Inf(1), nil
	case f.joint || f.known != nil || f.mu == 0 && f.pure == nil:
		return 0, f.unsupported()
	case f.mu == 0:
		ratio = f.pure.one()
	}
	return round.Up(float64(f.times())*ratio*ratio/2, 6), nil
}

// Rho returns the rho of the whole composition, rounded up. It is +Inf after a non-private release.
func (a *ZCDP) Rho() float64 { return a.rho }

// Epsilon returns min(ZCDPEpsilon(Rho, delta), sum of pure epsilons).
func (a *ZCDP) Epsilon(delta float64) float64 { return min(ZCDPEpsilon(a.rho, delta), a.pure) }

// Delta returns ZCDPDelta(epsilon, Rho), or 0 if epsilon is at least the sum of pure epsilons.
func (a *ZCDP) Delta(epsilon float64) float64 {
	if epsilon >= a.pure {
		return 0
	}
	return ZCDPDelta(epsilon, a.rho)
}

// zcdpMargin covers the roundings of zcdpLogDelta, whose terms may be much larger than their sum.
const zcdpMargin = 1e-14

// ZCDPDelta returns the smallest delta for which every rho-zCDP mechanism is known to be (epsilon, delta)-DP:
//
//	min over alpha > 1 of exp((alpha-1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha / (alpha-1)
//
// The source is Canonne, Kamath and Steinke 2020, Proposition 12, with the Renyi divergence of order alpha at
// most alpha rho. The result is rounded up. Every alpha gives a proved bound, so an inexact minimum only
// makes the result less tight. The result is 1 for arguments out of range and for rho = +Inf, 0 for rho = 0,
// and at least 1e-300 otherwise.
func ZCDPDelta(epsilon, rho float64) float64 {
	if !(epsilon >= 0) || !(rho >= 0) || math.IsInf(rho, 1) {
		return 1
	}
	if rho == 0 {
		return 0
	}
	if math.IsInf(epsilon, 1) {
		return minDelta
	}
	// The exponent is convex in alpha with derivative (2 alpha - 1) rho - epsilon
	// + log(1 - 1/alpha). At alpha = (epsilon+rho)/(2 rho) + 1 and beyond
	// 1 + 1/rho it is positive.
	lo, hi := 0.0, (epsilon+rho)/rho+2/math.Sqrt(rho)+2
	for range 200 {
		mid := lo + (hi-lo)/2 // alpha - 1
		if mid <= lo || mid >= hi {
			break
		}
		if (2*mid+1)*rho-epsilon-math.Log1p(1/mid) < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	if math.IsInf(hi, 1) {
		return 1
	}
	t := lo + (hi-lo)/2
	exponent := t*((1+t)*rho-epsilon) - (1+t)*math.Log1p(1/t) - math.Log(t)
	slack := zcdpMargin * (1 + t*((1+t)*rho+epsilon))
	d := math.Exp(exponent + slack)
	if !(d < 1) {
		return 1
	}
	return max(d, minDelta)
}

// ZCDPEpsilon returns the smallest epsilon >= 0 with ZCDPDelta(epsilon, rho) <= delta, rounded up. The result
// is +Inf for delta <= 0 (unless rho = 0), for rho = +Inf and for arguments out of range. It is 0 for delta
// >= 1.
func ZCDPEpsilon(rho, delta float64) float64 {
	switch {
	case !(rho >= 0) || math.IsNaN(delta) || delta < 0:
		return math.Inf(1)
	case rho == 0 || delta >= 1:
		return 0
	case delta == 0 || math.IsInf(rho, 1):
		return math.Inf(1)
	}
	// rho + 2 sqrt(rho ln(1/delta)) [Bun and Steinke 2016, Proposition 1.3].
	classic := round.Up(rho+2*math.Sqrt(-rho*math.Log(delta)), 16)
	if delta < minDelta {
		return classic
	}
	if ZCDPDelta(0, rho) <= delta {
		return 0
	}
	// The classic bound is a theorem that does not depend on ZCDPDelta.
	return smallest(0, classic, func(epsilon float64) bool { return ZCDPDelta(epsilon, rho) <= delta })
}
