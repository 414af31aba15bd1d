package account

import (
	"math"
	"math/bits"
	"slices"
)

// A lossPMF is a privacy loss distribution on the grid h Z. The value p[i] is an upper bound of the
// probability of loss nodes[i] h, and inf is an upper bound of the probability of an infinite loss. The
// distribution dominates its pair if every loss is increased by shift, which covers rounding errors of the
// nodes.
type lossPMF struct {
	nodes []int // ascending, at most maxCells+4
	p     []float64
	inf   float64
	shift float64
	count int // number of times that it is composed
}

// first and last return the first and the last node.
func (l lossPMF) first() int { return l.nodes[0] }
func (l lossPMF) last() int  { return l.nodes[len(l.nodes)-1] }

// fineNodes determines the width of cells: from node fineNodes 2^k on, cells have 2^k intervals.
const fineNodes = 512

// lossNodes returns nodes that cover jlo..jhi, jlo < 0 < jhi. It returns all of them or, if coarse is true,
// nodes whose cells are at most 1/fineNodes of their loss wide. In both cases, the nodes of -jhi..-jlo equal
// the negated nodes of jlo..jhi.
func lossNodes(jlo, jhi int, coarse bool) (nodes []int) {
	step := func(j int) int {
		if !coarse {
			return 1
		}
		return 1 << max(0, bits.Len(uint(j/fineNodes))-1)
	}
	for j := 0; ; j += step(j) {
		nodes = append(nodes, -j)
		if j >= -jlo {
			break
		}
	}
	slices.Reverse(nodes)
	for j := 0; j < jhi; {
		j += step(j)
		nodes = append(nodes, j)
	}
	return nodes
}

// gaussianReach is the point at which Gaussian tails are cut. The probability beyond it is less than 3e-31.
const gaussianReach = 11.6

// maxCells bounds the cells of one loss distribution.
const maxCells = 1 << 18

// releaseLaw is the information of the PLD accountant about one release. It is a dominating pair on the line
// or, if atoms is not nil, a finite symmetric pair.
type releaseLaw struct {
	pair  dominatingPair
	atoms []lossAtom
}

// lossAtom is a loss with its probability p under P. Its probability under Q is p exp(-loss).
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

// atom is the largest loss of positive probability, or 0 if there is none.
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

// discretise returns the loss distribution on the grid of interval h. If reversed is true, it is the
// distribution of the reversed pair. Every cell (a h, b h] between two nodes keeps its probabilities under P
// and Q, and discretise moves them to the two nodes. Under P, this spreads exp(-loss) without moving its
// mean. The hockey-stick divergence of every composition is a convex function of each exp(-loss), so the
// divergence can only grow ["connect the dots": Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022].
//
// This holds for cells of any width (docs/theory.md#pld-tails). The cells of batches with Gaussian noise are
// wide in the tails. Mass above all cells becomes an infinite loss. Mass below all cells is lifted to the
// lowest node.
//
// Nodes: the computed quantile of node j belongs to a loss within tau of j h, where tau covers the roundings
// of j h, of the quantile and of the noise argument. So the cell lies in [a h - tau, b h + tau]. Spreading to
// these ends and moving the lower mass up by 2 tau gives the nodes a h + tau, b h + tau, so shift is tau. For
// mixtures of many parts, tau also covers the rounding of their exponents (dominatingPair.exponents).
func (l releaseLaw) discretise(h float64, reversed bool) lossPMF {
	lo, hi := l.span()
	d := l.pair
	coarse := l.atoms == nil && d.law == GaussianLaw && d.q < 1 // other laws have few nodes, or atoms that lie on a node
	nodes := lossNodes(int(math.Floor(lo/h))-1, int(math.Ceil(hi/h))+1, coarse)
	zero, last := -nodes[0], len(nodes)-1
	if coarse {
		zero = slices.Index(nodes, 0)
	}
	out := lossPMF{nodes: nodes, p: make([]float64, len(nodes)),
		shift: 1e-14 * (4 + h*float64(max(-nodes[0], nodes[last])) + d.exponents())}
	reversed = reversed && !l.symmetric()
	if reversed {
		out.nodes = make([]int, len(nodes))
		for i, j := range nodes {
			out.nodes[last-i] = -j
		}
	}
	add := func(i int, p, q float64) { // probabilities of the cell below node i
		s := splitter{lo: float64(out.nodes[i-1]) * h, step: -math.Expm1(-float64(out.nodes[i]-out.nodes[i-1]) * h),
			tau: out.shift}
		low, high := s.split(p, q)
		out.p[i-1] += low
		out.p[i] += high
	}
	// The cell of nodes i-1 and i corresponds to nodes last-i and last-i+1 of the reversed pair.
	mirror := func(i int, p, q float64) { add(last-i+1, q, p) }
	const up = 1 + massMargin
	switch {
	case l.atoms != nil:
		for _, a := range l.atoms {
			add(zero+int(math.Floor(a.loss/h))+1, a.p, a.p*math.Exp(-a.loss))
		}
	case d.kind == subset:
		above := d.cells(h, d.even(), nodes, zero, func(i int, p, q float64) {
			add(i, p, q)
			mirror(i, p, q)
		})
		out.inf = above.p * up
		out.p[0] += above.q * up
		out.p[zero] += (1 - d.q) * d.mass(-d.even(), d.even()) * up
	default:
		first := math.Inf(-1) // Laplace losses are bounded: no tails
		if d.law == GaussianLaw {
			first = d.quantile(float64(nodes[0]) * h)
		}
		var below, above cellMass
		below.p, below.q = d.masses(math.Inf(-1), first)
		if reversed {
			above = d.cells(h, first, nodes, 0, mirror)
			below, above = above, below
			below.p, above.p = below.q, above.q
		} else {
			above = d.cells(h, first, nodes, 0, add)
		}
		out.p[0] += below.p * up
		out.inf = above.p * up
	}
	for len(out.p) > 1 && out.p[0] == 0 {
		out.p, out.nodes = out.p[1:], out.nodes[1:]
	}
	for k := len(out.p) - 1; k > 0 && out.p[k] == 0; k-- {
		out.p, out.nodes = out.p[:k], out.nodes[:k]
	}
	return out
}

