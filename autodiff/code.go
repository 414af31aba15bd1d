package autodiff

import "math"

// builder appends instructions, each at most once, and simplifies them. Every rule holds for all
// real u at which the replaced form is defined.
type builder struct {
	code []instr
	ids  map[key]int
	// aligned and ties belong to derivative: aligned tells whether ties are aligned, and ties holds
	// the u at which a tie of Where was aligned.
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

// sumOfExps reports whether x is e^y + e^z.
func (b *builder) sumOfExps(x int) bool {
	in := b.code[x]
	return in.op == opAdd && b.is(in.a, opExp) && b.is(in.b, opExp)
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
