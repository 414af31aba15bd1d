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

// PTX returns code for GPUs that computes e in float32: lines without indentation,
// which use the registers %phi0, %phi1, ... and the predicates %mask0, ... below the
// given numbers. in and out are names of registers; in is not written. It is false for
// an operation without code: logarithms, sines, and powers that are not small whole
// numbers. PTXRoundoff bounds its error.
func (e Expr) PTX(in, out string) (lines []string, registers, masks int, ok bool) {
	p := &ptxEmitter{in: in}
	code := e.instrs()
	for _, i := range code {
		name, ok := p.emit(i)
		if !ok {
			return nil, 0, 0, false
		}
		p.names = append(p.names, name)
	}
	p.line("mov.f32 %s, %s;", out, p.names[len(code)-1])
	return p.lines, p.registers, p.masks, true
}

type ptxEmitter struct {
	in               string
	lines, names     []string // names of the values of all instructions
	registers, masks int
}

func (p *ptxEmitter) line(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

// op emits one instruction and returns the register of its result.
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

// power2 is 2^(c x).
func (p *ptxEmitter) power2(c float64, x string) string {
	return p.op("ex2.approx.ftz.f32", p.op("mul.rn.f32", x, single(c)))
}

func (p *ptxEmitter) sigmoid(c float64, x string) string {
	return p.op("rcp.approx.ftz.f32", p.op("add.rn.f32", p.power2(-c*math.Log2E, x), single(1)))
}

func (p *ptxEmitter) emit(i instr) (string, bool) {
	operand := func(k int) string { return p.names[k] }
	switch i.op {
	case opConst:
		return single(i.c), true
	case opVar:
		return p.in, true
	case opNeg:
		return p.op("neg.f32", p.op("mov.f32", operand(i.a))), true
	case opAbs:
		return p.op("abs.f32", p.op("mov.f32", operand(i.a))), true
	case opExp:
		return p.power2(math.Log2E, operand(i.a)), true
	case opSigmoid:
		return p.sigmoid(1, operand(i.a)), true
	case opTanh: // 2 sigm(2x) - 1
		return p.op("fma.rn.f32", p.sigmoid(2, operand(i.a)), single(2), single(-1)), true
	case opSquare:
		return p.op("mul.rn.f32", operand(i.a), operand(i.a)), true
	case opSqrt:
		return p.op("sqrt.rn.f32", operand(i.a)), true
	case opPow:
		return p.wholePower(i)
	case opAdd, opSub, opMul, opDiv, opMax, opMin:
		name := map[op]string{opAdd: "add.rn.f32", opSub: "sub.rn.f32", opMul: "mul.rn.f32", opDiv: "div.rn.f32", opMax: "max.f32", opMin: "min.f32"}[i.op]
		return p.op(name, operand(i.a), operand(i.b)), true
	case opGe, opGt, opEq:
		m := p.mask(map[op]string{opGe: "ge", opGt: "gt", opEq: "eq"}[i.op], operand(i.a), operand(i.b))
		return p.op("selp.f32", single(1), single(0), m), true
	case opWhere:
		return p.op("selp.f32", operand(i.a), operand(i.b), p.mask("ne", operand(i.m), single(0))), true
	}
	return "", false
}

func (p *ptxEmitter) mask(compare, a, b string) string {
	m := fmt.Sprintf("%%mask%d", p.masks)
	p.masks++
	p.line("setp.%s.f32 %s, %s, %s;", compare, m, a, b)
	return m
}

// largestSinglePower is the largest exponent of a power with code.
const largestSinglePower = 16

func (p *ptxEmitter) wholePower(i instr) (string, bool) {
	if i.c != math.Trunc(i.c) || i.c < 1 || i.c > largestSinglePower {
		return "", false
	}
	x := p.names[i.a]
	r := x
	for range int(i.c) - 1 {
		r = p.op("mul.rn.f32", r, x)
	}
	return r, true
}

// PTXRoundoff is Program.Roundoff for the code of PTX: it bounds |computed - exact| over
// all float32 u in the interval; +Inf if no bound was found, if a value may leave the
// range of float32, or if there is no code.
func (e Expr) PTXRoundoff(on Interval) float64 {
	if _, _, _, ok := e.PTX("", ""); !ok || !validRange(on) {
		return inf
	}
	r := newRounding(e)
	r.single = true
	bound, _ := maximise([]Interval{on}, func(c Interval) (float64, float64) {
		return r.bound(c), r.bound(Point(c.middle()))
	}, func(best float64) float64 { return math.Max(best, 0) }, roundoffWork)
	return bound
}

// leafSingle is the error of a constant, which is rounded to float32.
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
	case opExp:
		if a.Abs() > 64 {
			return 0, inf
		}
		// 2 |x| roundoffs of the argument, exp(t) - 1 <= 1.001 t, and that of ex2.
		return 1.001 * (2*a.Abs()*singleRoundoff + kernels.ExponentError), singleTiny
	case opPow:
		// Every product is below |a|^c, or below 1.
		size := math.Max(1, math.Pow(a.Abs(), in.c))
		if !(size < singleLargest) {
			return 0, inf
		}
		return in.c * singleRoundoff * (1 + 0x1p-10), in.c * singleTiny * size
	}
	return singleRoundoff, singleTiny
}
