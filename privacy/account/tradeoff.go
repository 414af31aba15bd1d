package account

import "math"

// GDPTradeoff is the largest power that a test of level alpha can have against two
// neighbours of a mu-GDP mechanism: Phi(Phi^-1(alpha) + mu) [Dong, Roth and Su
// 2022, Definition 2.6], within 1e-9 relative where it is below 1/2. It is what an
// audit may see at most. mu >= 0; alpha in [0, 1], else NaN.
func GDPTradeoff(mu, alpha float64) float64 {
	if !(mu >= 0) || !(alpha >= 0 && alpha <= 1) {
		return math.NaN()
	}
	z := -math.Sqrt2 * math.Erfinv(1-2*alpha)
	if alpha < 0.1 { // digits of 1 - 2 alpha are lost: Newton steps on log Phi
		if alpha == 0 {
			return 0
		}
		z = max(z, -38)
		for range 8 {
			tail := 0.5 * math.Erfc(-z/math.Sqrt2)
			density := math.Exp(-z*z/2) / (2 * sqrtHalfPi)
			z -= (math.Log(tail) - math.Log(alpha)) * tail / density
		}
	}
	return 0.5 * math.Erfc(-(z+mu)/math.Sqrt2)
}
