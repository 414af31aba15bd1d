package account

import (
	"math"
	"math/cmplx"
)

// A lossSum is the sum of independent losses. Each loss has a lossPMF on the grid h Z.
type lossSum struct {
	h     float64
	parts []lossPMF
	// thetaLo and thetaHi are the range in which tilts are searched: from a negligible tilt on the scale of
	// the whole sum to a tilt larger than a single loss can use.
	thetaLo, thetaHi float64
}

func newLossSum(h float64, parts []lossPMF) lossSum {
	variance, count := 0.0, 0.0
	for _, p := range parts {
		variance += float64(p.count) * p.variance(h)
		count += float64(p.count)
	}
	return lossSum{h: h, parts: parts, thetaLo: 0.01 / math.Sqrt(variance), thetaHi: 100 / math.Sqrt(variance/count)}
}

// maxWindow bounds the length of a transform.
const maxWindow = 1 << 22

// windowLog is -log of the tilted probability that a window may omit.
const windowLog = 28

// cut turns the largest losses into infinite losses. The total probability of these losses is at most the
// argument most. This only raises a divergence (docs/theory.md#pld-tails). Without cut, a single rare large
// loss would determine the length of a transform.
func (s lossSum) cut(most float64) lossSum {
	parts := make([]lossPMF, len(s.parts))
	for i, p := range s.parts {
		parts[i] = p.cut(most / float64(len(parts)) / float64(p.count))
	}
	s.parts = parts
	return s
}

func (s lossSum) logMGF(theta float64) float64 {
	k := 0.0
	for _, p := range s.parts {
		k += float64(p.count) * p.logMGF(theta, s.h)
	}
	return k
}

// momentError bounds the error of a sum of three logMGF. A part adds up at most maxCells positive numbers
// with two roundings each. The logarithm and the shift add less.
func (s lossSum) momentError() float64 {
	_, _, count := s.rest()
	return 1e-6 + 3*2.1*maxCells*0x1p-53*count
}

// rest returns the sums over the parts of shift (the rounding of losses), of inf (a union bound of the
// probability of an infinite loss), and of count (the number of releases).
func (s lossSum) rest() (shift, inf, count float64) {
	for _, p := range s.parts {
		n := float64(p.count)
		shift += n * p.shift
		inf += n * p.inf
		count += n
	}
	return shift * (1 + 1e-9), inf * (1 + 1e-9), count
}

// minimise returns the point of the minimum of a function that first decreases and then increases. It uses
// golden section search over the logarithms of lo..hi. The bounds of all callers are valid at any point;
// the minimum only makes them tighter.
func minimise(lo, hi float64, f func(float64) float64) float64 {
	const ratio = 0.61803398874989485
	a, b := math.Log(lo), math.Log(hi)
	x1, x2 := b-ratio*(b-a), a+ratio*(b-a)
	f1, f2 := f(math.Exp(x1)), f(math.Exp(x2))
	for b-a > 1e-3 {
		if f1 <= f2 || math.IsNaN(f2) {
			b, x2, f2 = x2, x1, f1
			x1 = b - ratio*(b-a)
			f1 = f(math.Exp(x1))
		} else {
			a, x1, f1 = x1, x2, f2
			x2 = a + ratio*(b-a)
			f2 = f(math.Exp(x2))
		}
	}
	return math.Exp((a + b) / 2)
}

// saddle returns a tilt for epsilon. The tilt that minimises the Chernoff bound has the smallest error of a
// transform, but it gives most weight to rare large losses. If such losses make the window more than twice as
// long, saddle returns a smaller tilt with e^2 times the minimal bound.
func (s lossSum) saddle(epsilon float64) float64 {
	chernoff := func(theta float64) float64 { return s.logMGF(theta) - theta*epsilon }
	best := minimise(s.thetaLo, s.thetaHi, chernoff)
	lo, hi, most := s.thetaLo, best, chernoff(best)+2
	for hi > 1.001*lo {
		if mid := math.Sqrt(lo * hi); chernoff(mid) <= most {
			hi = mid
		} else {
			lo = mid
		}
	}
	length := func(theta float64) int {
		jlo, jhi, _ := s.window(theta, s.logMGF(theta))
		return jhi - jlo
	}
	if length(best) <= 2*length(hi) {
		return best
	}
	return hi
}

