package autodiff

import (
	"math"
	"slices"
)

func (b *builder) unary(o op, x int) int {
	if c, ok := b.isConst(x); ok {
		if v := evalUnary(o, c, 0); finite(v) {
			return b.constant(v)
		}
	}
	in := b.code[x]
	switch o {
	case opNeg:
		return b.neg(x)
	case opLog:
		switch {
		case in.op == opExp:
			return in.a
		case in.op == opSigmoid: // log sigmoid(y) = -softplus(-y)
			return b.neg(b.unary(opSoftplus, b.neg(in.a)))
		case in.op == opNormCDF:
			return b.unary(opLogNormCDF, in.a)
		case b.sumOfExps(x): // log(e^y + e^z) = y + softplus(z - y)
			return b.binary(opAdd, b.arg(in.a), b.unary(opSoftplus, b.binary(opSub, b.arg(in.b), b.arg(in.a))))
		case in.op == opMul && b.is(in.a, opConst) && b.code[in.a].c > 0 && b.sumOfExps(in.b): // as in cosh
			return b.binary(opAdd, b.unary(opLog, in.a), b.unary(opLog, in.b))
		case in.op == opAdd && b.isValue(in.a, 1):
			return b.unary(opLog1p, in.b)
		case in.op == opSub && b.isValue(in.a, 1):
			return b.unary(opLog1p, b.neg(in.b))
		}
	case opLog1p:
		switch {
		case in.op == opExp:
			return b.unary(opSoftplus, in.a)
		case in.op == opExpm1:
			return in.a
		case in.op == opNeg && b.is(in.a, opSigmoid): // 1 - sigmoid(y) = sigmoid(-y)
			return b.neg(b.unary(opSoftplus, b.arg(in.a)))
		}
	case opSqrt:
		if in.op == opSquare { // sqrt(y^2) = |y|
			return b.unary(opAbs, in.a)
		}
	case opSquare, opAbs, opCos:
		if in.op == opNeg {
			x = in.a
		}
	}
	return b.put(instr{op: o, a: x})
}

// neg moves the sign into a constant, a constant factor or a difference, which is exact.
func (b *builder) neg(x int) int {
	in := b.code[x]
	switch {
	case in.op == opConst:
		return b.constant(-in.c)
	case in.op == opNeg:
		return in.a
	case in.op == opSub:
		return b.binary(opSub, in.b, in.a)
	case in.op == opMul && b.is(in.a, opConst):
		return b.scale(-b.code[in.a].c, in.b)
	}
	return b.put(instr{op: opNeg, a: x})
}

func (b *builder) pow(x int, c float64) int {
	if a, ok := b.isConst(x); ok {
		if v := math.Pow(a, c); finite(v) {
			return b.constant(v)
		}
	}
	switch c {
	case 0:
		return b.constant(1)
	case 1:
		return x
	case 2:
		return b.unary(opSquare, x)
	case -1:
		return b.binary(opDiv, b.constant(1), x)
	}
	return b.put(instr{op: opPow, a: x, c: c})
}

func (b *builder) binary(o op, x, y int) int {
	cx, okx := b.isConst(x)
	cy, oky := b.isConst(y)
	if okx && oky {
		if v := evalBinary(o, cx, cy); finite(v) {
			return b.constant(v)
		}
	}
	switch o {
	case opAdd:
		return b.add(x, y)
	case opSub:
		return b.sub(x, y)
	case opMul:
		return b.mul(x, y)
	case opDiv:
		return b.div(x, y)
	case opMax, opMin:
		if x == y {
			return x
		}
	case opGe, opGt:
		return b.compare(o, x, y)
	}
	return b.put(instr{op: o, a: x, b: y})
}

// where returns x if m is not 0, else y.
func (b *builder) where(m, x, y int) int {
	if c, ok := b.isConst(m); ok {
		if c != 0 {
			return x
		}
		return y
	}
	if x == y {
		return x
	}
	return b.put(instr{op: opWhere, a: x, b: y, m: m})
}

func (b *builder) add(x, y int) int {
	if b.is(y, opConst) {
		x, y = y, x // constants come first
	}
	switch {
	case b.isValue(x, 0):
		return y
	case b.isValue(x, 1) && b.is(y, opExpm1):
		return b.unary(opExp, b.arg(y))
	case b.is(y, opNeg):
		return b.binary(opSub, x, b.arg(y))
	case b.is(x, opNeg):
		return b.binary(opSub, y, b.arg(x))
	}
	if !b.is(x, opConst) && x > y {
		x, y = y, x
	}
	return b.put(instr{op: opAdd, a: x, b: y})
}

