package account

import "math"

// The functions of this file compute J_j(t) = integral over x > 0 of x^j/j! exp(-t x - x^2/2). J_0 = (1 -
// Phi(t))/phi(t) is the Mills ratio of the standard normal law. Integration by parts gives
//
//	J_1 + t J_0 = 1,    (j+1) J_{j+1} + t J_j = J_{j-1}    (j >= 1).
//
// Hence the ratios r_0 = J_0, r_j = J_j/J_{j-1} satisfy r_j = 1/(t + (j+1) r_{j+1}), the continued fraction
// of Laplace. For t >= 0 all its terms are positive, so rounding errors shrink during the backward recurrence
// instead of cancelling.

const sqrtHalfPi = 1.2533141373155002512078826424055

// tailTerms is the highest j of J_j that millsDrop needs.
const tailTerms = 17

// millsStart is the index at which the backward recurrence starts for t >= 1.
//
// Truncation: with theta_j = (j+1) r_{j+1} r_j = 1 - t r_j, a relative error of r_{j+1} becomes theta_j times
// as large in r_j. J is log-concave in j (x^j/j! against a log-concave function, Borell 1973), so r_{j+1} <=
// r_j and r_j >= 2/(t + sqrt(t^2+4(j+1))). The moments j! J_j are log-convex (Cauchy-Schwarz), so r_j <= 2/(t
// + sqrt(t^2+4j)). The start value lies between these bounds, within 2 % of the exact value. The product of
// the bounds on theta_j over j <= N is below 2^-52 for every t >= 1 (computed in TestMillsTruncation). So the
// truncation error of r_0 is below 2^-57 relative.
func millsStart(t float64) int { return 40 + int(500/(t*t)) }

// millsRatios sets r[j] to r_j for t >= 1.
func millsRatios(t float64, r *[tailTerms + 1]float64) {
	n := millsStart(t)
	v := 2 / (t + math.Sqrt(t*t+4*float64(n)+6))
	for j := n; j >= 0; j-- {
		v = 1 / (t + float64(j+1)*v)
		if j <= tailTerms {
			r[j] = v
		}
	}
}

// mills is the Mills ratio J_0(t), t >= 0, within 2^-47 relative, and within 2^-50 for t >= 1.
//
// For t >= 1 it is the continued fraction. A step adds at most 3 roundings and multiplies earlier errors by
// theta_j (0.35, 0.48, ... at t = 1, less for larger t). For t < 1 it is sqrt(pi/2) exp(t^2/2) - sum_i
// t^(2i+1)/(2i+1)!!, which is at least 0.31 times the first term. It assumes that math.Exp is within 2 units
// in the last place.
func mills(t float64) float64 {
	if t >= 1 {
		var r [tailTerms + 1]float64
		millsRatios(t, &r)
		return r[0]
	}
	sum, term := 0.0, t
	for i := 1; term > 1e-18; i++ {
		sum += term
		term *= t * t / float64(2*i+1)
	}
	return sqrtHalfPi*math.Exp(t*t/2) - sum
}

// millsDrop is J_0(t-h) - J_0(t+h), t >= 0, 0 < h <= 1/4, within 2^-43 relative.
//
// The derivative of order j of J_0 is (-1)^j j! J_j, so the difference is 2 sum over odd j of h^j J_j(t). The
// terms are positive, so there is no cancellation for any small h. J_{j+2} <= J_j/(j+2), so the terms after j
// = 17 are below 2^-60 of the first term. For t < 1 the forward recurrence is accurate for so few terms. Its
// absolute errors satisfy e_{j+1} <= (e_{j-1} + e_j)/(j+1) plus a rounding, so they stay below the errors of
// J_0 and J_1, while J_1 >= 0.34.
func millsDrop(t, h float64) float64 {
	var J [tailTerms + 1]float64
	if t >= 1 {
		millsRatios(t, &J)
		for j := 1; j <= tailTerms; j++ {
			J[j] *= J[j-1]
		}
	} else {
		J[0] = mills(t)
		J[1] = 1 - t*J[0]
		for j := 1; j < tailTerms; j++ {
			J[j+1] = (J[j-1] - t*J[j]) / float64(j+1)
		}
	}
	sum := 0.0
	for j := tailTerms; j >= 1; j -= 2 {
		sum = sum*h*h + J[j]
	}
	return 2 * h * sum
}
