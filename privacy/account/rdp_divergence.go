package account

import (
	"fmt"
	"math"

	"dyad/privacy/internal/round"
)

// divergence returns the Renyi divergence of all releases of the facts as a function of the order. The
// function rounds up.
func (f facts) divergence() (func(alpha float64) float64, error) {
	switch {
	case f.shape == nonPrivate:
		return func(float64) float64 { return math.Inf(1) }, nil
	case f.renyi == nil && f.noRenyi != "":
		return nil, fmt.Errorf("%w: %s", ErrUnsupported, f.noRenyi)
	case f.renyi == nil:
		return nil, f.unsupported()
	}
	return func(alpha float64) float64 {
		d := f.renyi(alpha)
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		return round.Up(float64(f.times())*d, 1)
	}, nil
}

// gaussianRenyi is alpha ratio^2/2 [Mironov 2017, Corollary 3].
func gaussianRenyi(alpha, ratio float64) float64 { return round.Up(alpha*ratio*ratio/2, 6) }

// laplaceRenyi is the divergence of Laplace laws of scale 1 that are shifted by loss [Mironov 2017,
// Proposition 6]:
//
//	log(alpha/(2 alpha-1) exp((alpha-1) loss) + (alpha-1)/(2 alpha-1) exp(-alpha loss))/(alpha-1)
//
// For small losses, the argument of the logarithm minus 1 is computed without cancellation. It is alpha
// (alpha-1)/(2 alpha-1) times the integral of exp((alpha-1) y) - exp(-alpha y) over 0..loss.
func laplaceRenyi(alpha, loss float64) float64 {
	t := alpha - 1
	if t*loss > 1 {
		inner := math.Log(alpha/(2*alpha-1)) + math.Log1p(t/alpha*math.Exp(-(2*alpha-1)*loss))
		return (loss + inner/t) * (1 + 1e-13)
	}
	excess := alpha / (2*alpha - 1) * (math.Expm1(t*loss) + t/alpha*math.Expm1(-alpha*loss))
	if alpha*loss < 1e-2 { // the two terms cancel: alpha t loss^2/2 (1 - loss/3 ...)
		// Series of the bracket: sum over k >= 2 of loss^k (t^k - t (-alpha)^(k-1))/k!.
		sum, term := 0.0, loss
		tk, ak := t, -alpha // t^(k-1), (-alpha)^(k-1)
		for k := 2; k < 12; k++ {
			term *= loss / float64(k)
			sum += term * (tk*t - t*ak)
			tk *= t
			ak *= -alpha
		}
		excess = alpha / (2*alpha - 1) * sum
	}
	return math.Log1p(excess) / t * (1 + 1e-12)
}

// pureRenyi is the largest divergence of an epsilon-DP mechanism, which randomised response attains [Kairouz,
// Oh and Viswanath 2015; Mironov 2017, Proposition 5]. With t = alpha-1 it is
//
//	log((exp(alpha epsilon) + exp(-t epsilon))/(1 + exp(epsilon)))/t
//
// This equals log(cosh((alpha-1/2) epsilon)/cosh(epsilon/2))/t. For orders near 1 the difference of the two
// logarithms cancels, so a bound of its roundings is added.
func pureRenyi(alpha, epsilon float64) float64 {
	t := alpha - 1
	a, b := (alpha-0.5)*epsilon, epsilon/2
	if a > 1 {
		d := a - b + math.Log1p(math.Exp(-2*a)) - math.Log1p(math.Exp(-2*b))
		return (d + 0x1p-51*(a+1)) / t * (1 + 1e-13)
	}
	// cosh a/cosh b - 1 = 2 sinh((a+b)/2) sinh((a-b)/2)/cosh b
	return math.Log1p(2*math.Sinh(alpha*epsilon/2)*math.Sinh(t*epsilon/2)/math.Cosh(b)) / t * (1 + 1e-13)
}

// finiteRenyi is the divergence of the law p from the law q on finitely many outcomes, log(sum of p_i^alpha
// q_i^(1-alpha))/(alpha-1). Outcomes of probability 0 under both laws do not count. The divergence is +Inf if
// an outcome has probability 0 under q but not under p.
func finiteRenyi(alpha float64, p, q []float64) float64 {
	largest := math.Inf(-1)
	logs := make([]float64, 0, len(p))
	for i := range p {
		if p[i] == 0 {
			continue
		}
		l := alpha*math.Log(p[i]) + (1-alpha)*math.Log(q[i])
		logs = append(logs, l)
		largest = max(largest, l)
	}
	if math.IsInf(largest, 1) {
		return largest
	}
	sum := 0.0
	for _, l := range logs {
		sum += math.Exp(l - largest)
	}
	return max(0, (largest+math.Log(sum))/(alpha-1)) + 1e-14*(1+math.Abs(largest))*alpha/(alpha-1)
}
