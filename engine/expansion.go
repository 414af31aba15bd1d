package engine

import (
	"math"
	"slices"
)

// Expansion describes a Chebyshev interpolation of f: y -> phi'(u0 + HalfWidth y) on [-1,
// 1]. Its proved error bounds hold for every real u0 in a range of margins.
type Expansion struct {
	HalfWidth  float64 // half the length of the interval, in the argument of phi'
	Terms      int     // p: interpolation in the p zeros of T_p, degree p - 1
	Truncation float64 // sup |f - interpolant|
	Lebesgue   float64 // bounds the Lebesgue constant of the p nodes
	// CoefNorm bounds sum_a |c_a|, and CoefGrowth bounds sum_a |c_a| (a+1)(a+2)/2. The
	// c_a are the Chebyshev coefficients of the interpolant.
	CoefNorm, CoefGrowth float64
	// PowerNorm bounds sum_i |m_i| for the interpolant sum_i m_i y^i. PowerGrowth bounds
	// sum_a |c_a| |T_a(sqrt(-1))|, which is the sum of the absolute values of all terms
	// that are added to compute the m_i.
	PowerNorm, PowerGrowth float64
}

// Expand returns the shortest expansion for |u0| <= margin with Truncation <= tol. Its
// number of terms is 1 + step k for some k >= 1. If the expansion would need more terms
// than the limit `most`, Expand returns false.
//
// Proof. Let E_rho be the Bernstein ellipse with semi-axis sum rho > 1. Its points have
// |Re y| <= (rho + 1/rho)/2 and |Im y| <= (rho - 1/rho)/2, so |phi'| <= M there with M =
// StripBound(margin + HalfWidth (rho + 1/rho)/2, HalfWidth (rho - 1/rho)/2), for every
// u0. Then the Chebyshev coefficients satisfy |a_k| <= 2 M rho^-k, and the interpolant of
// degree p - 1 has an error of at most 4 M rho^(1-p) / (rho - 1). The Lebesgue constant
// is at most 1 + (2/pi) log p. (See Trefethen, Approximation Theory and Approximation
// Practice, Theorems 8.1, 8.2 and 15.2.) (Theorem 8.2 is stated for the extrema of T_p.
// The same aliasing argument holds for the zeros of T_p: T_k aliases to +-T_m or 0 with m
// < p, so the error is at most 2 sum_{k>=p} |a_k|.) The coefficient c_k of the
// interpolant is a_k plus, with signs, a_(2mp-k) + a_(2mp+k) for m >= 1. Since 2mp - k >=
// k + 2m, |c_k| <= 2 M kappa rho^-k with kappa = 1 + 2 rho^-2 / (1 - rho^-2). Also |c_0|
// <= Q and |c_k| <= 2 Q, where Q is M for rho = 1, because c_k is 2/p times (and c_0 is
// 1/p times) a sum of p values of at most Q. The powers in T_a alternate in sign, so the
// absolute values of their coefficients add up to |T_a(sqrt(-1))|.
//
// For PowerNorm let r >= 1 and sigma = r + sqrt(r^2 + 1) < rho. E_sigma contains the disc
// |y| <= r, and |T_k| <= sigma^k in it. There the interpolant differs from f by at most 2
// sum_(k>=p) |a_k| sigma^k <= 4 M (sigma/rho)^p / (1 - sigma/rho), as above. So the
// interpolant is bounded by the sum of this error and M_sigma, called B. By Parseval's
// identity on the circle sum |m_i|^2 r^(2i) <= B^2, hence sum |m_i| <= B sqrt(sum_(i<p)
// r^(-2i)). QED
//
// The searches try some values of rho and sigma. All values give valid bounds.
func Expand(loss AnalyticLoss, margin, halfWidth, tol float64, most, step int) (Expansion, bool) {
	e := Expansion{HalfWidth: halfWidth, Terms: most + 1}
	const up = 1 + 0x1p-30 // covers the rounding of all formulas here
	strip := func(rho float64) float64 {
		return loss.StripBound((margin+halfWidth*(rho+1/rho)/2)*up, halfWidth*(rho-1/rho)/2*up) * up
	}
	rhos, bounds := ellipses(loss, strip, tol, most)
	best := 0
	for i, rho := range rhos {
		p, shrink := 1+step, math.Pow(rho, float64(step))
		t := 4 * bounds[i] / (rho - 1) / shrink * up
		for ; t > tol && p <= most; p += step {
			t /= shrink
		}
		if t <= tol && (p < e.Terms || p == e.Terms && t < e.Truncation) {
			e.Terms, e.Truncation, best = p, t*up, i
		}
	}
	if e.Terms > most {
		return Expansion{}, false
	}
	e.Lebesgue = (1 + 2/math.Pi*math.Log(float64(e.Terms))) * up
	q := strip(1)
	e.CoefNorm, e.CoefGrowth, e.PowerGrowth = math.Inf(1), math.Inf(1), math.Inf(1)
	for i, rho := range rhos {
		kappa := 1 + 2/(rho*rho-1)
		norm, growth, powers := q, q, q
		decay := 2 * bounds[i] * kappa
		for k := 1; k < e.Terms; k++ {
			decay /= rho
			c := min(2*q, decay) * up
			norm += c
			growth += c * float64((k+1)*(k+2)) / 2
			powers += c * powersOf(k)
		}
		e.CoefNorm = min(e.CoefNorm, norm*up)
		e.CoefGrowth = min(e.CoefGrowth, growth*up)
		e.PowerGrowth = min(e.PowerGrowth, powers*up)
	}
	e.PowerNorm = e.PowerGrowth
	for i, sigma := range rhos[:best] {
		r, x := (sigma-1/sigma)/2, sigma/rhos[best]
		if r < 1 {
			continue
		}
		var squares float64
		for k := range e.Terms {
			squares += math.Pow(r, float64(-2*k))
		}
		b := bounds[i] + 4*bounds[best]*math.Pow(x, float64(e.Terms))/(1-x)
		e.PowerNorm = min(e.PowerNorm, b*math.Sqrt(squares)*up)
	}
	return e, true
}

