package audit

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"dyad/privacy"
)

// gammaParts returns the distance of two exact vectors and the size of the noise, if the noise is for pure
// epsilon. Both results are in the norm of the mechanism, divided by its claimed scale. For other noise
// gammaParts returns 0. The size of d coordinates of K-norm noise in the L2 norm, or of Laplace noise in the
// L1 norm, has the law Gamma(d, 1) times the true scale over the claimed scale.
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

// scaleModel estimates epsilon from white-box runs with noise of pure epsilon. It assumes that the law of the
// noise is the claimed law except for a common factor theta of the scales, and that the distances between exact
// vectors are fixed. Then epsilon is the sum of gap/scale over the releases. The log-likelihood ratio comes
// near this sum on rays and corners of positive probability. lower holds with probability 1 - alpha.
// standardError is the standard error of epsilon.
//
// Proof (docs/theory.md#audit-bounds). The sizes of n noise coordinates add up to S with S/theta ~ Gamma(n, 1). So 2
// S/theta is chi-square with 2n degrees of freedom, and theta <= 2 S/q with q its alpha-quantile. QED
//
// The proof assumes that gaps do not depend on releases. The smallest gap is used for all runs.
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
	return min(unlimited, epsilon), epsilon / math.Sqrt(n),
		min(unlimited, gap*distuv.ChiSquared{K: 2 * n}.Quantile(alpha)/(2*sum))
}
