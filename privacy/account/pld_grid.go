package account

import "math"

// A lossPMF is a privacy loss distribution on the grid h Z: p[i] is (an upper
// bound of) the probability of loss (lo+i) h, inf that of an infinite loss. It
// dominates the pair that it was made of, if every loss is taken to be larger by
// shift, which covers rounding errors of the nodes.
type lossPMF struct {
	lo    int
	p     []float64
	inf   float64
	shift float64
	count int // how often it is composed
}

// gaussianReach is where Gaussian tails are cut: beyond it lies less than 3e-31.
const gaussianReach = 11.6

// maxCells bounds the cells of one loss distribution.
const maxCells = 1 << 18

// releaseLaw is what the PLD accountant knows about one release: a dominating
// pair on the line or, if atoms is not nil, a finite symmetric one.
type releaseLaw struct {
	pair  dominatingPair
	atoms []lossAtom
}

// lossAtom is a loss with its probability under P; under Q it is p exp(-loss).
type lossAtom struct{ loss, p float64 }

func (l releaseLaw) symmetric() bool { return l.atoms != nil || l.pair.symmetric() }

// delta is the exact hockey-stick divergence of one release, rounded up.
func (l releaseLaw) delta(eps float64, reversed bool) float64 {
	if l.atoms == nil {
		return l.pair.delta(eps, reversed)
	}
	sum := 0.0
	for _, a := range l.atoms {
		if a.loss > eps {
			sum += a.p * -math.Expm1(eps-a.loss) * (1 + massMargin)
		}
	}
	return min(1, sum)
}

// atom is the largest loss of positive probability, 0 if there is none.
func (l releaseLaw) atom() float64 {
	if l.atoms != nil {
		return l.atoms[0].loss
	}
	if l.pair.law == LaplaceLaw {
		return l.pair.lossBound()
	}
	return 0
}

// span returns bounds of the losses that are not cut off.
func (l releaseLaw) span() (lo, hi float64) {
	if l.atoms != nil {
		return -l.atoms[0].loss, l.atoms[0].loss
	}
	d := l.pair
	reach := gaussianReach
	if d.law == LaplaceLaw {
		reach = 1 // the loss is constant beyond the centres
	}
	switch hi = d.loss(d.farthest() + reach); d.kind {
	case removed:
		lo = d.loss(-reach)
	default:
		lo = -hi
	}
	return lo, hi
}

// discretise returns the loss distribution on the grid of interval h, of the
// reversed pair if asked. In every cell ((j-1) h, j h] it keeps the probabilities
// of the cell under P and Q and moves them to the two nodes. Under P this spreads
// exp(-loss) without moving its mean, and the hockey-stick divergence of every
// composition is a convex function of each exp(-loss), so it can only grow
// ["connect the dots": Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022].
// What lies above all cells becomes an infinite loss, what lies below is lifted to
// the lowest node.
//
// Nodes: the computed quantile of node j is that of a loss within tau of j h, where
// tau covers the roundings of j h, of the quantile and of the noise argument. So
// the cell lies in [(j-1) h - tau, j h + tau]; spreading to these ends and moving
// the lower mass up by 2 tau gives nodes j h + tau: shift is tau. For mixtures of many
// parts tau also covers the rounding of their exponents (dominatingPair.exponents).
func (l releaseLaw) discretise(h float64, reversed bool) lossPMF {
	lo, hi := l.span()
	jlo, jhi := int(math.Floor(lo/h))-1, int(math.Ceil(hi/h))+1
	out := lossPMF{lo: jlo, p: make([]float64, jhi-jlo+1), shift: 1e-14 * (4 + max(-lo, hi) + l.pair.exponents())}
	reversed = reversed && !l.symmetric()
	if reversed {
		out.lo = -jhi
	}
	s := splitter{h: h, step: -math.Expm1(-h), tau: out.shift}
	add := func(j int, p, q float64) { // probabilities of cell ((j-1) h, j h]
		low, high := s.split(float64(j-1)*h, p, q)
		out.p[j-1-out.lo] += low
		out.p[j-out.lo] += high
	}
	// Cell ((j-1) h, j h] of a pair is [-j h, -(j-1) h) of the reversed pair.
	mirror := func(j int, p, q float64) { add(1-j, q, p) }
	const up = 1 + massMargin
	switch d := l.pair; {
	case l.atoms != nil:
		for _, a := range l.atoms {
			add(int(math.Floor(a.loss/h))+1, a.p, a.p*math.Exp(-a.loss))
		}
	case d.kind == subset:
		above := d.cells(h, d.m/2, 0, jhi, func(j int, p, q float64) {
			add(j, p, q)
			mirror(j, p, q)
		})
		out.inf = above.p * up
		out.p[0] += above.q * up
		out.p[-out.lo] += (1 - d.q) * d.mass(-d.m/2, d.m/2) * up
	default:
		first := math.Inf(-1) // Laplace losses are bounded: no tails
		if d.law == GaussianLaw {
			first = d.quantile(float64(jlo) * h)
		}
		var below, above cellMass
		below.p, below.q = d.masses(math.Inf(-1), first)
		if reversed {
			above = d.cells(h, first, jlo, jhi, mirror)
			below, above = above, below
			below.p, above.p = below.q, above.q
		} else {
			above = d.cells(h, first, jlo, jhi, add)
		}
		out.p[0] += below.p * up
		out.inf = above.p * up
	}
	for len(out.p) > 1 && out.p[0] == 0 {
		out.p = out.p[1:]
		out.lo++
	}
	for len(out.p) > 1 && out.p[len(out.p)-1] == 0 {
		out.p = out.p[:len(out.p)-1]
	}
	return out
}

