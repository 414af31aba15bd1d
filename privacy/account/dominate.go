package account

import (
	"math"

	"dyad/privacy/internal/round"
)

// A dominatingPair is a pair (P, Q) of laws on the line that dominates a mechanism. Its hockey-stick
// divergence H(a) = sup over sets S of P(S) - a Q(S) is, for every a > 0, at least the divergence of the
// mechanism on any two neighbouring data sets. Dominating pairs of releases compose adaptively [Zhu, Dong and
// Wang 2022, Theorem 10], so an accountant needs no other property of a release.
//
// Let f be the noise density of its law at scale 1, and m the sensitivity divided by the scale. Let q be the
// probability that the record in question is in the batch (1 without subsampling), and mix the law (1-q) f(x)
// + q f(x-m).
//
// Kind removed is (mix, f): a record is in the first data set only. The reversed pair covers an added record.
// Kind replaced, on Poisson batches, is (mix(x), mix(-x)). Proof: docs/theory.md#poisson.
//
// Kind subset, on batches without replacement, has the divergence H of (mix, f) for a >= 1 and of (f, mix)
// for a < 1. No smaller pair dominates. Proof: docs/theory.md#without-replacement.
//
// Kind subset also covers Poisson batches in which a replaced record moves a query by r times the scale, m <=
// r <= 2m. Let other be the law (1-q) f(x) + q f(x-m+r). Then H equals the divergence of (mix, other) for a
// >= 1 and of (other, mix) for a < 1. The case r = m is the case of batches without replacement, and r = 2m
// is replaced. Proof: docs/theory.md#poisson-replaced. Losses above 0 begin at c = m - r/2, and are the
// losses of mix with their probabilities. Losses below 0 mirror the losses above 0, with the probabilities of
// other. The remaining probability (1-q)(F(c) - F(-c)) is an atom at loss 0.
type dominatingPair struct {
	law  NoiseLaw
	kind pairKind
	m, q float64 // m > 0, q in (0, 1]
	r    float64 // for subset with Gaussian noise, in [m, 2m]; 0 means m
	// weights are the B(0), B(1), ... of PoissonEvent for removed and replaced with Gaussian noise, and
	// logWeights are their logarithms. Both are nil for one record, where B(0) = 1-q and B(1) = q.
	weights, logWeights []float64
}

type pairKind int

const (
	removed  pairKind = iota // (mix, f), or (f(x-m), f) for q = 1
	replaced                 // (mix(x), mix(-x))
	subset                   // see dominatingPair
)

// beyond is r - m: how far the centre of other is from 0, in the direction opposite to the centre of mix.
func (d dominatingPair) beyond() float64 { return max(0, d.r-d.m) }

// even is the point at which the loss of a subset is 0.
func (d dominatingPair) even() float64 { return (d.m - d.beyond()) / 2 }

// symmetric reports whether the reversed pair has the same losses.
func (d dominatingPair) symmetric() bool { return d.kind != removed || d.q == 1 }

// farthest is a centre of mix. The parts of mix beyond it have a total probability below smallestParts.
func (d dominatingPair) farthest() float64 {
	if d.weights == nil {
		return d.m
	}
	j, beyond := len(d.weights)-1, 0.0
	for ; j > 1 && beyond+d.weights[j] < smallestParts; j-- {
		beyond += d.weights[j]
	}
	return d.m * float64(j)
}

// smallestParts bounds the probability that a loss distribution may put at infinity for parts of a mixture.
// It is as much as for the tails beyond gaussianReach.
const smallestParts = 1e-31

// lossBound is the largest loss under Laplace noise, rounded up, and +Inf for Gaussian noise. The loss of the
// reversed pair is not larger.
func (d dominatingPair) lossBound() float64 {
	if d.law != LaplaceLaw {
		return math.Inf(1)
	}
	top := d.m
	if d.q < 1 {
		top = math.Log1p(d.q * math.Expm1(d.m))
	}
	if d.kind == replaced {
		top -= math.Log1p(d.q * math.Expm1(-d.m))
	}
	return round.Up(top, 8)
}

// loss is log of dP/dQ at x. For a subset it is the loss of (mix, other). It is nondecreasing.
func (d dominatingPair) loss(x float64) float64 {
	l := d.mixLoss(x)
	switch beyond := d.beyond(); {
	case d.kind == replaced:
		l -= d.mixLoss(-x)
	case beyond > 0:
		d.m = beyond
		l -= d.mixLoss(-x)
	}
	return l
}

// mixLoss is log of mix(x)/f(x).
func (d dominatingPair) mixLoss(x float64) float64 {
	if d.weights != nil {
		l, _ := d.groupMixLoss(x)
		return l
	}
	base := d.m * (x - d.m/2) // log of f(x-m)/f(x)
	if d.law == LaplaceLaw {
		base = min(d.m, max(-d.m, 2*x-d.m))
	}
	switch {
	case d.q == 1:
		return base
	case base > 700:
		return base + math.Log(d.q)
	}
	return math.Log1p(d.q * math.Expm1(base))
}

// quantile is sup{x: loss(x) <= eps}. It is -Inf if the loss is always above eps, and +Inf if the loss is
// never above eps.
func (d dominatingPair) quantile(eps float64) float64 { return d.quantileFrom(eps, 0) }

