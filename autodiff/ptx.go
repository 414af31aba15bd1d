package autodiff

import (
	"fmt"
	"math"

	"dyad/kernels"
)

const (
	singleRoundoff = 0x1p-24
	singleTiny     = 0x1p-126 // results below it may become 0
	// singleLargest bounds values, so that nothing overflows.
	singleLargest = 0x1p100
)

// PTX returns GPU code that computes e in float32, as lines without indentation. The code uses the
// registers %phi0, %phi1, ... below the returned number of registers, and the predicates %mask0,
// ... below the returned number of masks. in and out are names of registers; in is not written.
// PTXRoundoff bounds the error of the code. If e contains Atan, Erf or a function of the normal
// law, there is no code for it: the result is NaN, and the bound is not finite.
func (e Expr) PTX(in, out string) (lines []string, registers, masks int) {
	p := &ptxEmitter{in: in}
	code := e.instrs()
	for _, i := range code {
		p.names = append(p.names, p.emit(i))
	}
	p.line("mov.f32 %s, %s;", out, p.names[len(code)-1])
	return p.lines, p.registers, p.masks
}

type ptxEmitter struct {
	in               string
	lines, names     []string // names of the values of all instructions
	registers, masks int
}

func (p *ptxEmitter) line(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

// op emits one instruction and returns its result register.
func (p *ptxEmitter) op(name string, operands ...string) string {
	r := fmt.Sprintf("%%phi%d", p.registers)
	p.registers++
	text := r
	for _, o := range operands {
		text += ", " + o
	}
	p.line("%s %s;", name, text)
	return r
}

func single(c float64) string { return fmt.Sprintf("0f%08X", math.Float32bits(float32(c))) }

// power2 emits 2^(c x).
func (p *ptxEmitter) power2(c float64, x string) string {
	return p.op("ex2.approx.ftz.f32", p.op("mul.rn.f32", x, single(c)))
}

func (p *ptxEmitter) sigmoid(c float64, x string) string {
	return p.op("rcp.approx.ftz.f32", p.op("add.rn.f32", p.power2(-c*math.Log2E, x), single(1)))
}

// singles holds the code of the operations with one operand and the bounds of its error, on an interval that
// contains the computed operand. Operations without code have the zero value. opPow needs more than the operand.
var singles = [opWhere + 1]struct {
	code  func(p *ptxEmitter, x string) string
	error func(a Interval) (relative, absolute float64)
}{
	opNeg:      {func(p *ptxEmitter, x string) string { return p.op("neg.f32", p.op("mov.f32", x)) }, always(0, 0)},
	opAbs:      {func(p *ptxEmitter, x string) string { return p.op("abs.f32", p.op("mov.f32", x)) }, always(0, 0)},
	opExp:      {(*ptxEmitter).exp, expError},
	opExpm1:    {(*ptxEmitter).expm1, expm1Error},
	opLog:      {(*ptxEmitter).log, logError},
	opLog1p:    {(*ptxEmitter).log1p, log1pError},
	opSigmoid:  {func(p *ptxEmitter, x string) string { return p.sigmoid(1, x) }, always(0, kernels.SigmoidError)},
	opTanh:     {(*ptxEmitter).tanh, always(0, 2*kernels.SigmoidError+singleRoundoff)},
	opSoftplus: {(*ptxEmitter).softplus, always(1.1*singleRoundoff, softplusSingle*singleRoundoff)},
	opSquare:   {func(p *ptxEmitter, x string) string { return p.op("mul.rn.f32", x, x) }, always(singleRoundoff, singleTiny)},
	opSqrt:     {func(p *ptxEmitter, x string) string { return p.op("sqrt.rn.f32", x) }, always(singleRoundoff, singleTiny)},
	opSin:      {func(p *ptxEmitter, x string) string { return p.trig(false, x) }, trigErrorSingle},
	opCos:      {func(p *ptxEmitter, x string) string { return p.trig(true, x) }, trigErrorSingle},
}

func always(relative, absolute float64) func(Interval) (float64, float64) {
	return func(Interval) (float64, float64) { return relative, absolute }
}

// tanh emits 2 sigm(2x) - 1. The constant of twice the size has the same relative error.
func (p *ptxEmitter) tanh(x string) string {
	return p.op("fma.rn.f32", p.sigmoid(2, x), single(2), single(-1))
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

func (p *ptxEmitter) nextMask() string {
	m := fmt.Sprintf("%%mask%d", p.masks)
	p.masks++
	return m
}

func (p *ptxEmitter) mask(compare, a, b string) string {
	m := p.nextMask()
	p.line("setp.%s.f32 %s, %s, %s;", compare, m, a, b)
	return m
}

// largestSinglePower is the largest exponent of a power that is computed by products.
const largestSinglePower = 16

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

// leafSingle returns the error of a constant, which is rounded to float32.
func leafSingle(in instr) float64 {
	if in.op != opConst || float64(float32(in.c)) == in.c {
		return 0
	}
	return math.Abs(in.c)*singleRoundoff + singleTiny
}

// ownSingle is own for the code of PTX.
func (r *rounding) ownSingle(in instr) (relative, absolute float64) {
	a := r.float.v[in.a]
	if a.undefined() || !(a.Abs() < singleLargest) {
		return 0, inf
	}
	if of := singles[in.op].error; of != nil {
		return of(a)
	}
	switch in.op {
	case opMax, opMin, opWhere, opGe, opGt, opEq:
		return 0, 0
	case opAdd, opSub, opMul, opDiv:
		return singleRoundoff, singleTiny
	case opPow:
		return powerError(in.c, a)
	}
	return 0, inf
}