// cellMass is a probability under P and under Q.
type cellMass struct{ p, q float64 }

// cells calls add for every cell ((j-1) h, j h], jlo < j <= jhi, of which the
// first starts at the point first, and returns what lies above.
func (d dominatingPair) cells(h, first float64, jlo, jhi int, add func(j int, p, q float64)) (above cellMass) {
	last := first
	for j := jlo + 1; j <= jhi; j++ {
		next := d.quantileFrom(float64(j)*h, last)
		if j == jhi && d.law == LaplaceLaw {
			next = math.Inf(1) // the largest loss, up to rounding
		}
		if next > last {
			p, q := d.masses(last, next)
			add(j, p, q)
			last = next
		}
	}
	above.p, above.q = d.masses(last, math.Inf(1))
	return above
}

// splitter moves the mass of a cell to its nodes.
type splitter struct{ h, step, tau float64 }

// split returns the parts of p that go to lo and lo + h so that the probability
// under Q is q. The upper part is rounded up by what the errors of p and q (of
// massMargin) and the nodes (of tau) can change, the whole by massMargin.
func (s splitter) split(lo, p, q float64) (low, high float64) {
	const tiny = 1e-290 // below it relative errors are not bounded
	p *= 1 + 2*massMargin
	if lo > 600 || p < tiny || q < tiny {
		return 0, p
	}
	high = (p-q*math.Exp(lo))/s.step + p*(4*massMargin+4*s.tau)/s.step
	high = min(p, max(0, high))
	return p - high, high
}

// variance is that of the finite losses.
func (l lossPMF) variance(h float64) float64 {
	total, mean, square := 0.0, 0.0, 0.0
	for i, p := range l.p {
		total += p
		mean += p * float64(l.lo+i) * h
	}
	mean /= total
	for i, p := range l.p {
		x := float64(l.lo+i)*h - mean
		square += p * x * x
	}
	return square / total
}

// logMGF is log E exp(theta loss) over the finite losses, within 1e-9.
func (l lossPMF) logMGF(theta, h float64) float64 {
	g, sum := math.Exp(-math.Abs(theta)*h), 0.0
	if theta >= 0 {
		for _, p := range l.p {
			sum = sum*g + p
		}
		return theta*float64(l.lo+len(l.p)-1)*h + math.Log(sum)
	}
	for i := len(l.p) - 1; i >= 0; i-- {
		sum = sum*g + l.p[i]
	}
	return theta*float64(l.lo)*h + math.Log(sum)
}