// quantileFrom returns quantile(eps). It is faster if near is a quantile of a loss close to eps.
func (d dominatingPair) quantileFrom(eps, near float64) float64 {
	if d.weights != nil {
		return d.groupQuantile(eps, near)
	}
	if d.kind == replaced {
		return d.replacedQuantile(eps)
	}
	if d.beyond() > 0 {
		return d.betweenQuantile(eps, near)
	}
	base := eps // the value of log f(x-m)/f(x) at the quantile
	switch {
	case d.q == 1:
	case eps > 1:
		base = eps - math.Log(d.q) + math.Log1p(-(1-d.q)*math.Exp(-eps))
	default:
		v := math.Expm1(eps) / d.q
		if v <= -1 {
			return math.Inf(-1)
		}
		base = math.Log1p(v)
	}
	if d.law == GaussianLaw {
		return base/d.m + d.m/2
	}
	return d.laplaceAt(base)
}

// laplaceAt is sup{x: |x| - |x-m| <= base}.
func (d dominatingPair) laplaceAt(base float64) float64 {
	switch {
	case base >= d.m:
		return math.Inf(1)
	case base < -d.m:
		return math.Inf(-1)
	}
	return (base + d.m) / 2
}

// replacedQuantile solves mix(x) = exp(eps) mix(-x); the loss is odd in x.
func (d dominatingPair) replacedQuantile(eps float64) float64 {
	if eps < 0 {
		return -d.replacedQuantile(-eps)
	}
	rest := 1 - d.q
	if d.law == LaplaceLaw {
		// On [0, m]: (1-q) + q exp(2x-m) = exp(eps) ((1-q) + q exp(-m)).
		low := math.Exp(-d.m)
		return d.laplaceAt(max(-d.m, math.Log((rest+d.q*low)*math.Expm1(eps)/d.q+low))) // log(low) can round below -m
	}
	// With y = x - eps/(2m): q exp(-m^2/2) sinh(m y) = (1-q) sinh(eps/2).
	if rest == 0 || eps == 0 {
		return eps / (2 * d.m)
	}
	logSinh := eps/2 + math.Log(-math.Expm1(-eps)/2)
	v := math.Log(rest/d.q) + d.m*d.m/2 + logSinh
	if v > 20 { // asinh(exp(v)) is v + log 2 to below 1e-18
		v += math.Ln2
	} else {
		v = math.Asinh(math.Exp(v))
	}
	return eps/(2*d.m) + v/d.m
}

// betweenQuantile solves loss(x) = eps >= 0 for r above m. The loss increases and is 0 at even. Newton's
// method from near finds a close approximation. Points at increasing distances from it bracket the solution.
// The bisection ends at neighbouring float64 numbers, whether or not Newton's method converged.
func (d dominatingPair) betweenQuantile(eps, near float64) float64 {
	even := d.even()
	if d.q == 1 || eps == 0 {
		return eps/(d.m+d.beyond()) + even
	}
	other := d
	other.m = d.beyond()
	x := max(even, near)
	if !(x < 1e100) {
		x = even
	}
	for range 30 {
		l, minus := d.mixLoss(x), other.mixLoss(-x)
		slope := d.m*(1-(1-d.q)*math.Exp(-l)) + other.m*(1-(1-d.q)*math.Exp(-minus))
		next := max(even, x+(eps-(l-minus))/slope)
		if !(next < 1e100) {
			break
		}
		done := math.Abs(next-x) <= 0x1p-48*next
		if x = next; done {
			break
		}
	}
	gap := math.Nextafter(x, math.Inf(1)) - x
	lo, hi := max(even, x-gap), x+gap
	for ; lo > even && d.loss(lo) > eps; gap *= 2 {
		lo, hi = max(even, lo-gap), lo
	}
	for ; d.loss(hi) <= eps; gap *= 2 {
		lo, hi = hi, hi+gap
	}
	for {
		mid := lo + (hi-lo)/2
		switch {
		case mid <= lo || mid >= hi:
			return lo
		case d.loss(mid) <= eps:
			lo = mid
		default:
			hi = mid
		}
	}
}

// masses returns the probabilities of (a, b] under P and Q, within massMargin relative. For a subset, these
// are the probabilities under mix and other.
func (d dominatingPair) masses(a, b float64) (p, q float64) {
	if d.weights != nil {
		return d.groupMasses(a, b)
	}
	base := d.mass(a, b)
	if d.q == 1 {
		p = d.mass(a-d.m, b-d.m)
	} else {
		p = (1-d.q)*base + d.q*d.mass(a-d.m, b-d.m)
	}
	q = base
	switch beyond := d.beyond(); {
	case d.kind == replaced:
		q = (1-d.q)*base + d.q*d.mass(a+d.m, b+d.m)
	case beyond > 0:
		q = (1-d.q)*base + d.q*d.mass(a+beyond, b+beyond)
	}
	return p, q
}

// mass is the probability of (a, b] under f.
func (d dominatingPair) mass(a, b float64) float64 {
	if d.law == GaussianLaw {
		return normalMass(a, b)
	}
	return laplaceMass(a, b)
}

// delta is the hockey-stick divergence of order exp(eps), eps >= 0, of the pair or of the reversed pair. It
// is P(x > t) - exp(eps) Q(x > t) at the quantile t. To round up, massMargin times the larger term is added
// to the difference.
func (d dominatingPair) delta(eps float64, reversed bool) float64 {
	var p, q float64
	if reversed && !d.symmetric() {
		q, p = d.masses(math.Inf(-1), d.quantile(-eps))
	} else {
		p, q = d.masses(d.quantile(eps), math.Inf(1))
	}
	v := math.Exp(eps) * q
	if math.IsNaN(v) || v > p { // q underflows
		v = 0
		if q > 0 {
			v = p
		}
	}
	return min(1, p-v+4*massMargin*p)
}
