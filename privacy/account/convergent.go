package account

import "math"

// ConvergentSensitivity returns the product mu sigma, rounded up. The last value of a secret state is mu-GDP, with this
// mu, after noisy contractive updates [Bok, Su and Altschuler 2024, Theorems 3.3 and 3.4;
// docs/theory.md#hidden-iterates]. The argument steps is the number of updates. The updates are u_t = F(u_{t-1}) + N(0,
// sigma^2 I) from a public start. The maps F and F' of two neighbouring data sets satisfy
//
//	||F(u) - F'(v)|| <= contraction min(||u - v||, diameter) + gap.
//
// With c = contraction, D = diameter, s = gap and T = steps, mu^2 is 1/sigma^2 times the smaller of
//
//	s^2 [(1-c^T)/(1-c)]^2 (1-c^2)/(1-c^2T)
//	min over 1 <= k <= T of (c^k D + s (1-c^k)/(1-c))^2 (1-c^2)/(1-c^2k)
//
// For c = 1 the two terms are T s^2 and the minimum over k of (D + k s)^2/k. The first term is exact for
// quadratic losses. The argument c is in [0, 1], and diameter > 0 may be +Inf. For other arguments
// the result is +Inf.
//
// See ConvergentEvent for states on a grid.
//
// The computed value is multiplied by 1 + 1e-12. The power c^k = exp(k log c) loses |k log c| <= 745
// roundings before it underflows. The roundings of 1-c and log c are negligible, and the other operations are
// a few roundings of nonnegative numbers. Every k gives a proved bound, so a search that missed the smallest
// bound would only make the result less tight.
func ConvergentSensitivity(gap, c, diameter float64, steps int) float64 {
	if !(gap > 0) || math.IsInf(gap, 1) || !(c >= 0 && c <= 1) || !(diameter > 0) || steps < 1 {
		return math.Inf(1)
	}
	logC := math.Log1p(-(1 - c))
	shift := func(start float64, k int) float64 {
		n := float64(k)
		if c == 1 {
			return (start + n*gap) / math.Sqrt(n)
		}
		sum := -math.Expm1(n*logC) / (1 - c)
		squares := -math.Expm1(2*n*logC) / ((1 - c) * (1 + c))
		if start > 0 {
			start *= math.Exp(n * logC)
		}
		return (start + sum*gap) / math.Sqrt(squares)
	}
	best := shift(0, steps)
	if !math.IsInf(diameter, 1) {
		lo, hi := 1, steps
		for hi-lo > 2 {
			a := lo + (hi-lo)/3
			b := hi - (hi-lo)/3
			if shift(diameter, a) <= shift(diameter, b) {
				hi = b
			} else {
				lo = a
			}
		}
		for k := lo; k <= hi; k++ {
			best = min(best, shift(diameter, k))
		}
	}
	return best * (1 + 1e-12)
}
