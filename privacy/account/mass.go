package account

import "math"

// massMargin is a bound on the relative errors of normalMass and laplaceMass for results above 1e-290.
// math.Erfc and math.Exp are within a few units in the last place. For |x| <= 37, exp(-x^2/2) loses x^2 2^-53
// < 2e-13 more, and a difference of tails is at least an eighth of their sum. TestMasses compares the results
// with 2400-bit arithmetic.
const massMargin = 2e-12

// gauss5 holds the nodes and weights of the 5-point Gauss-Legendre rule on [-1, 1] [Abramowitz and Stegun,
// 25.4.30].
var gauss5 = [5][2]float64{
	{0, 0.56888888888888888889},
	{-0.53846931010568309104, 0.47862867049936646804},
	{0.53846931010568309104, 0.47862867049936646804},
	{-0.90617984593866399280, 0.23692688505618908751},
	{0.90617984593866399280, 0.23692688505618908751},
}

// normalMass is Phi(b) - Phi(a), a <= b, within massMargin relative.
//
// A difference of tails loses digits if the interval is short against the decay of the density, b-a <
// 1/4/max(1, |x|). For such intervals the density is integrated. On an interval of length w the rule has a
// relative error of at most w^11 (5!)^4 / (11 (10!)^3) sup|f^(10)|/inf f, where |f^(10)| <= 10! e^(|x| r +
// r^2/2) r^-10 f for r > 0 (Cauchy). In total the error is below 1e-15.
func normalMass(a, b float64) float64 {
	if !(a < b) {
		return 0
	}
	if a < 0 && -a >= b {
		a, b = -b, -a
	}
	// |a| <= |b|
	if w := b - a; w*max(1, math.Abs(a), b) < 0.25 {
		sum := 0.0
		for _, n := range gauss5 {
			x := a + w*(1+n[0])/2
			sum += n[1] * math.Exp(-x*x/2)
		}
		return sum * w / 2 / (2 * sqrtHalfPi)
	}
	if a < 0 { // a and b are on both sides of 0, and b is farther from 0
		return 0.5 * (math.Erf(-a/math.Sqrt2) + math.Erf(b/math.Sqrt2))
	}
	return 0.5 * (math.Erfc(a/math.Sqrt2) - math.Erfc(b/math.Sqrt2))
}

// laplaceMass is the probability of (a, b], a <= b, under the density
// exp(-|x|)/2, within massMargin relative.
func laplaceMass(a, b float64) float64 {
	switch {
	case !(a < b):
		return 0
	case b <= 0:
		return laplaceMass(-b, -a)
	case a < 0:
		return -0.5 * (math.Expm1(a) + math.Expm1(-b))
	}
	return -0.5 * math.Exp(-a) * math.Expm1(a-b)
}
