package account

import (
	"math"

	"dyad/privacy/internal/round"
)

// quadratureMargin is a relative bound on the errors of the two integrals of this file: method, truncation
// and roundoff. TestPoissonRenyi and TestSubsetRenyi compare them with exact values.
const quadratureMargin = 1e-11

// poissonRenyi is the Renyi divergence, of order alpha > 1, of Gaussian noise with sensitivity/sigma = m on
// Poisson batches of rate q. The larger one of the two directions is the divergence of (1-q) N(0,1) + q
// N(m,1) from N(0,1) [Mironov, Talwar and Zhang 2019, Theorem 5]. With u = q (exp(m x - m^2/2) - 1) it is
//
//	log(1 + integral of phi(x) g(u(x)))/(alpha-1),  g(u) = (1+u)^alpha - 1 - alpha u >= 0
//
// for every real order, because u has mean 0. There is no cancellation.
//
// The integral is computed as a trapezoidal sum. The sum converges exponentially for a function that is
// analytic and integrable in the strip |Im x| < b. Its error is at most 2 M/(exp(2 pi b/step) - 1), where M
// bounds the integral over any line of the strip [Trefethen and Weideman 2014, Theorem 5.1]. For b =
// min(pi/(2m), 6), the real part of 1 + t u is at least 1-q on the strip, and |1 + t u| is at most its value
// on the real line plus 2q. So M exceeds the integral by a factor exp(b^2/2) (1 + 1/m^2)/(1-q)^2 up to a
// constant. With this factor, the choice of step makes the bound exp(-45) of the integral.
//
// Beyond 13 standard deviations outside [0, max(alpha, 2) m], the integrand decreases faster than a Gaussian
// density. Where u is small, g is near alpha (alpha-1) u^2/2, and its product with phi has its peak at 2 m.
func poissonRenyi(alpha, m, q float64) float64 {
	t := alpha - 1
	if q == 1 {
		return round.Up(alpha*m*m/2, 6)
	}
	const reach = 13
	b := min(math.Pi/(2*m), 6)
	step := 2 * math.Pi * b / (45 + b*b/2 + math.Log1p(1/(m*m)) - 2*math.Log1p(-q))
	points := int((2*reach+max(alpha, 2)*m)/step) + 1
	if points > 1<<24 { // m alpha is huge: the divergence without subsampling
		return round.Up(alpha*m*m/2, 6)
	}
	// The largest logarithm of an integrand is near the right end if it is large.
	largest := 0.0
	for i := 0; i <= points; i += 8 {
		x := -reach + float64(i)*step
		largest = max(largest, alpha*logMix(m*x-m*m/2, q)-x*x/2)
	}
	if largest < 500 {
		sum := 0.0
		for i := range points + 1 {
			x := -reach + float64(i)*step
			l := m*x - m*m/2
			// the omitted terms would lower the sum, by a few percent for orders near 1
			if power := alpha * logMix(l, q); power > 300 {
				sum += math.Exp(power - x*x/2)
			} else {
				sum += math.Exp(-x*x/2) * bernoulliExcess(alpha, q*math.Expm1(l))
			}
		}
		// Where u is near 0.1/alpha, the difference in g amplifies relative errors by up to 20/(alpha-1).
		margin := quadratureMargin + 1e-13/t
		return math.Log1p(sum*step/(2*sqrtHalfPi)*(1+margin)) / t * (1 + 1e-15)
	}
	sum := 0.0
	for i := range points + 1 {
		x := -reach + float64(i)*step
		sum += math.Exp(alpha*logMix(m*x-m*m/2, q) - x*x/2 - largest)
	}
	return (largest + math.Log(sum*step/(2*sqrtHalfPi))) / t * (1 + quadratureMargin)
}

// logMix is log(1 - q + q exp(l)).
func logMix(l, q float64) float64 {
	if l > 600 {
		return l + math.Log(q)
	}
	return math.Log1p(q * math.Expm1(l))
}

