package autodiff

import "math"

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
