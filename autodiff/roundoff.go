package autodiff

import "math"

// evalErr returns Eval(u) and an estimate of its rounding error. Each operation adds its own error
// (two units in the last place for elementary functions), and multiplies the errors of its operands
// by its derivative. This is a first-order estimate and not a bound.
func (e Expr) evalErr(u float64) (v, err float64) {
	code := e.instrs()
	vals := make([]float64, 0, len(code))
	errs := make([]float64, 0, len(code))
	for _, in := range code {
		v := in.eval(u, vals)
		var eps float64
		if !in.op.leaf() {
			eps = 4*unitRoundoff*math.Abs(v) + smallest
			da, db := in.slopes(v, vals)
			eps += carried(da, errs[in.a])
			if in.op.binary() || in.op == opWhere {
				eps += carried(db, errs[in.b])
			}
		}
		vals = append(vals, v)
		errs = append(errs, eps)
	}
	v, err = vals[len(vals)-1], errs[len(errs)-1]
	if !finite(err) {
		err = 4 * unitRoundoff * math.Abs(v)
	}
	return v, err
}

// carried returns slope * err. It returns 0 if one of them is 0 and the other is infinite.
func carried(slope, err float64) float64 {
	if slope == 0 || err == 0 {
		return 0
	}
	return math.Abs(slope) * err
}

// slopes returns the partial derivatives of the instruction, whose value is v.
func (in instr) slopes(v float64, vals []float64) (da, db float64) {
	a := vals[in.a]
	switch in.op {
	case opNeg, opAbs:
		return 1, 0
	case opExp:
		return v, 0
	case opLog:
		return 1 / a, 0
	case opLog1p:
		return 1 / (1 + a), 0
	case opExpm1:
		return v + 1, 0
	case opTanh:
		return 1 - v*v, 0
	case opSigmoid:
		return v * (1 - v), 0
	case opSoftplus:
		return sigmoid(a), 0
	case opSqrt:
		return 0.5 / v, 0
	case opSquare:
		return 2 * a, 0
	case opSin:
		return math.Cos(a), 0
	case opCos:
		return math.Sin(a), 0
	case opAtan:
		return 1 / (1 + a*a), 0
	case opErf:
		return 2 / sqrtPi * math.Exp(-a*a), 0
	case opNormCDF: // includes the rounding of its argument, see ownNormCDF
		return (1 + 4*unitRoundoff*math.Abs(a)) * math.Exp(-a*a/2) / (math.Sqrt2 * sqrtPi), 0
	case opLogNormCDF:
		return hazard(a), 0
	case opHazard:
		return v * (a + v), 0
	case opPow:
		return in.c * math.Pow(a, in.c-1), 0
	case opAdd, opSub, opMax, opMin:
		return 1, 1
	case opWhere:
		if vals[in.m] != 0 {
			return 1, 0
		}
		return 0, 1
	case opMul:
		return vals[in.b], a
	case opDiv:
		return 1 / vals[in.b], v / vals[in.b]
	}
	return 0, 0 // masks
}