// tiltedSum is the law of a lossSum, computed under the tilt exp(theta loss). Node (first+i) h has
// probability exp(k - theta (first+i) h) (q[i] + e[i]), where the Euclidean norm of e is at most err.
//
// The tilt makes small deltas possible. Rounding errors of a transform are small relative to the largest
// value, and the tilt moves the largest value near the epsilon of interest [the saddle point; Esscher 1932].
type tiltedSum struct {
	h, theta, k float64
	first       int
	q           []float64
	err         float64
	relative    float64 // factor for relative errors, > 1
	outside     float64 // probability of losses above the window, including infinite losses
	below       float64 // tilted probability of losses below the window
	shift       float64
}

// tilt computes the sum under the tilt theta > 0.
//
// Let q_e be the tilted losses of part e, and let d_e bound the error of each value of their computed
// transform phi_e (it is the bound of the whole vector). The error of the product of powers at frequency k is
// at most prod (|phi_e|+d_e)^n_e - prod |phi_e|^n_e, plus the rounding of the product itself. The backward
// transform is linear, so the squares of the errors add up by Parseval.
//
// The transform is cyclic of length N. Losses below the window reappear at its top, which only raises a delta
// at epsilons within the window. For epsilons below the window such losses would be missed, although without
// the tilt they may be most of the probability. So delta adds their tilted probability. Losses above the
// window would be lost. Their probability is at most exp(K(theta+eta) - (theta+eta) top) for every eta >= 0
// (Chernoff).
func (s lossSum) tilt(theta float64) tiltedSum {
	k := s.logMGF(theta)
	jlo, jhi, below := s.window(theta, k)
	n := 2
	for n < jhi-jlo && n < maxWindow {
		n *= 2
	}
	top := float64(jlo+n) * s.h
	chernoff := func(eta float64) float64 { return s.logMGF(theta+eta) - (theta+eta)*top }
	shift, inf, count := s.rest()
	t := tiltedSum{h: s.h, theta: theta, k: k, first: jlo, shift: shift, outside: inf, below: below}
	if !s.endsBelow(top) {
		t.outside += math.Exp(chernoff(minimise(s.thetaLo, s.thetaHi, chernoff)) + s.momentError())
	}

	transform := newFFT(n)
	root := math.Sqrt(float64(n))
	product, x := make([]complex128, n), make([]complex128, n)
	logAbs, logUpper := make([]float64, n/2+1), make([]float64, n/2+1)
	for i := range product {
		product[i] = 1
	}
	tilting := 0.0 // relative error of the tilted probabilities, composed
	for _, p := range s.parts {
		logM := p.logMGF(theta, s.h)
		clear(x)
		largest := 0.0
		for i, v := range p.p {
			exponent := theta*float64(p.nodes[i])*s.h - logM
			if v > 0 {
				largest = max(largest, theta*math.Abs(float64(p.nodes[i]))*s.h)
			}
			x[p.nodes[i]&(n-1)] += complex(v*math.Exp(exponent), 0)
		}
		tilting += float64(p.count) * (8 + 4*largest + 4*math.Abs(logM) + float64((p.last()-p.first())/n)) * 0x1p-53
		norm := 0.0
		for _, v := range x {
			norm += real(v) * real(v)
		}
		transform.forward(x)
		d := 1.01 * transform.relativeError() * root * math.Sqrt(norm)
		power := float64(p.count)
		for i, v := range x[:n/2+1] { // the other half is conjugate, because the input is real
			a := cmplx.Abs(v)
			logAbs[i] += power * math.Log(a)
			logUpper[i] += power * math.Log(a+d)
			if p.count == 1 {
				product[i] *= v
			} else {
				sin, cos := math.Sincos(power * cmplx.Phase(v))
				product[i] *= complex(cos, sin) * complex(math.Exp(power*math.Log(a)), 0)
			}
		}
	}
	errSq, sizeSq := 0.0, 0.0
	for i := range logAbs {
		size, upper := math.Exp(logAbs[i]), math.Exp(logUpper[i])
		e := upper // no cancellation where the product vanishes
		if size > 0 {
			e = size * math.Expm1(logUpper[i]-logAbs[i])
		}
		// A power n is computed by logarithm and phase, with relative error below 16 n u.
		e += size * (16*count + 16) * 0x1p-53
		errSq += 2 * e * e // includes the conjugate value
		sizeSq += 2 * size * size
		product[(n-i)&(n-1)] = cmplx.Conj(product[i])
	}
	transform.backward(product)
	t.err = 1.01 * (math.Sqrt(errSq) + 1.01*transform.relativeError()*math.Sqrt(sizeSq)) / root

	t.q = make([]float64, n)
	for i := range t.q {
		t.q[i] = real(product[(jlo+i)&(n-1)])
	}
	exponents := math.Abs(k) + theta*(math.Abs(top)+math.Abs(float64(jlo)*s.h))
	t.relative = math.Exp(tilting+8*exponents*0x1p-53) * (1 + 1e-12)
	return t
}

