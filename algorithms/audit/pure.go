package audit

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"dyad/privacy"
)

// gammaParts are, for noise of pure epsilon, the distance of two exact vectors and the
// size of the noise in the mechanism's norm over its claimed scale; 0 for other noise. The
// size of d coordinates of K-norm noise in the L2 norm, and of Laplace noise in the L1
// norm, has the law Gamma(d, 1) times the true scale over the claimed one.
func gammaParts(m privacy.Mechanism, value, exact, other []float64) (gap, noise float64) {
	switch m := m.(type) {
	case privacy.KNorm:
		return math.Sqrt(distance2(exact, other)) / m.Scale, math.Sqrt(distance2(value, exact)) / m.Scale
	case privacy.Laplace:
		for k, v := range value {
			gap += math.Abs(exact[k] - other[k])
			noise += math.Abs(v - exact[k])
		}
		return gap / m.Scale, noise / m.Scale
	}
	return 0, 0
}

// scaleModel estimates the epsilon of white-box runs with noise of pure epsilon whose law
// is the claimed one but for a common factor theta of the scales, and whose exact vectors
// are a fixed distance apart: the sum of gap/scale over the releases, which the
// log-likelihood ratio comes near on rays and corners of positive probability. lower holds
// with probability 1 - alpha, standardError is the standard error of epsilon.
//
// Proof (docs/theory.md#audit-bounds). The sizes of n noise coordinates add up to S with S/theta ~ Gamma(n, 1), so 2
// S/theta ~ chi-square of 2n and theta <= 2 S/q with q its alpha-quantile. QED
//
// Gaps that depend on what was released would need another argument; the smallest one
// stands for all.
func scaleModel(trials [2][]keptTrial, alpha float64) (epsilon, standardError, lower float64) {
	gap, sum, n := math.Inf(1), 0.0, 0.0
	for _, side := range trials {
		for _, t := range side {
			gap = min(gap, t.Gap)
			sum += t.Noise
			n += float64(t.Coordinates)
		}
	}
	if !(sum > 0) {
		if gap == 0 {
			return 0, 0, 0
		}
		return unlimited, 0, unlimited
	}
	epsilon = gap * n / sum
	return min(unlimited, epsilon), epsilon / math.Sqrt(n), min(unlimited, gap*distuv.ChiSquared{K: 2 * n}.Quantile(alpha)/(2*sum))
}
