package autodiff

import "slices"

// Program evaluates an Expr on blocks of values. It is immutable. It is safe for concurrent use if
// each call has its own scratch.
//
// A Program is a list of steps on slots of programBlock values. A code generator for another
// machine can walk steps and constants in order.
type Program struct {
	expr  Expr
	steps []step
	slots int // number of slots, including the input, which is not in scratch
	fills []fill
}

// fill is a slot that holds a constant through the whole evaluation.
type fill struct {
	slot int
	c    float64
}

// Compile returns the program of e. Its results differ from Expr.Eval's by rounding errors.
// Roundoff bounds the difference from exact arithmetic.
func (e Expr) Compile() *Program {
	c := &compiler{code: slices.Clone(e.instrs()), p: &Program{expr: e, slots: 1}}
	c.fuse()
	c.run()
	return c.p
}

// compiler assigns slots. A slot becomes free after the last use of its value.
type compiler struct {
	code    []instr
	in, out []float64 // signs of sigmoids
	p       *Program
	slot    []int // slot of each instruction, -1 if it has none
	uses    []int // number of uses that remain; 0 at first if the value is not needed
	free    []int
	fixed   map[int]bool // slots of constants
}

// fuse moves negations into sigmoids and counts the remaining uses.
func (c *compiler) fuse() {
	n := len(c.code)
	c.in, c.out, c.uses = make([]float64, n), make([]float64, n), make([]int, n)
	for _, in := range c.code {
		in.rename(func(k int) int { c.uses[k]++; return k })
	}
	for i, in := range c.code {
		c.in[i], c.out[i] = 1, 1
		if in.op.leaf() {
			continue
		}
		a := c.code[in.a]
		switch {
		case in.op == opSigmoid && a.op == opNeg:
			c.code[i].a, c.in[i] = a.a, -1
		case in.op == opNeg && a.op == opSigmoid && c.uses[in.a] == 1:
			c.code[i], c.in[i], c.out[i] = a, c.in[in.a], -1
		}
	}
	clear(c.uses)
	c.uses[n-1] = 1
	for i := n - 1; i >= 0; i-- {
		if c.uses[i] > 0 {
			c.code[i].rename(func(k int) int { c.uses[k]++; return k })
		}
	}
}

func (c *compiler) run() {
	n := len(c.code)
	c.slot, c.fixed = make([]int, n), make(map[int]bool)
	for i, in := range c.code {
		if c.uses[i] == 0 {
			continue
		}
		switch in.op {
		case opConst:
			c.slot[i] = -1
			if i == n-1 {
				c.slot[i] = c.constant(in.c)
			}
			continue
		case opVar:
			c.slot[i] = 0
			continue
		}
		s := step{op: in.op, a: c.operand(in.a), b: -1, m: -1, k: in.c, in: c.in[i], out: c.out[i]}
		if in.op.binary() {
			s = c.binary(in)
		}
		if in.op == opWhere {
			s.b, s.m = c.operand(in.b), c.operand(in.m)
		}
		in.rename(func(k int) int { c.release(k); return k })
		s.dst = c.take()
		c.slot[i] = s.dst
		c.p.steps = append(c.p.steps, s)
	}
	// The result must not be the input or a constant, which are not copied.
	if last := c.slot[n-1]; last == 0 || c.fixed[last] {
		c.p.steps = append(c.p.steps, step{op: opAdd, dst: c.take(), a: last, b: -1, m: -1})
	}
}

// binary returns the step of a binary operation. One constant operand is in the step and needs no
// slot.
func (c *compiler) binary(in instr) step {
	s := step{op: in.op, a: -1, b: -1, m: -1}
	x, y := c.code[in.a], c.code[in.b]
	switch {
	case in.op == opEq || x.op == opConst && y.op == opConst:
		s.a, s.b = c.operand(in.a), c.operand(in.b)
	case x.op == opConst:
		s.k, s.b = x.c, c.operand(in.b)
	case y.op == opConst:
		s.k, s.a = y.c, c.operand(in.a)
	default:
		s.a, s.b = c.operand(in.a), c.operand(in.b)
	}
	return s
}

// operand returns the slot of instruction i.
func (c *compiler) operand(i int) int {
	if c.slot[i] < 0 {
		c.slot[i] = c.constant(c.code[i].c)
	}
	return c.slot[i]
}

func (c *compiler) constant(v float64) int {
	s := c.p.slots
	c.p.slots++
	c.fixed[s] = true
	c.p.fills = append(c.p.fills, fill{s, v})
	return s
}

func (c *compiler) release(i int) {
	c.uses[i]--
	if s := c.slot[i]; c.uses[i] == 0 && s > 0 && !c.fixed[s] {
		c.free = append(c.free, s)
	}
}

func (c *compiler) take() int {
	if n := len(c.free); n > 0 {
		s := c.free[n-1]
		c.free = c.free[:n-1]
		return s
	}
	c.p.slots++
	return c.p.slots - 1
}

// ScratchLen returns the length of the scratch that Eval needs.
func (p *Program) ScratchLen() int { return (p.slots - 1) * programBlock }

// Eval sets dst[i] to the value at u[i]:
//
//	for i := range u {
//		dst[i] = e.Eval(u[i])
//	}
//
// up to rounding, which Roundoff bounds. dst[i] is a function of u[i] alone, bit for bit. It
// depends neither on the index i nor on the other numbers of u, because every step computes every
// value separately, in one loop. dst must have the length of u and may be u. scratch must have at
// least ScratchLen elements, which no other call uses at the same time. Its content does not
// matter. If it is nil, Eval allocates it. Eval panics on wrong lengths.
func (p *Program) Eval(dst, u, scratch []float64) {
	if len(dst) != len(u) {
		panic("autodiff: Program.Eval: dst and u differ in length")
	}
	if scratch == nil {
		scratch = make([]float64, p.ScratchLen())
	}
	scratch = scratch[:p.ScratchLen()]
	block := min(programBlock, len(u))
	for _, f := range p.fills {
		s := scratch[(f.slot-1)*programBlock:][:block]
		for i := range s {
			s[i] = f.c
		}
	}
	last := len(p.steps) - 1
	for len(u) > 0 {
		n := min(programBlock, len(u))
		frame := frame{u[:n], scratch}
		for _, s := range p.steps[:last] {
			s.run(frame.slot(s.dst), &frame)
		}
		p.steps[last].run(dst[:n], &frame)
		dst, u = dst[n:], u[n:]
	}
}