func (b *builder) sub(x, y int) int {
	switch {
	case b.isValue(y, 0):
		return x
	case b.isValue(x, 0):
		return b.neg(y)
	case b.is(y, opNeg):
		return b.binary(opAdd, x, b.arg(y))
	case b.is(x, opExp) && b.isValue(y, 1):
		return b.unary(opExpm1, b.arg(x))
	case b.isValue(x, 1) && b.is(y, opSigmoid):
		return b.unary(opSigmoid, b.neg(b.arg(y)))
	}
	return b.put(instr{op: opSub, a: x, b: y})
}

func (b *builder) mul(x, y int) int {
	c, factors := b.split(x)
	d, more := b.split(y)
	if !finite(c*d) || (c*d == 0 && c != 0 && d != 0) {
		return b.put(instr{op: opMul, a: x, b: y})
	}
	return b.product(c*d, append(factors, more...))
}

// product multiplies c and the factors. It first merges pairs of factors whose separate values may
// overflow or cancel. The order of the factors does not matter.
func (b *builder) product(c float64, factors []int) int {
	if c == 0 {
		return b.constant(0)
	}
	for i := 0; i < len(factors); i++ {
		for j := 0; j < len(factors); j++ {
			if i == j {
				continue
			}
			m, ok := b.merge(factors[i], factors[j])
			if !ok {
				continue
			}
			rest := []int{}
			for k, f := range factors {
				if k != i && k != j {
					rest = append(rest, f)
				}
			}
			d, more := b.split(m)
			return b.product(c*d, append(rest, more...))
		}
	}
	if len(factors) == 0 {
		return b.constant(c)
	}
	slices.Sort(factors)
	p := factors[0]
	for i := 1; i < len(factors); i++ {
		if factors[i] == p {
			p = b.unary(opSquare, p)
			continue
		}
		p = b.put(instr{op: opMul, a: p, b: factors[i]})
	}
	return b.scale(c, p)
}

// merge replaces e^x e^y by e^(x+y) and sigmoid(x) e^-x by sigmoid(-x).
func (b *builder) merge(f, g int) (int, bool) {
	if !b.is(g, opExp) {
		return 0, false
	}
	x, y := b.arg(f), b.arg(g)
	switch {
	case b.is(f, opExp):
		return b.unary(opExp, b.binary(opAdd, x, y)), true
	case b.is(f, opSigmoid) && b.neg(x) == y:
		return b.unary(opSigmoid, y), true
	}
	return 0, false
}

func (b *builder) div(x, y int) int {
	in := b.code[y]
	switch {
	case b.isValue(x, 0):
		return x
	case b.isValue(y, 1):
		return x
	case in.op == opNeg:
		return b.neg(b.binary(opDiv, x, in.a))
	case in.op == opConst && in.c < 0:
		return b.neg(b.binary(opDiv, x, b.constant(-in.c)))
	case in.op == opExp:
		return b.mul(x, b.unary(opExp, b.neg(in.a)))
	case in.op == opAdd && b.isValue(in.a, 1) && b.is(in.b, opExp):
		return b.mul(x, b.unary(opSigmoid, b.neg(b.arg(in.b))))
	}
	c, factors := b.split(x)
	if len(factors) == 0 || c == 1 || !finite(c) || c == 0 {
		return b.put(instr{op: opDiv, a: x, b: y})
	}
	return b.scale(c, b.put(instr{op: opDiv, a: b.product(1, factors), b: y}))
}

// U returns the variable u.
func U() Expr { return Expr{code: []instr{{op: opVar}}} }

// Const returns the constant c. It accepts a NaN or an infinity, and Check then rejects the
// expression.
func Const(c float64) Expr { return Expr{code: []instr{{op: opConst, c: c}}} }

// Neg returns -a.
func Neg(a Expr) Expr { return unary(opNeg, a) }

// Exp returns e^a.
func Exp(a Expr) Expr { return unary(opExp, a) }

// Log returns the natural logarithm of a.
func Log(a Expr) Expr { return unary(opLog, a) }

// Log1p returns log(1 + a).
func Log1p(a Expr) Expr { return unary(opLog1p, a) }

// Expm1 returns e^a - 1.
func Expm1(a Expr) Expr { return unary(opExpm1, a) }

// Tanh returns the hyperbolic tangent of a.
func Tanh(a Expr) Expr { return unary(opTanh, a) }

// Sigmoid returns 1/(1 + e^-a), without overflow.
func Sigmoid(a Expr) Expr { return unary(opSigmoid, a) }

