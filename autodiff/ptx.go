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
	switch i.op {
	case opNeg:
		return p.op("neg.f32", p.op("mov.f32", a))
	case opAbs:
		return p.op("abs.f32", p.op("mov.f32", a))
	case opExp:
		return p.exp(a)
	case opExpm1:
		return p.expm1(a)
	case opLog:
		return p.log(a)
	case opLog1p:
		return p.log1p(a)
	case opSigmoid:
		return p.sigmoid(1, a)
	case opTanh: // 2 sigm(2x) - 1
		return p.op("fma.rn.f32", p.sigmoid(2, a), single(2), single(-1))
	case opSoftplus:
		return p.softplus(a)
	case opSquare:
		return p.op("mul.rn.f32", a, a)
	case opSqrt:
		return p.op("sqrt.rn.f32", a)
	case opSin, opCos:
		return p.trig(i.op == opCos, a)
	case opPow:
		return p.power(i.c, a)
	case opAtan, opErf, opNormCDF, opLogNormCDF, opHazard:
		return single(nan)
	}
	// opWhere
	return p.op("selp.f32", a, p.names[i.b], p.mask("ne", p.names[i.m], single(0)))
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
	bound, _ := maximise([]Interval{on}, func(c Interval) (float64, float64) {
		return r.bound(c), r.bound(Point(c.middle()))
	}, func(best float64) float64 { return math.Max(best, 0) }, roundoffWork)
	return bound
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
	switch in.op {
	case opNeg, opAbs, opMax, opMin, opWhere, opGe, opGt, opEq:
		return 0, 0
	case opSigmoid:
		return 0, kernels.SigmoidError
	case opTanh: // 2 sigm(2x) - 1: the constant of twice the size has the same relative error
		return 0, 2*kernels.SigmoidError + singleRoundoff
	case opSoftplus:
		return 1.1 * singleRoundoff, softplusSingle * singleRoundoff
	case opExp:
		return expError(a)
	case opExpm1:
		return expm1Error(a)
	case opLog:
		return logError(a)
	case opLog1p:
		return log1pError(a)
	case opSin, opCos:
		return trigErrorSingle(a)
	case opPow:
		return powerError(in.c, a)
	case opAtan, opErf, opNormCDF, opLogNormCDF, opHazard:
		return 0, inf
	}
	return singleRoundoff, singleTiny
}
