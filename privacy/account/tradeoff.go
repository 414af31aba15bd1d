package account

import "math"

// GDPTradeoff returns the largest power of a test of level alpha between two neighbouring data sets of a
// mu-GDP mechanism: Phi(Phi^-1(alpha) + mu) [Dong, Roth and Su 2022, Definition 2.6]. The relative error of
// the result is at most 1e-9 if the result is below 1/2. The result is the largest power that an audit can
// observe. The argument mu must be >= 0, and alpha must be in [0, 1]. For other values the result is NaN.
func GDPTradeoff(mu, alpha float64) float64 {
	if !(mu >= 0) || !(alpha >= 0 && alpha <= 1) {
		return math.NaN()
	}
	z := -math.Sqrt2 * math.Erfinv(1-2*alpha)
	if alpha < 0.1 { // 1 - 2 alpha loses digits here, so Newton steps on log Phi refine z
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
