package autodiff

import (
	"fmt"
	"math"

	"dyad/kernels"
)

// This file has the code of functions that GPUs lack or only approximate. Errors are in units of w
// = singleRoundoff: a relative error is relative to the result, other errors are absolute.

const (
	// logSingle is the error of lg2.approx.ftz.f32 for normal x > 0: absolute if |log2 x| < 1, and
	// relative otherwise (PTX manual: 2^-22).
	logSingle = 4
	// largestExponent bounds the argument of exp.
	largestExponent = 64
	// largestAngle bounds the argument of sin and cos.
	largestAngle = 1 << 10
	// trigSingle is the absolute error of sin and cos (see ptxEmitter.trig).
	trigSingle = 8
)

// exp emits e^x.
func (p *ptxEmitter) exp(x string) string { return p.power2(math.Log2E, x) }

// log emits log x = log2 x ln 2. Two roundings follow lg2.
func (p *ptxEmitter) log(x string) string {
	return p.op("mul.rn.f32", p.op("lg2.approx.ftz.f32", x), single(math.Ln2))
}

// logError returns bounds of the error of log on [a.Lo, a.Hi].
func logError(a Interval) (relative, absolute float64) {
	if !(a.Lo >= singleTiny) {
		return 0, inf
	}
	return (logSingle + 2.1) * singleRoundoff, logSingle * math.Ln2 * singleRoundoff
}

// log1p emits log(1 + x). The sum is rounded, which moves the logarithm by w.
func (p *ptxEmitter) log1p(x string) string { return p.log(p.op("add.rn.f32", x, single(1))) }

func log1pError(a Interval) (relative, absolute float64) {
	if !(a.Lo > -1+0x1p-20) {
		return 0, inf
	}
	relative, absolute = logError(Interval{0x1p-21, math.Max(a.Hi, 0) + 1})
	return relative, absolute + 1.1*singleRoundoff
}

// expm1 emits e^x - 1, with the error of e^x and one rounding.
func (p *ptxEmitter) expm1(x string) string { return p.op("add.rn.f32", p.exp(x), single(-1)) }

func expm1Error(a Interval) (relative, absolute float64) {
	relative, absolute = expError(a)
	return 1.1 * singleRoundoff, relative*a.exp().Hi + absolute
}

// expError returns bounds of the error of exp. The argument causes 2 |x| units, since e^t - 1 <=
// 1.001 t, and ex2 causes 8 units. Below -64 both the exact and the computed value are under 1.1
// e^-64.
func expError(a Interval) (relative, absolute float64) {
	if !(a.Hi <= largestExponent) {
		return 0, inf
	}
	absolute = singleTiny
	if a.Lo < -largestExponent {
		absolute = 1.1 * math.Exp(-largestExponent)
	}
	return 1.001 * (2*math.Min(a.Abs(), largestExponent) + 8) * singleRoundoff, absolute
}

// softplus emits log(1 + e^x) = max(x, 0) + log(1 + e^-|x|).
//
// Error: the error of e^-|x| is 2 |x| + 8 units, with |x| e^-|x| < 0.37. That is less than 8.8 in
// all, and log1p does not enlarge it. The error of log1p itself is at most 2.8 + 1.1 + 6.1 log 2 <
// 8.2, and the error of the sum is 1. An e^-|x| that becomes 0 is below 2^-126.
func (p *ptxEmitter) softplus(x string) string {
	e := p.exp(p.op("neg.f32", p.op("abs.f32", p.op("mov.f32", x))))
	return p.op("add.rn.f32", p.op("max.f32", p.op("mov.f32", x), single(0)), p.log1p(e))
}

const softplusSingle = 18 // absolute; 1.1 relative

// reciprocal emits 1/x, rounded to nearest.
func (p *ptxEmitter) reciprocal(x string) string { return p.op("div.rn.f32", single(1), x) }

// power emits x^c: repeated products for a small integer |c|, otherwise 2^(c log2 x).
func (p *ptxEmitter) power(c float64, x string) string {
	if n := math.Abs(c); wholePower(n) {
		r := x
		for range int(n) - 1 {
			r = p.op("mul.rn.f32", r, x)
		}
		if c < 0 {
			r = p.reciprocal(r)
		}
		return r
	}
	return p.op("ex2.approx.ftz.f32", p.op("mul.rn.f32", p.op("lg2.approx.ftz.f32", x), single(c)))
}

// wholePower reports whether x^c is computed by products.
func wholePower(c float64) bool {
	return c == math.Trunc(c) && c >= 1 && c <= largestSinglePower
}

// powerError returns bounds of the error of power. Every product is below |a|^c, or below 1, and
// loses w and at most singleTiny. A reciprocal adds w; if the power is far from 0, no product
// underflows. Without products, the exponent c log2 x has the error of the logarithm and two
// roundings. The power of two multiplies this error by log 2, and ex2 adds 8 w.
func powerError(c float64, a Interval) (relative, absolute float64) {
	if n := math.Abs(c); wholePower(n) {
		size := math.Max(1, math.Pow(a.Abs(), n))
		if !(size < singleLargest) {
			return 0, inf
		}
		relative, absolute = n*singleRoundoff*(1+0x1p-10), n*singleTiny*size
		if c < 0 {
			if !(a.pow(n).least() > 0x1p-60) {
				return 0, inf
			}
			relative, absolute = (n+1.1)*singleRoundoff, singleTiny
		}
		return relative, absolute
	}
	if !(a.Lo >= singleTiny) {
		return 0, inf
	}
	log := a.log().Abs() / math.Ln2 * (1 + 0x1p-20)
	if !(math.Abs(c)*log < 100) {
		return 0, inf
	}
	return 1.001 * (math.Abs(c)*math.Ln2*(logSingle*math.Max(1, log)+2.1*log) + 8) * singleRoundoff, singleTiny
}