// cellMass is the probability of a cell under P and under Q.
type cellMass struct{ p, q float64 }

// cells calls add for every cell between nodes i-1 and i, i > from, and returns the probabilities above the
// last cell. The first cell starts at the point first.
func (d dominatingPair) cells(h, first float64, nodes []int, from int, add func(i int, p, q float64)) (above cellMass) {
	last := first
	for i := from + 1; i < len(nodes); i++ {
		next := d.quantileFrom(float64(nodes[i])*h, last)
		if i == len(nodes)-1 && d.law == LaplaceLaw {
			next = math.Inf(1) // the largest loss, up to rounding
		}
		if next > last {
			p, q := d.masses(last, next)
			add(i, p, q)
			last = next
		}
	}
	above.p, above.q = d.masses(last, math.Inf(1))
	return above
}

// splitter moves the mass of a cell to the two nodes of the cell. The lower loss is lo, and step is 1 -
// exp(-width).
type splitter struct{ lo, step, tau float64 }

// split returns the parts of p for the lower and the upper node, such that the probability under Q is q. The
// upper part is rounded up by the largest effect of the errors of p and q (massMargin) and of the nodes
// (tau). The sum is rounded up by massMargin.
func (s splitter) split(p, q float64) (low, high float64) {
	const tiny = 1e-290 // below it relative errors are not bounded
	p *= 1 + 2*massMargin
	if s.lo > 600 || p < tiny || q < tiny {
		return 0, p
	}
	high = (p-q*math.Exp(s.lo))/s.step + p*(4*massMargin+4*s.tau)/s.step
	high = min(p, max(0, high))
	return p - high, high
}

// variance returns the variance of the finite losses.
func (l lossPMF) variance(h float64) float64 {
	total, mean, square := 0.0, 0.0, 0.0
	for i, p := range l.p {
		total += p
		mean += p * float64(l.nodes[i]) * h
	}
	mean /= total
	for i, p := range l.p {
		x := float64(l.nodes[i])*h - mean
		square += p * x * x
	}
	return square / total
}

// logMGF is log E exp(theta loss) over the finite losses, within 1e-9.
func (l lossPMF) logMGF(theta, h float64) float64 {
	var powers [64]float64 // powers of exp(-|theta| h), because the widths of cells are powers of two
	step := func(i int) float64 {
		width := uint(l.nodes[i] - l.nodes[i-1])
		k := bits.TrailingZeros(width)
		if powers[k] == 0 {
			powers[k] = math.Exp(-math.Abs(theta) * h * float64(width))
		}
		return powers[k]
	}
	if theta >= 0 { // Horner's rule, starting with the smallest term
		sum := l.p[0]
		for i := 1; i < len(l.p); i++ {
			sum = sum*step(i) + l.p[i]
		}
		return theta*float64(l.last())*h + math.Log(sum)
	}
	i := len(l.p) - 1
	sum := l.p[i]
	for ; i > 0; i-- {
		sum = sum*step(i) + l.p[i-1]
	}
	return theta*float64(l.first())*h + math.Log(sum)
}

// cut turns the largest losses into infinite losses. The total probability of these losses is at most the
// argument most.
func (l lossPMF) cut(most float64) lossPMF {
	above, k := 0.0, len(l.p)
	for k > 1 && above+l.p[k-1] <= most {
		k--
		above += l.p[k]
	}
	l.nodes, l.p = l.nodes[:k], l.p[:k]
	l.inf += above * (1 + 1e-10)
	return l
}