// Softplus returns log(1 + e^a), without overflow.
func Softplus(a Expr) Expr { return unary(opSoftplus, a) }

// Sqrt returns the square root of a.
func Sqrt(a Expr) Expr { return unary(opSqrt, a) }

// Square returns a*a.
func Square(a Expr) Expr { return unary(opSquare, a) }

// Abs returns |a|. See Derivative for its slope at a = 0.
func Abs(a Expr) Expr { return unary(opAbs, a) }

// Sin returns the sine of a, in radians.
func Sin(a Expr) Expr { return unary(opSin, a) }

// Cos returns the cosine of a, in radians.
func Cos(a Expr) Expr { return unary(opCos, a) }

// Atan returns the arc tangent of a, in radians.
func Atan(a Expr) Expr { return unary(opAtan, a) }

// Erf returns the error function of a, 2/sqrt(pi) times the integral of e^(-t^2) from
// 0 to a.
func Erf(a Expr) Expr { return unary(opErf, a) }

// NormCDF returns (1 + erf(a/sqrt(2)))/2, the probability that a standard normal number
// is at most a. A small result also has full relative accuracy.
func NormCDF(a Expr) Expr { return unary(opNormCDF, a) }

// LogNormCDF returns log(NormCDF(a)), even where NormCDF(a) underflows.
func LogNormCDF(a Expr) Expr { return unary(opLogNormCDF, a) }

// Hazard returns the derivative of LogNormCDF at a: the standard normal density divided by NormCDF.
// It is the inverse of Mills' ratio at -a.
func Hazard(a Expr) Expr { return unary(opHazard, a) }

// Pow returns a^c with math.Pow's conventions.
func Pow(a Expr, c float64) Expr {
	b := newBuilder()
	return b.expr(b.pow(b.load(a), c))
}

// Add returns a + b.
func Add(a, b Expr) Expr { return combine(opAdd, a, b) }

// Sub returns a - b.
func Sub(a, b Expr) Expr { return combine(opSub, a, b) }

// Mul returns a * b.
func Mul(a, b Expr) Expr { return combine(opMul, a, b) }

// Div returns a / b.
func Div(a, b Expr) Expr { return combine(opDiv, a, b) }

// Max returns the larger of a and b. If a and b are equal, the derivative of Max is the derivative
// of a or of b (see Derivative).
func Max(a, b Expr) Expr { return combine(opMax, a, b) }

// Min returns the smaller of a and b. If a and b are equal, the derivative of Min is the derivative
// of a or of b (see Derivative).
func Min(a, b Expr) Expr { return combine(opMin, a, b) }

// Ge returns the mask that is 1 if a >= b and 0 otherwise. The derivative of a mask is 0. Check
// rejects a phi that jumps.
func Ge(a, b Expr) Expr { return combine(opGe, a, b) }

// Gt returns the mask that is 1 if a > b and 0 otherwise. The derivative of a mask is 0.
func Gt(a, b Expr) Expr { return combine(opGt, a, b) }

// Eq returns the mask that is 1 if a = b and 0 otherwise. The derivative of a mask is 0.
func Eq(a, b Expr) Expr { return combine(opEq, a, b) }

// Where returns a where the mask m is not 0, and b elsewhere. The branch that is not chosen may be
// undefined. The derivative of Where is the derivative of the chosen branch. At a point where the
// mask changes, it can be the derivative of the other branch (see Derivative). Check rejects a phi
// that jumps.
func Where(m, a, b Expr) Expr {
	w := newBuilder()
	return w.expr(w.where(w.load(m), w.load(a), w.load(b)))
}

func unary(o op, a Expr) Expr {
	b := newBuilder()
	return b.expr(b.unary(o, b.load(a)))
}

func combine(o op, x, y Expr) Expr {
	b := newBuilder()
	return b.expr(b.binary(o, b.load(x), b.load(y)))
}

// compare returns x >= y or x > y. It moves sums, differences and products of constants to the
// other side if that is exact: 0 >= 1 - u becomes u >= 1, whose mask has no rounding error.
func (b *builder) compare(o op, x, y int) int {
	for _, swapped := range []bool{false, true} {
		side, other := x, y
		if swapped {
			side, other = y, x
		}
		d, ok := b.isConst(other)
		if !ok {
			continue
		}
		if p, c, flip, ok := b.isolate(side, d); ok {
			if flip != swapped {
				p, c = c, p
			}
			return b.binary(o, p, c)
		}
	}
	return b.put(instr{op: o, a: x, b: y})
}
