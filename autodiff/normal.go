package autodiff

import "math"

// This file has the distribution function of the standard normal law, its logarithm, and the slope
// of the logarithm, with bounds of their errors in float64.

// The logarithm and the hazard use the continued fraction of the tail below -tailStart, cut off
// after tailTerms terms.
const (
	tailStart = 3
	tailTerms = 72
)

// normCDF returns erfc(-x/sqrt(2))/2.
func normCDF(x float64) float64 { return 0.5 * math.Erfc(-x*(math.Sqrt2/2)) }

// ownNormCDF returns the error of normCDF. Its argument t = x/sqrt(2) has a relative error of at
// most 2.1 u (the constant and a product). erfc multiplies this error by |t erfc'(t)/erfc(t)| <= 2
// t^2 + 1 = x^2 + 1. Proof for t > 0: erfc(t) >= 2/sqrt(pi) e^(-t^2)/(t + sqrt(t^2 + 2))
// (Abramowitz and Stegun 7.1.13) and t (t + sqrt(t^2 + 2)) <= 2 t^2 + 1. For t < 0, erfc is at
// least 1 and |t erfc'(t)| < 0.49. Below -39 the exact and the computed value are under
// libraryTiny.
func ownNormCDF(x Interval) (relative, absolute float64) {
	if x.undefined() {
		return 0, inf
	}
	t := math.Min(math.Max(0, -x.Lo), 40)
	return (libraryError + 2.2*unitRoundoff*(t*t+1)) * (1 + 0x1p-20), 2 * libraryTiny
}

// normCDF returns the range of erfc(-a/sqrt(2))/2, where erfc decreases with its argument. Halving
// is exact, or within libraryTiny.
func (a Interval) normCDF() Interval {
	if a.undefined() {
		return undef
	}
	t := a.mul(halfSqrt2)
	half := func(x float64) float64 { return 0.5 * math.Erfc(-x) }
	return t.increasing(half, 0, 1)
}

// hazard returns phi(x)/Phi(x) with the standard normal density phi and distribution function Phi.
//
// For x <= -3 it is t + 1/(t + 2/(t + 3/(t + ...))), t = -x (Laplace; Abramowitz and Stegun
// 26.2.14). Every term is positive, and every division damps the error of the terms after it. So
// two roundings for each term add up to less than 8 u. The value lies between the values of two
// consecutive lengths. TestNormalTail shows that these agree within u at t = 3, and they agree
// better for larger t. Otherwise hazard is a quotient with three errors. The first is the error of
// e^(-x^2/2). It consists of the error of the exponential function and of x^2 u from the argument,
// where x^2 <= 9 if x < 0, and x^2 phi(x) < 0.3 otherwise. The second is the error of a constant.
// The third is the error of normCDF that ownNormCDF states: (x^2 + 1) 2.2 u <= 22 u if x < 0, and
// 2.2 u x^2 times a value below 0.8 phi(x) otherwise.
func hazard(x float64) float64 {
	if x > -tailStart {
		return math.Exp(-0.5*x*x) * (1 / (math.Sqrt2 * sqrtPi)) / normCDF(x)
	}
	v := 0.0
	for k := tailTerms; k >= 1; k-- {
		v = float64(k) / (v - x)
	}
	return v - x
}

// The errors of hazard and logNormCDF, relative and absolute.
const (
	hazardError     = 64 * unitRoundoff
	hazardTiny      = 2 * unitRoundoff
	logNormCDFError = 24 * unitRoundoff
	logNormCDFTiny  = 64 * unitRoundoff
)

// logNormCDF returns log Phi(x). For x > 0 it uses the complement 1 - Phi(x). The relative error
// (x^2 + 1) 2.2 u of the complement, times the complement, is below 2 u. For x <= -3 it uses Phi
// = phi/hazard, which gives three terms of one sign.
func logNormCDF(x float64) float64 {
	switch {
	case x > 0:
		return math.Log1p(-normCDF(-x))
	case x > -tailStart:
		return math.Log(normCDF(x))
	}
	return -(0.5*x*x + 0.5*math.Log(2*math.Pi) + math.Log(hazard(x)))
}

// logNormCDF returns the range of log Phi, which increases.
func (a Interval) logNormCDF() Interval {
	if a.undefined() {
		return undef
	}
	lo, hi := logNormCDF(a.Lo), logNormCDF(a.Hi)
	lo = addDown(lo, -(mulUp(logNormCDFError, math.Abs(lo)) + 2*logNormCDFTiny))
	return Interval{lo, math.Min(0, addUp(hi, mulUp(logNormCDFError, math.Abs(hi))+2*logNormCDFTiny))}
}

// hazard returns the range of the hazard, which decreases from Inf to 0.
func (a Interval) hazard() Interval {
	if a.undefined() {
		return undef
	}
	lo, hi := hazard(a.Hi), hazard(a.Lo)
	return Interval{
		math.Max(0, addDown(lo, -(mulUp(hazardError, lo)+2*hazardTiny))),
		addUp(hi, mulUp(hazardError, hi)+2*hazardTiny),
	}
}

// hazardSlope returns the range of the derivative -h (x + h) of the hazard h. The derivative
// increases from -1 to 0: the hazard of the upper tail is convex with slopes between 0 and 1
// (Sampford 1953, Some inequalities on Mill's ratio, (3)), and h(x) is the hazard of the upper tail
// at -x.
func (a Interval) hazardSlope() Interval {
	if a.undefined() {
		return undef
	}
	at := func(x float64) Interval {
		if math.IsInf(x, 0) {
			return Interval{-1, 0}
		}
		h := Point(x).hazard()
		return h.mul(Point(x).add(h)).neg()
	}
	return Interval{math.Max(-1, at(a.Lo).Lo), math.Min(0, at(a.Hi).Hi)}
}

func sigmoid(a float64) float64 {
	if a >= 0 {
		return 1 / (1 + math.Exp(-a))
	}
	e := math.Exp(a)
	return e / (1 + e)
}

func softplus(a float64) float64 { return math.Max(a, 0) + math.Log1p(math.Exp(-math.Abs(a))) }
