package local

import (
	"slices"

	"dyad/privacy"
)

// Favours are the favoured candidates of g, in ascending order.
func (c *DirectionChannel) Favours(g []float64, seed [32]byte, positive uint64) []uint16 {
	d := c.directions(&seed)
	d.point(g, c.m.Bound)
	c.arrange(d, positive)
	best := make([]uint16, c.m.Favoured)
	for i := range best {
		best[i] = uint16(c.candidate(d, uint64(i), 0))
	}
	slices.Sort(best)
	return best
}

// Law is the probability of every choice for g, given the seed: the sum over all that Send
// can draw, with the probabilities of what it draws.
func (c *DirectionChannel) Law(g []float64, seed [32]byte) []float64 {
	d := c.directions(&seed)
	zero, share, _ := d.point(g, c.m.Bound)
	law := make([]float64, 2*c.m.Pairs)
	low := c.law.favoured()
	for positive, p := range []float64{0.5 - share/2, 0.5 + share/2} {
		d.bits.Seed(seed)
		c.arrange(d, uint64(positive))
		for shift := range uint64(c.m.Pairs) {
			for place := range uint64(len(law)) {
				q := (1 - low) / float64(c.law.n-c.law.k)
				if place < c.law.k {
					q = low / float64(c.law.k)
				}
				law[c.candidate(d, place, shift&-zero)] += p * q / float64(c.m.Pairs)
			}
		}
	}
	return law
}

// favoured is the probability of a favoured place, rounded.
func (l placeLaw) favoured() float64 { return float64(l.hi)*0x1p-64 + float64(l.lo)*0x1p-128 }

// PlaceOdds are the terms of the odds of a place below k against another one, exactly:
// t (n-k) to (2^128 - t) k.
func PlaceOdds(n, k int, epsilon float64) (hi, lo uint64) {
	l := newPlaceLaw(n, k, epsilon)
	return l.hi, l.lo
}

// DrawPlace draws from a new placeLaw.
func DrawPlace(n, k int, epsilon float64, src *privacy.Source) int {
	l := newPlaceLaw(n, k, epsilon)
	return int(l.draw(src))
}

// MergeExchange are the pairs of entries that the network of n entries compares.
func MergeExchange(n int) (pairs [][2]int) {
	for _, e := range mergeExchange(n) {
		pairs = append(pairs, [2]int{int(e.i), int(e.j)})
	}
	return pairs
}

// Normals sets z to the first numbers of a seed.
func Normals(seed [32]byte, z []float64) {
	n := normals{table: newZiggurat()}
	n.bits.Seed(seed)
	n.fill(z)
}

// ZigguratTable is x_0 .. x_256 and f(x_0) .. f(x_256), of x_0 the f of x_1.
func ZigguratTable() (x, f [257]float64) {
	t := newZiggurat()
	for i, l := range t.layers {
		x[i] = l.cell * 0x1p23
	}
	return x, t.density
}

// ExpMinus is expMinus.
func ExpMinus(v float64) float64 { return expMinus(v) }

// Point is what point makes of g: the scaled vector, whether it stands for zero, and the
// share of bound.
func Point(g []float64, bound float64) (u []float64, zero uint64, share float64, ok bool) {
	d := directions{u: make([]float64, len(g))}
	zero, share, ok = d.point(g, bound)
	return d.u, zero, share, ok
}