// ellipses returns values of rho for Expand in increasing order, and finite bounds of
// |phi'| on the ellipses E_rho.
//
// The number of terms is minimised by golden-section search around the best point of a
// grid. For a ScalarLoss the grid is coarse, because computing a bound by interval
// arithmetic takes milliseconds.
func ellipses(loss AnalyticLoss, strip func(rho float64) float64, tol float64, most int) (rhos, bounds []float64) {
	spacing := 1.05
	if _, ok := loss.(ScalarLoss); ok {
		spacing = 1.5
	}
	// terms is the number of terms, as a real number, for which the error is tol.
	terms := func(i int) float64 {
		return 1 + math.Log(4*bounds[i]/(rhos[i]-1)/tol)/math.Log(rhos[i])
	}
	best, x := 0, 0.02
	for ; x < 9; x *= spacing {
		rho := math.Exp(x)
		m := strip(rho)
		if !(m < math.MaxFloat64) {
			break // larger ellipses are no better
		}
		if rhos, bounds = append(rhos, rho), append(bounds, m); terms(len(rhos)-1) < terms(best) {
			best = len(rhos) - 1
		}
	}
	if len(rhos) == 0 || terms(best) > 2*float64(most) {
		return rhos, bounds
	}
	// insert adds an ellipse and returns its number of terms.
	insert := func(x float64) float64 {
		rho := math.Exp(x)
		m := strip(rho)
		if !(m < math.MaxFloat64) {
			return math.Inf(1)
		}
		at, _ := slices.BinarySearch(rhos, rho)
		rhos, bounds = slices.Insert(rhos, at, rho), slices.Insert(bounds, at, m)
		return terms(at)
	}
	middle := math.Log(rhos[best])
	lo, hi := middle/spacing, middle*spacing
	const golden = 0.3819660112501051 // (3 - sqrt 5) / 2
	left, right := lo+golden*(hi-lo), hi-golden*(hi-lo)
	atLeft, atRight := insert(left), insert(right)
	for range 5 {
		if atLeft <= atRight {
			hi, right, atRight = right, left, atLeft
			left = lo + golden*(hi-lo)
			atLeft = insert(left)
		} else {
			lo, left, atLeft = left, right, atRight
			right = hi - golden*(hi-lo)
			atRight = insert(right)
		}
	}
	return rhos, bounds
}

// powersOf returns |T_a(sqrt(-1))|, rounded up.
func powersOf(a int) float64 {
	x := math.Pow(1+math.Sqrt2, float64(a))
	return (x + 1/x) / 2 * (1 + 0x1p-40)
}

// PowerNoise returns a bound of the sum of |T_a(sqrt(-1))| over all coefficients. Suppose
// that each Chebyshev coefficient has an error of at most 1. Then the polynomial's
// coefficients in powers have errors that add up to at most this sum.
func (e Expansion) PowerNoise() (sum float64) {
	for a := range e.Terms {
		sum += powersOf(a)
	}
	return sum
}
