package autodiff

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
