package local

import (
	"math"
	"math/rand/v2"
	"sync"
)

// ziggurat is the table of Marsaglia and Tsang's method (Journal of Statistical Software 5(8),
// 2000) for the standard normal law. The area under f(x) = exp(-x^2/2), x >= 0, lies within 256
// layers of equal area. Layer i >= 1 is the box [0, x_i] x [f(x_i), f(x_(i+1))], where the x_i fall
// from x_1 = zigguratTail to x_256 = 0. Layer 0 is the area below f(x_1), including the tail beyond
// x_1. It is treated as a box of width x_0 = area/f(x_1).
//
// The table is computed only with additions, products, quotients and square roots, each rounded
// separately. So it has the same bits on every platform; math.Exp and math.Log do not.
type ziggurat struct {
	layers  [256]zigguratLayer
	density [257]float64 // f(x_i); layer 0 has f(x_1)
}

type zigguratLayer struct {
	cell  float64 // width of a cell, x_i 2^-23
	inner uint32  // number of cells within [0, x_(i+1)]
}

// zigguratTail is the x_1 for which 256 layers end at x_256 = 0.
const zigguratTail = 3.6541528853610088

// zigguratTailArea returns the integral of f beyond zigguratTail, by its continued fraction f(x)/(x
// + 1/(x + 2/(x + ...))).
func zigguratTailArea() float64 {
	c := zigguratTail
	for k := 60.0; k > 0; k-- {
		c = zigguratTail + k/c
	}
	return expMinus(zigguratTail*zigguratTail/2) / c
}

// constZiggurat returns the table, which is computed at the first call.
var constZiggurat = sync.OnceValue(newZiggurat)

func newZiggurat() *ziggurat {
	t := new(ziggurat)
	x := zigguratTail
	t.density[0], t.density[1] = expMinus(x*x/2), expMinus(x*x/2)
	area := float64(x*t.density[1]) + zigguratTailArea()
	t.setLayer(0, area/t.density[1], x)
	for i := 1; i < 255; i++ {
		t.density[i+1] = t.density[i] + area/x
		next := math.Sqrt(2 * minusLog(t.density[i+1], x*x/2))
		t.setLayer(i, x, next)
		x = next
	}
	t.setLayer(255, x, 0)
	t.density[256] = 1
	return t
}

func (t *ziggurat) setLayer(i int, width, next float64) {
	cell := width * 0x1p-23
	t.layers[i] = zigguratLayer{cell: cell, inner: uint32(next / cell)}
}

// expMinus returns exp(-v), with a relative error below 2^-40 for 0 <= v < 8 and below 2^-20 for v
// < 64. It is the 256th power of seven terms of the series of exp(-v/256).
func expMinus(v float64) float64 {
	v *= -0x1p-8
	e := 1 + float64(v*(1.0/7))
	e = 1 + float64(float64(v*(1.0/6))*e)
	e = 1 + float64(float64(v*(1.0/5))*e)
	e = 1 + float64(float64(v*(1.0/4))*e)
	e = 1 + float64(float64(v*(1.0/3))*e)
	e = 1 + float64(float64(v*(1.0/2))*e)
	e = 1 + float64(v*e)
	for range 8 {
		e *= e
	}
	return e
}

// minusLog returns -log(y), by Newton's method from v.
func minusLog(y, v float64) float64 {
	for range 8 {
		v += 1 - y/expMinus(v)
	}
	return v
}

// normals is the stream of standard normals of a seed: the ziggurat on ChaCha8.
//
// A number takes 32 bits: 8 for the layer i, 1 for the sign, 23 for a cell of the layer's width. If
// the cell is within [0, x_(i+1)], the number is the middle of the cell; all but 1.2 % of the cells
// are. In the other cells the number is drawn with 53 more bits. It is accepted as in the exact
// method: by comparison with f in the wedge, and by an exponential in the tail.
//
// So a number agrees with the exact method up to half a cell, at most 2^-22, rounded without bias.
// The effect on the mean of a decoded message is of second order, 2^-44 relative. No step depends
// on math.Exp or math.Log, and sums of products are rounded explicitly. So user and server compute
// the same numbers on any two machines.
type normals struct {
	table *ziggurat
	bits  rand.ChaCha8
}

// fill sets z to the next numbers. If len(z) is odd, the upper half of the last word is dropped.
func (n *normals) fill(z []float64) {
	t := n.table
	var w uint64
	for i := range z {
		if w >>= 32; i%2 == 0 {
			w = n.bits.Uint64()
		}
		l := &t.layers[uint8(w)]
		s := int32(w) >> 8
		if uint32(s^s>>31) < l.inner {
			z[i] = (float64(s) + 0.5) * l.cell
		} else {
			z[i] = n.outer(uint32(w))
		}
	}
}

// outer returns the number for 32 bits whose cell does not lie within the next layer.
func (n *normals) outer(w uint32) float64 {
	for {
		i, s := w&255, int32(w)>>8
		l := &n.table.layers[i]
		signed, cell := float64(s)+0.5, uint32(s^s>>31)
		if cell < l.inner {
			return signed * l.cell
		}
		x := (float64(cell) + n.uniform()) * l.cell
		low, high := n.table.density[i], n.table.density[i+1]
		switch {
		case i == 0 && x < zigguratTail:
			return math.Copysign(x, signed)
		case i == 0:
			return math.Copysign(n.tail(), signed)
		case low+float64(n.uniform()*(high-low)) < expMinus(x*x/2):
			return math.Copysign(x, signed)
		}
		w = uint32(n.bits.Uint64())
	}
}

// tail returns a normal beyond x_1: f(x_1 + e) is proportional to exp(-x_1 e) exp(-e^2/2).
func (n *normals) tail() float64 {
	for {
		e := n.exponential() / zigguratTail
		if v := e * e / 2; v < 64 && n.uniform() < expMinus(v) {
			return zigguratTail + e
		}
	}
}

// exponential returns a standard exponential by von Neumann's comparisons. Draw u and then uniforms
// as long as they descend. The descending run, u included, has an odd length with probability
// exp(-u). If the length is even, 1 is added and the draw starts again.
func (n *normals) exponential() float64 {
	for k := 0.0; ; k++ {
		u := n.uniform()
		odd := true
		for last, next := u, n.uniform(); next < last; last, next = next, n.uniform() {
			odd = !odd
		}
		if odd {
			return k + u
		}
	}
}

// uniform returns a number in (0, 1), with 53 bits.
func (n *normals) uniform() float64 {
	return (float64(n.bits.Uint64()>>11) + 0.5) * 0x1p-53
}