// trig emits sin x or cos x, for |x| <= largestAngle. It first finds k, the integer nearest to x
// 2/pi up to rounding, and x - k pi/2.
//
// Error: adding 1.5 2^23 rounds x 2/pi to an integer k, and the sum ends in the last two bits of k.
// The product has an error below 2^-13, so |x - k pi/2| < 0.7857. Pi/2 is the sum of three floats
// up to 2^-76, and k < 2^10. Each of the three fused operations leaves a rounded number below 0.79
// (the first two differ from the last by less than 2^-15), so r is within 2.4 w. The series to r^9
// is within r^11/11! < 0.04 w of sin r, and the series to r^10 is within r^12/12! of cos r.
// Horner's rule uses fused operations. It gives sin r = r + r s P with |r s P| < 0.082 within 7 w
// relatively, and a rounding of at most 0.71 w. It gives cos r = 1 + s Q with |s Q| < 0.31 within 5
// w, and a rounding of at most w. In all the error is less than 5.1 w.
func (p *ptxEmitter) trig(cosine bool, x string) string {
	const shift = 0x1.8p23
	t := p.op("fma.rn.f32", x, single(2/math.Pi), single(shift))
	k := p.op("sub.rn.f32", t, single(shift))
	r := x
	for _, part := range []float64{0x1.921fb6p0, -0x1.777a5cp-25, -0x1.ee59dap-50} { // pi/2
		r = p.op("fma.rn.f32", k, single(-part), r)
	}
	s := p.op("mul.rn.f32", r, r)
	series := func(first int) string { // sum of s^i / ((2i + first)!) with signs, from i = 1
		terms := 4 + (1 - first%2) // sine to r^9, cosine to r^10
		sum := ""
		for i := terms; i >= 1; i-- {
			v := 1.0
			for f := 2; f <= 2*i+first; f++ {
				v /= float64(f)
			}
			if i%2 == 1 {
				v = -v
			}
			if sum == "" {
				sum = p.op("mov.f32", single(v))
			} else {
				sum = p.op("fma.rn.f32", sum, s, single(v))
			}
		}
		return sum
	}
	sine := p.op("fma.rn.f32", p.op("mul.rn.f32", r, s), series(1), r)
	cos := p.op("fma.rn.f32", s, series(0), single(1))
	odd := p.maskBits("ne", p.op("and.b32", t, "1"), "0")
	sign := p.op("shl.b32", p.op("and.b32", t, "2"), "30")
	if cosine { // cos x = sin (x + pi/2): the sign changes for k = 1, 2 modulo 4
		sine, cos = cos, sine
		sign = p.op("xor.b32", sign, p.op("shl.b32", t, "31"))
	}
	return p.op("xor.b32", p.op("selp.f32", cos, sine, odd), sign)
}

func trigErrorSingle(a Interval) (relative, absolute float64) {
	if !(a.Abs() <= largestAngle) {
		return 0, inf
	}
	return 0, trigSingle * singleRoundoff
}

// maskBits compares 32 bits.
func (p *ptxEmitter) maskBits(compare, a, b string) string {
	m := p.nextMask()
	p.line("setp.%s.b32 %s, %s, %s;", compare, m, a, b)
	return m
}

const (
	singleRoundoff = 0x1p-24
	singleTiny     = 0x1p-126 // results below it may become 0
	// singleLargest bounds values, so that nothing overflows.
	singleLargest = 0x1p100
)

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
	opSquare: {func(p *ptxEmitter, x string) string { return p.op("mul.rn.f32", x, x) },
		always(singleRoundoff, singleTiny)},
	opSqrt: {func(p *ptxEmitter, x string) string { return p.op("sqrt.rn.f32", x) },
		always(singleRoundoff, singleTiny)},
	opSin: {func(p *ptxEmitter, x string) string { return p.trig(false, x) }, trigErrorSingle},
	opCos: {func(p *ptxEmitter, x string) string { return p.trig(true, x) }, trigErrorSingle},
}

func always(relative, absolute float64) func(Interval) (float64, float64) {
	return func(Interval) (float64, float64) { return relative, absolute }
}

// tanh emits 2 sigm(2x) - 1. The constant of twice the size has the same relative error.
func (p *ptxEmitter) tanh(x string) string {
	return p.op("fma.rn.f32", p.sigmoid(2, x), single(2), single(-1))
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

// leafSingle returns the error of a constant, which is rounded to float32.
func leafSingle(in instr) float64 {
	if in.op != opConst || float64(float32(in.c)) == in.c {
		return 0
	}
	return math.Abs(in.c)*singleRoundoff + singleTiny
}

// ownSingle is own for the code of PTX.
func (in instr) ownSingle(a Interval) (relative, absolute float64) {
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
