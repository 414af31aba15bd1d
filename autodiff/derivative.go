package autodiff

// Derivative returns phi'(u). It is exact, except that a mask has derivative 0
// and that Abs, Max and Min take one of their one-sided derivatives at a kink.
func (e Expr) Derivative() Expr {
	b := newBuilder()
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
			der[i] = b.where(val[in.m], der[in.a], der[in.b])
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
	return b.expr(der[len(der)-1])
}

// diffUnary is the derivative of v = o(x) with respect to x.
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
		return b.binary(opSub, b.binary(opMul, b.constant(2), b.binary(opGe, x, b.constant(0))), one)
	case opSin:
		return b.unary(opCos, x)
	case opCos:
		return b.neg(b.unary(opSin, x))
	}
	return b.binary(opMul, b.constant(c), b.pow(x, c-1)) // opPow
}

// diffBinary is the derivative of v = o(x, y), with dx and dy those of x and y.
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
		return b.where(b.binary(opGe, x, y), dx, dy)
	case opMin:
		return b.where(b.binary(opGe, y, x), dx, dy)
	}
	return b.constant(0) // masks
}
