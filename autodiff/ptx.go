package autodiff

// PTX returns GPU code that computes e in float32, as lines without indentation. The code uses the
// registers %phi0, %phi1, ... and the predicates %mask0, %mask1, ... PTX returns how many
// registers and how many predicates (masks) the code uses. The argument `in` is the name of the
// register that holds u. The code does not change this register. The argument `out` is the name of
// the register that gets the result. PTXRoundoff bounds the error of the code. There is no code
// for Atan, Erf and the functions of the normal law. If e contains one of these functions, the
// result is NaN, and the bound is not finite.
func (e Expr) PTX(in, out string) (lines []string, registers, masks int) {
	p := &ptxEmitter{in: in}
	code := e.instrs()
	for _, i := range code {
		p.names = append(p.names, p.emit(i))
	}
	p.line("mov.f32 %s, %s;", out, p.names[len(code)-1])
	return p.lines, p.registers, p.masks
}

// emit returns the name of the value of an instruction.
func (p *ptxEmitter) emit(i instr) string {
	if i.op == opConst {
		return single(i.c)
	}
	if i.op == opVar {
		return p.in
	}
	a := p.names[i.a]
	if i.op.binary() {
		return p.binary(i.op, a, p.names[i.b])
	}
	switch code := singles[i.op].code; {
	case i.op == opPow:
		return p.power(i.c, a)
	case i.op == opWhere:
		return p.op("selp.f32", a, p.names[i.b], p.mask("ne", p.names[i.m], single(0)))
	case code != nil:
		return code(p, a)
	}
	return single(nan) // without code; its error is infinite
}

func (p *ptxEmitter) binary(o op, a, b string) string {
	if name, ok := map[op]string{opGe: "ge", opGt: "gt", opEq: "eq"}[o]; ok {
		return p.op("selp.f32", single(1), single(0), p.mask(name, a, b))
	}
	return p.op(map[op]string{opAdd: "add.rn.f32", opSub: "sub.rn.f32", opMul: "mul.rn.f32", opDiv: "div.rn.f32",
		opMax: "max.f32", opMin: "min.f32"}[o], a, b)
}

// PTXRoundoff is Program.Roundoff for the code of PTX. It bounds |computed - exact| over all
// float32 u in the interval. It returns +Inf if no bound was found or if a value may leave the
// range of float32.
func (e Expr) PTXRoundoff(on Interval) float64 {
	if !validRange(on) {
		return inf
	}
	r := newRounding(e)
	r.single = true
	return r.largest(on)
}
