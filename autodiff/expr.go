package autodiff

import "math"

// op is the operation of one instruction.
type op uint8

const (
	opConst op = iota
	opVar

	opNeg
	opExp
	opLog
	opLog1p
	opExpm1
	opTanh
	opSigmoid
	opSoftplus
	opSqrt
	opSquare
	opAbs
	opSin
	opCos
	opAtan
	opErf
	opNormCDF // distribution function of the standard normal law
	opLogNormCDF
	opHazard // normal density divided by opNormCDF
	opPow    // a to the constant power c

	opAdd
	opSub
	opMul
	opDiv
	opMax
	opMin
	opGe // 1 if a >= b, else 0
	opGt
	opEq

	opWhere // a if m is not 0, else b
)

// binary reports whether o has exactly the operands a and b.
func (o op) binary() bool { return o >= opAdd && o < opWhere }

// mask reports whether the values of o are 0 and 1.
func (o op) mask() bool { return o == opGe || o == opGt || o == opEq }

// leaf reports whether o has no operand.
func (o op) leaf() bool { return o <= opVar }

// instr computes one value from earlier values. a, b and m are indices of earlier instructions. c
// is the value of a constant or the exponent of a power.
type instr struct {
	op      op
	a, b, m int
	c       float64
}

// rename returns in with its operands renamed.
func (in instr) rename(name func(int) int) instr {
	if !in.op.leaf() {
		in.a = name(in.a)
	}
	if in.op.binary() || in.op == opWhere {
		in.b = name(in.b)
	}
	if in.op == opWhere {
		in.m = name(in.m)
	}
	return in
}

// Expr is an immutable real function phi(u) of one variable. It is stored as straight-line code in
// which equal subexpressions occur once. The zero Expr is the constant 0. Exprs are safe for
// concurrent use.
//
// The functions that build an Expr fold constants. They replace forms that lose digits or overflow
// by stable forms that are equal for all real u: for example log(1+exp(x)) becomes softplus(x), and
// exp(x)/(1+exp(x)) becomes sigmoid(x). A product with the constant 0 becomes 0, even if the other
// factor is infinite or undefined.
type Expr struct {
	code []instr // the last instruction is the result
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

// NormCDF returns the probability that a standard normal number is at most a, (1 +
// erf(a/sqrt(2)))/2. It has full relative accuracy even where it is small.
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

// Max returns the larger of a and b. Where they are equal, its derivative is the derivative of one
// of them; see Derivative.
func Max(a, b Expr) Expr { return combine(opMax, a, b) }

// Min returns the smaller of a and b. Where they are equal, its derivative is the derivative of one
// of them; see Derivative.
func Min(a, b Expr) Expr { return combine(opMin, a, b) }

// Ge returns the mask 1 if a >= b, else 0. Its derivative is 0. Check rejects a phi that jumps.
func Ge(a, b Expr) Expr { return combine(opGe, a, b) }

// Gt returns the mask 1 if a > b, else 0. Its derivative is 0, as for Ge.
func Gt(a, b Expr) Expr { return combine(opGt, a, b) }

// Eq returns the mask 1 if a = b, else 0. Its derivative is 0, as for Ge.
func Eq(a, b Expr) Expr { return combine(opEq, a, b) }

// Where returns a where the mask m is not 0, and b elsewhere. The branch that is not chosen may be
// undefined. Its derivative is the derivative of the chosen branch, or of the other branch at a
// point where a mask changes (Derivative). Check rejects a phi that jumps.
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

// instrs returns e.code, with explicit code for the zero Expr.
func (e Expr) instrs() []instr {
	if len(e.code) == 0 {
		return []instr{{op: opConst}}
	}
	return e.code
}

// Size returns the number of operations, constants and uses of u, after equal subexpressions have
// been merged.
func (e Expr) Size() int { return len(e.instrs()) }

// Constant returns c if e is Const(c).
func (e Expr) Constant() (c float64, ok bool) {
	code := e.instrs()
	return code[0].c, len(code) == 1 && code[0].op == opConst
}

// Eval returns the value at u. Outside of the domain the value is NaN or an infinity. Eval never
// panics.
func (e Expr) Eval(u float64) float64 {
	code := e.instrs()
	var buf [64]float64
	v := buf[:0]
	if len(code) > len(buf) {
		v = make([]float64, 0, len(code))
	}
	for _, in := range code {
		v = append(v, in.eval(u, v))
	}
	return v[len(v)-1]
}

// eval returns the value of one instruction, given the values v before it.
func (in instr) eval(u float64, v []float64) float64 {
	switch {
	case in.op == opConst:
		return in.c
	case in.op == opVar:
		return u
	case in.op.binary():
		return evalBinary(in.op, v[in.a], v[in.b])
	case in.op == opWhere && v[in.m] != 0:
		return v[in.a]
	case in.op == opWhere:
		return v[in.b]
	}
	return evalUnary(in.op, v[in.a], in.c)
}

func evalUnary(o op, a, c float64) float64 {
	if o == opPow {
		return math.Pow(a, c)
	}
	if f := elementary[o].value; f != nil {
		return f(a)
	}
	return math.NaN()
}

func sigmoid(a float64) float64 {
	if a >= 0 {
		return 1 / (1 + math.Exp(-a))
	}
	e := math.Exp(a)
	return e / (1 + e)
}

func softplus(a float64) float64 { return math.Max(a, 0) + math.Log1p(math.Exp(-math.Abs(a))) }

func evalBinary(o op, a, b float64) float64 {
	switch o {
	case opAdd:
		return a + b
	case opSub:
		return a - b
	case opMul:
		return a * b
	case opDiv:
		return a / b
	case opMax:
		return math.Max(a, b)
	case opMin:
		return math.Min(a, b)
	case opGe:
		return mask(a >= b)
	case opGt:
		return mask(a > b)
	case opEq:
		return mask(a == b)
	}
	return math.NaN()
}

func mask(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