// endsBelow reports whether every finite loss is below top.
func (s lossSum) endsBelow(top float64) bool {
	end := 0.0
	for _, p := range s.parts {
		end += float64(p.count) * float64(p.last()) * s.h
	}
	return end+1e-12*math.Abs(end) < top
}

// window returns the first and last node of a range that contains all but about exp(-windowLog) of the tilted
// probability, by Chernoff bounds on both sides. It also returns a bound of the probability below the range.
func (s lossSum) window(theta, k float64) (jlo, jhi int, below float64) {
	over := func(eta float64) float64 { return (s.logMGF(theta+eta) - k + windowLog) / eta }
	under := func(eta float64) float64 { return (s.logMGF(theta-eta) - k + windowLog) / eta }
	top := over(minimise(s.thetaLo, s.thetaHi, over))
	bottom := -under(minimise(s.thetaLo, s.thetaHi, under))
	jlo, jhi = int(math.Floor(bottom/s.h))-1, int(math.Ceil(top/s.h))+1
	least, most := 0.0, 0.0
	for _, p := range s.parts {
		least += float64(p.count) * float64(p.first())
		most += float64(p.count) * float64(p.last())
	}
	if jlo > int(least) {
		below = math.Exp(-windowLog + s.momentError())
	}
	return max(jlo, int(least)), min(jhi, int(most)+2), below
}

// delta is an upper bound of the hockey-stick divergence of order exp(eps). From the point where exp(-theta
// (loss - eps)) is below 1e-30, this weight replaces the remaining sum, because the tilted probabilities are
// at most 1 together. In the same way, the weight 1 replaces the sum over losses between eps and the window.
func (t tiltedSum) delta(eps float64) float64 {
	eps -= t.shift + 1e-15*math.Abs(eps)
	start := max(0, int(math.Floor(eps/t.h))+1-t.first)
	sum, size, errSq, rest := 0.0, 0.0, 0.0, 0.0
	if eps < float64(t.first)*t.h {
		rest = t.below
	}
	tiltStep, step := math.Exp(-t.theta*t.h), math.Exp(-t.h)
	tilt, ratio := 0.0, 0.0
	for i := start; i < len(t.q); i++ {
		if (i-start)%256 == 0 { // in between, there are at most 256 roundings
			above := float64(t.first+i)*t.h - eps
			tilt, ratio = math.Exp(-t.theta*above), math.Exp(-above)
			if tilt < 1e-30 {
				rest += 1.01 * tilt
				break
			}
		}
		weight := tilt * (max(0, 1-ratio*(1-1e-13)) + 1e-15)
		tilt *= tiltStep
		ratio *= step
		term := weight * t.q[i]
		sum += term
		size += math.Abs(term)
		errSq += weight * weight
	}
	total := sum*(1+1e-13) + size*float64(len(t.q))*0x1p-51 + t.err*math.Sqrt(errSq) + rest
	d := t.relative*math.Exp(t.k-t.theta*eps)*total + t.outside
	if !(d < 1) { // NaN too
		return 1
	}
	return max(d, minDelta)
}

// delta is an upper bound of the hockey-stick divergence of order exp(eps).
func (s lossSum) delta(eps float64) float64 {
	if shift, inf, _ := s.rest(); s.endsBelow(eps*(1-1e-15) - shift) {
		return min(1, max(inf, minDelta)) // only infinite losses are larger
	}
	theta := s.saddle(eps)
	// Chernoff's bound is rarely above a thousand deltas.
	s = s.cut(cutShare / 1000 * math.Exp(min(0, s.logMGF(theta)-theta*eps)))
	return s.tilt(s.saddle(eps)).delta(eps)
}

// cutShare is the fraction of a delta that a cut of large losses may add.
const cutShare = 1e-10
