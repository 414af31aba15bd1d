package autodiff

import (
	"math"
	"slices"
)

// builder appends instructions, each at most once, and simplifies them. Every rule holds for all
// real u at which the replaced form is defined.
type builder struct {
	code []instr
	ids  map[key]int
	// derivative uses aligned and ties. If aligned is true, ties are aligned. ties holds the u at
	// which a tie of a Where was aligned.
	aligned bool
	ties    []float64
}

type key struct {
	op      op
	a, b, m int
	bits    uint64 // bits of c, so that NaN equals itself and -0 differs from 0
}

func newBuilder() *builder { return &builder{ids: make(map[key]int)} }

func (b *builder) put(in instr) int {
	k := key{in.op, in.a, in.b, in.m, math.Float64bits(in.c)}
	if id, ok := b.ids[k]; ok {
		return id
	}
	b.code = append(b.code, in)
	b.ids[k] = len(b.code) - 1
	return len(b.code) - 1
}

// load copies e and returns the index of its result.
func (b *builder) load(e Expr) int {
	code := e.instrs()
	ids := make([]int, len(code))
	for i, in := range code {
		ids[i] = b.put(in.rename(func(k int) int { return ids[k] }))
	}
	return ids[len(ids)-1]
}

// expr returns the expression of instruction root without unused instructions.
func (b *builder) expr(root int) Expr {
	used := make([]bool, root+1)
	used[root] = true
	for i := root; i >= 0; i-- {
		if used[i] {
			b.code[i].rename(func(k int) int { used[k] = true; return k })
		}
	}
	ids := make([]int, root+1)
	var code []instr
	for i, in := range b.code[:root+1] {
		if !used[i] {
			continue
		}
		ids[i] = len(code)
		code = append(code, in.rename(func(k int) int { return ids[k] }))
	}
	return Expr{code: code}
}

func (b *builder) constant(c float64) int { return b.put(instr{op: opConst, c: c}) }

// isConst returns the value of x if it is a constant.
func (b *builder) isConst(x int) (float64, bool) {
	return b.code[x].c, b.code[x].op == opConst
}

func (b *builder) is(x int, o op) bool { return b.code[x].op == o }

func (b *builder) isValue(x int, c float64) bool {
	v, ok := b.isConst(x)
	return ok && v == c
}

func (b *builder) arg(x int) int { return b.code[x].a }

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

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

// sumOfExps reports whether x is e^y + e^z.
func (b *builder) sumOfExps(x int) bool {
	in := b.code[x]
	return in.op == opAdd && b.is(in.a, opExp) && b.is(in.b, opExp)
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

// scale returns c times a product without a constant factor.
func (b *builder) scale(c float64, x int) int {
	switch {
	case c == 0:
		return b.constant(0)
	case c == 1:
		return x
	case c == -1:
		return b.put(instr{op: opNeg, a: x})
	}
	return b.put(instr{op: opMul, a: b.constant(c), b: x})
}

// split writes x as c times a product of factors.
func (b *builder) split(x int) (c float64, factors []int) {
	in := b.code[x]
	switch in.op {
	case opConst:
		return in.c, nil
	case opNeg:
		c, factors = b.split(in.a)
		return -c, factors
	case opMul:
		c, factors = b.split(in.a)
		d, more := b.split(in.b)
		return c * d, append(factors, more...)
	}
	return 1, []int{x}
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
