package autodiff

import "math"

// isolate rewrites the comparison of x with the constant d as a comparison of p with c, in the same
// direction or flipped. c is never -0, so that equal comparisons are one instruction.
func (b *builder) isolate(x int, d float64) (p, c int, flip, ok bool) {
	in := b.code[x]
	switch in.op {
	case opNeg:
		return in.a, b.constant(0 - d), true, true
	case opSub:
		if d == 0 {
			return in.a, in.b, false, true
		}
		if k, ok := b.isConst(in.a); ok { // k - p against d
			if c, exact := exactSum(k, -d); exact {
				return in.b, b.constant(c), true, true
			}
		}
		if k, ok := b.isConst(in.b); ok {
			if c, exact := exactSum(k, d); exact {
				return in.a, b.constant(c), false, true
			}
		}
	case opAdd:
		if k, ok := b.isConst(in.a); ok {
			if c, exact := exactSum(d, -k); exact {
				return in.b, b.constant(c), false, true
			}
		}
	case opDiv:
		if k, ok := b.isConst(in.b); ok && k != 0 && finite(k) {
			q := d * k
			if normal(q) && math.FMA(d, k, -q) == 0 || d == 0 {
				return in.a, b.constant(q + 0), k < 0, true
			}
		}
	case opMul:
		if k, ok := b.isConst(in.a); ok && k != 0 && finite(k) {
			q := d / k
			if normal(q) && math.FMA(q, k, -d) == 0 || d == 0 {
				return in.b, b.constant(q + 0), k < 0, true
			}
		}
	}
	return 0, 0, false, false
}

// exactSum returns x + y if it is a float64.
func exactSum(x, y float64) (float64, bool) {
	s := x + y
	t := s - x
	return s, finite(s) && (x-(s-t))+(y-t) == 0
}

// normal reports whether products and quotients near x cannot underflow or overflow, so that their
// rounding error is a float64.
func normal(x float64) bool { return math.Abs(x) > 0x1p-900 && math.Abs(x) < 0x1p900 }