// bernoulliExcess is (1+u)^alpha - 1 - alpha u for u > -1, alpha > 1. Near 0, where the difference would
// cancel, it is the binomial series from the square on.
func bernoulliExcess(alpha, u float64) float64 {
	if math.Abs(u) > 0.1/alpha {
		return math.Expm1(alpha*math.Log1p(u)) - alpha*u
	}
	// The ratio of terms is below 1/20 + 1/10.
	sum, term := 0.0, alpha*u
	for k := 2; k < 20; k++ {
		term *= u * (alpha - float64(k-1)) / float64(k)
		sum += term
	}
	return sum
}

// subsetRenyi is the Renyi divergence, of order alpha > 1, of a dominating pair of kind subset with Gaussian
// noise and sensitivity/sigma = m. The batches are drawn without replacement and contain a fraction q of the
// records (see dominatingPair). Losses l > 0 of mix to f, r = exp(l) = 1 - q + q exp(m x - m^2/2) for x >
// m/2, have Q probability f. Their mirror images -l have Q probability mix = r f. So the moment is
//
//	1 + integral over x > m/2 of phi(x) [(r^alpha - 1) + r (r^-alpha - 1)]
//
// where the bracket is (r^(alpha-1) - 1)(r - r^(1-alpha)) >= 0. There is no cancellation.
//
// The integral is a sum of 10-point Gauss-Legendre rules on panels of length w = 1/(2 + m). The integrand is
// analytic well beyond each panel, because the nearest zero of r is at distance pi/m of the real line. The
// panels end as in poissonRenyi.
func subsetRenyi(alpha, m, q float64) float64 {
	const reach = 13
	t := alpha - 1
	w := 1 / (2 + m)
	panels := int((reach+max(alpha, 2)*m)/w) + 1
	if q == 1 || panels > 1<<22 {
		return round.Up(alpha*m*m/2, 6)
	}
	top := m/2 + float64(panels)*w
	largest := 0.0
	for x := m / 2; x < top; x += w {
		largest = max(largest, alpha*logMix(m*x-m*m/2, q)-x*x/2)
	}
	large := largest >= 500
	sum := 0.0
	for i := range panels {
		for _, n := range gauss10 {
			x := m/2 + w*(float64(i)+(1+n[0])/2)
			switch l := logMix(m*x-m*m/2, q); {
			case large:
				sum += n[1] * math.Exp(alpha*l-x*x/2-largest)
			case t*l > 300: // the margin covers the rest of the bracket
				sum += n[1] * math.Exp(alpha*l-x*x/2)
			default:
				sum += n[1] * math.Exp(l-x*x/2) * math.Expm1(t*l) * -math.Expm1(-alpha*l)
			}
		}
	}
	sum *= w / 2 / (2 * sqrtHalfPi)
	if large { // the bracket is at most r^alpha, and the margin covers the term 1
		return (largest + math.Log(sum)) / t * (1 + quadratureMargin)
	}
	return math.Log1p(sum*(1+quadratureMargin)) / t * (1 + 1e-15)
}

// gauss10 holds the nodes and weights of the 10-point Gauss-Legendre rule on [-1, 1] [Abramowitz and Stegun,
// 25.4.30].
var gauss10 = [10][2]float64{
	{-0.14887433898163121088, 0.29552422471475287017},
	{0.14887433898163121088, 0.29552422471475287017},
	{-0.43339539412924719080, 0.26926671930999635509},
	{0.43339539412924719080, 0.26926671930999635509},
	{-0.67940956829902440623, 0.21908636251598204400},
	{0.67940956829902440623, 0.21908636251598204400},
	{-0.86506336668898451073, 0.14945134915058059315},
	{0.86506336668898451073, 0.14945134915058059315},
	{-0.97390652851717172008, 0.06667134430868813759},
	{0.97390652851717172008, 0.06667134430868813759},
}
