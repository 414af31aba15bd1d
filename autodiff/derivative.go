package autodiff

import "math"

// Derivative returns phi'(u). It is exact with three exceptions. A mask has derivative 0. Abs, Max and Min take
// one of their one-sided derivatives at a kink. The factors 2/sqrt(pi) of Erf and 1/sqrt(2 pi) of NormCDF are
// rounded to float64. If several of Abs, Max, Min and Where change branch at one point, all of them use the
// same side of the point. On this side u is larger, or the term that is compared with a constant is larger. So
// phi' is never a mixture of both sides, and the kinks of abs(u) + log1p(exp(-2*abs(u))) cancel. But if phi' is
// not defined on this side, each operation chooses its side alone.
func (e Expr) Derivative() Expr {
	d, ties := e.derivative(true)
	for _, u := range ties {
		if !finite(d.Eval(u)) {
			d, _ = e.derivative(false)
			break
		}
	}
	return d
}

// derivative returns the derivative, with one side at all ties if aligned is true, otherwise with
// the side of each operation. ties holds the points where the side of a Where was changed.
func (e Expr) derivative(aligned bool) (d Expr, ties []float64) {
	b := newBuilder()
	b.aligned = aligned
	code := e.instrs()
	val := make([]int, len(code)) // index of the value of code[i]
	der := make([]int, len(code)) // index of its derivative
	zero, one := b.constant(0), b.constant(1)
	for i, in := range code {
		switch {
		case in.op == opConst:
			val[i], der[i] = b.put(in), zero
		case in.op == opVar:
			val[i], der[i] = b.put(in), one
		case in.op.binary():
			x, y := val[in.a], val[in.b]
			val[i] = b.put(instr{op: in.op, a: x, b: y})
			der[i] = b.diffBinary(in.op, val[i], x, y, der[in.a], der[in.b])
		case in.op == opWhere:
			val[i] = b.where(val[in.m], val[in.a], val[in.b])
			der[i] = b.whereSlope(val[in.m], der[in.a], der[in.b])
		default:
			x := val[in.a]
			val[i] = b.put(instr{op: in.op, a: x, c: in.c})
			if der[in.a] == zero {
				der[i] = zero
				continue
			}
			der[i] = b.binary(opMul, b.diffUnary(in.op, val[i], x, in.c), der[in.a])
		}
	}
	return b.expr(der[len(der)-1]), b.ties
}

// diffUnary returns the derivative of v = o(x) with respect to x.
func (b *builder) diffUnary(o op, v, x int, c float64) int {
	one := b.constant(1)
	switch o {
	case opNeg:
		return b.constant(-1)
	case opExp:
		return v
	case opLog:
		return b.binary(opDiv, one, x)
	case opLog1p:
		return b.binary(opDiv, one, b.binary(opAdd, one, x))
	case opExpm1:
		return b.unary(opExp, x)
	case opTanh:
		return b.binary(opSub, one, b.unary(opSquare, v))
	case opSigmoid:
		return b.binary(opMul, v, b.unary(opSigmoid, b.neg(x)))
	case opSoftplus:
		return b.unary(opSigmoid, x)
	case opSqrt:
		return b.binary(opDiv, b.constant(0.5), v)
	case opSquare:
		return b.binary(opMul, b.constant(2), x)
	case opAbs: // 2 [x >= 0] - 1
		m, negated := b.side(b.binary(opGe, x, b.constant(0)))
		m = b.binary(opMul, b.constant(2), m)
		if negated {
			return b.binary(opSub, one, m)
		}
		return b.binary(opSub, m, one)
	case opSin:
		return b.unary(opCos, x)
	case opCos:
		return b.neg(b.unary(opSin, x))
	case opAtan: // 1 / (1 + x^2)
		return b.binary(opDiv, one, b.binary(opAdd, one, b.unary(opSquare, x)))
	case opErf: // 2/sqrt(pi) e^(-x^2)
		return b.binary(opMul, b.constant(2/sqrtPi), b.unary(opExp, b.neg(b.unary(opSquare, x))))
	case opNormCDF: // e^(-x^2/2) / sqrt(2 pi)
		return b.binary(opMul, b.constant(1/(math.Sqrt2*sqrtPi)),
			b.unary(opExp, b.binary(opMul, b.constant(-0.5), b.unary(opSquare, x))))
	case opLogNormCDF:
		return b.unary(opHazard, x)
	case opHazard: // -h (x + h)
		return b.neg(b.binary(opMul, v, b.binary(opAdd, x, v)))
	}
	return b.binary(opMul, b.constant(c), b.pow(x, c-1)) // opPow
}

// diffBinary returns the derivative of v = o(x, y), where dx and dy are the derivatives of x and y.
func (b *builder) diffBinary(o op, v, x, y, dx, dy int) int {
	switch o {
	case opAdd:
		return b.binary(opAdd, dx, dy)
	case opSub:
		return b.binary(opSub, dx, dy)
	case opMul:
		return b.binary(opAdd, b.binary(opMul, dx, y), b.binary(opMul, x, dy))
	case opDiv: // (dx - v dy) / y
		return b.binary(opDiv, b.binary(opSub, dx, b.binary(opMul, v, dy)), y)
	case opMax:
		return b.choose(b.binary(opGe, x, y), dx, dy)
	case opMin:
		return b.choose(b.binary(opGe, y, x), dx, dy)
	}
	return b.constant(0) // masks
}

// side returns the comparison m in its aligned form p >= q. There q is a constant, or else the
// earlier instruction. The aligned form differs from m, or from 1 - m if negated, only at p = q.
func (b *builder) side(m int) (aligned int, negated bool) {
	in := b.code[m]
	if !b.aligned || in.op != opGe && in.op != opGt {
		return m, false
	}
	_, left := b.isConst(in.a)
	_, right := b.isConst(in.b)
	if left || !right && in.a < in.b {
		return b.put(instr{op: opGe, a: in.b, b: in.a}), true
	}
	return b.put(instr{op: opGe, a: in.a, b: in.b}), false
}

// choose returns where(m, x, y) for a comparison that may take either operand at a tie.
func (b *builder) choose(m, x, y int) int {
	m, negated := b.side(m)
	if negated {
		x, y = y, x
	}
	return b.where(m, x, y)
}

// whereSlope returns the derivative of a Where.
func (b *builder) whereSlope(m, x, y int) int {
	if a, negated := b.side(m); a != m || negated {
		if c, ok := b.isConst(b.code[a].b); ok && b.is(b.code[a].a, opVar) {
			b.ties = append(b.ties, c)
			return b.choose(m, x, y)
		}
	}
	return b.where(m, x, y)
}
