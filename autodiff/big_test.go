package autodiff

import (
	"math"
	"math/big"
)

// Reference arithmetic with bigPrec bits. A nil result is undefined or outside the
// range of these functions.
const bigPrec = 320

func bigOf(x float64) *big.Float { return newBig().SetFloat64(x) }
func newBig() *big.Float         { return new(big.Float).SetPrec(bigPrec) }

func bigAdd(a, b *big.Float) *big.Float { return newBig().Add(a, b) }
func bigSub(a, b *big.Float) *big.Float { return newBig().Sub(a, b) }
func bigMul(a, b *big.Float) *big.Float { return newBig().Mul(a, b) }
func bigQuo(a, b *big.Float) *big.Float {
	if b.Sign() == 0 {
		return nil
	}
	return newBig().Quo(a, b)
}

func bigScale(a *big.Float, k int) *big.Float { return newBig().SetMantExp(a, k) }

// bigExp halves the argument below 2^-20 and squares the series.
func bigExp(x *big.Float) *big.Float {
	f, _ := x.Float64()
	if math.Abs(f) > 1e6 {
		return nil
	}
	k := max(0, x.MantExp(nil)+20)
	y := bigScale(x, -k)
	sum, term := bigOf(1), bigOf(1)
	for n := 1; n < 20; n++ {
		term = bigQuo(bigMul(term, y), bigOf(float64(n)))
		sum.Add(sum, term)
	}
	for range k {
		sum = bigMul(sum, sum)
	}
	return sum
}

// bigLog is Newton's method from math.Log, which doubles the digits each time.
func bigLog(x *big.Float) *big.Float {
	if x.Sign() <= 0 {
		return nil
	}
	m := newBig()
	e := x.MantExp(m)
	if e >= 0 && e <= 1 { // near 1 the two parts would cancel
		m, e = x, 0
	}
	f, _ := m.Float64()
	log := func(m *big.Float, start float64) *big.Float {
		y := bigOf(start)
		for range 3 {
			t := bigExp(y) // y + 2 (m - t)/(m + t), cubic
			y = bigAdd(y, bigMul(bigOf(2), bigQuo(bigSub(m, t), bigAdd(m, t))))
		}
		return y
	}
	ln2 := log(bigOf(2), math.Ln2)
	return bigAdd(log(m, math.Log(f)), bigMul(ln2, bigOf(float64(e))))
}

// bigSinCos halves the argument below 2^-10 and doubles the angle.
func bigSinCos(x *big.Float) (sin, cos *big.Float) {
	k := max(0, x.MantExp(nil)+10)
	y := bigScale(x, -k)
	y2 := bigMul(y, y)
	sin, cos = newBig().Set(y), bigOf(1)
	ts, tc := newBig().Set(y), bigOf(1)
	for n := 1; n < 20; n++ {
		tc = bigQuo(bigMul(tc, y2), bigOf(-float64(2*n*(2*n-1))))
		ts = bigQuo(bigMul(ts, y2), bigOf(-float64(2*n*(2*n+1))))
		sin.Add(sin, ts)
		cos.Add(cos, tc)
	}
	for range k {
		sin, cos = bigScale(bigMul(sin, cos), 1), bigSub(bigMul(cos, cos), bigMul(sin, sin))
	}
	return sin, cos
}

func bigSigmoid(x *big.Float) *big.Float {
	e := bigExp(newBig().Neg(x))
	if e == nil {
		return nil
	}
	return bigQuo(bigOf(1), bigAdd(bigOf(1), e))
}

func bigLog1p(x *big.Float) *big.Float {
	if x.MantExp(nil) < -130 {
		return bigSub(x, bigScale(bigMul(x, x), -1)) // and x^3/3, below 2^-260 x
	}
	return bigLog(bigAdd(bigOf(1), x))
}

// bigOps are the operations with one operand, without opPow.
var bigOps = map[op]func(x *big.Float) *big.Float{
	opExp: bigExp, opLog: bigLog, opLog1p: bigLog1p, opSigmoid: bigSigmoid, opAtan: bigAtan, opErf: bigErf, opNormCDF: bigNormCDF, opHazard: bigHazard,
	opNeg:    func(x *big.Float) *big.Float { return newBig().Neg(x) },
	opAbs:    func(x *big.Float) *big.Float { return newBig().Abs(x) },
	opSquare: func(x *big.Float) *big.Float { return bigMul(x, x) },
	opSin:    func(x *big.Float) *big.Float { s, _ := bigSinCos(x); return s },
	opCos:    func(x *big.Float) *big.Float { _, c := bigSinCos(x); return c },
	opExpm1: func(x *big.Float) *big.Float {
		return known(bigExp(x), func(e *big.Float) *big.Float { return bigSub(e, bigOf(1)) })
	},
	opTanh: func(x *big.Float) *big.Float {
		return known(bigSigmoid(bigScale(x, 1)), func(s *big.Float) *big.Float { return bigSub(bigScale(s, 1), bigOf(1)) })
	},
	opSoftplus: func(x *big.Float) *big.Float {
		return known(bigExp(newBig().Neg(newBig().Abs(x))), func(e *big.Float) *big.Float {
			if x.Sign() <= 0 {
				return bigLog1p(e)
			}
			return bigAdd(x, bigLog1p(e))
		})
	},
	opLogNormCDF: func(x *big.Float) *big.Float { return known(bigNormCDF(x), bigLog) },
	opSqrt: func(x *big.Float) *big.Float {
		if x.Sign() < 0 {
			return nil
		}
		return newBig().Sqrt(x)
	},
}

// known is f(x), or nil if x is.
func known(x *big.Float, f func(*big.Float) *big.Float) *big.Float {
	if x == nil {
		return nil
	}
	return f(x)
}

func bigUnary(o op, x *big.Float, c float64) *big.Float {
	if o == opPow {
		return bigPow(x, c)
	}
	return bigOps[o](x)
}

func bigPow(x *big.Float, c float64) *big.Float {
	if c < 0 {
		if p := bigPow(x, -c); p != nil {
			return bigQuo(bigOf(1), p)
		}
		return nil
	}
	if c == math.Trunc(c) && c <= maxRepeated {
		r := bigOf(1)
		for range int(c) {
			r = bigMul(r, x)
		}
		return r
	}
	if x.Sign() == 0 {
		return bigOf(0)
	}
	if l := bigLog(x); l != nil {
		return bigExp(bigMul(l, bigOf(c)))
	}
	return nil
}

func bigBinary(o op, x, y *big.Float) *big.Float {
	first := func(yes bool) *big.Float {
		if yes {
			return x
		}
		return y
	}
	switch o {
	case opAdd:
		return bigAdd(x, y)
	case opSub:
		return bigSub(x, y)
	case opMul:
		return bigMul(x, y)
	case opDiv:
		return bigQuo(x, y)
	case opMax:
		return first(x.Cmp(y) >= 0)
	case opMin:
		return first(x.Cmp(y) <= 0)
	case opGe:
		return bigOf(mask(x.Cmp(y) >= 0))
	case opGt:
		return bigOf(mask(x.Cmp(y) > 0))
	}
	return bigOf(mask(x.Cmp(y) == 0))
}

// bigEval is e(u), exact up to about 200 bits, or nil.
func bigEval(e Expr, u float64) *big.Float {
	code := e.instrs()
	v := make([]*big.Float, len(code))
	for i, in := range code {
		switch {
		case in.op == opConst:
			if !finite(in.c) {
				continue
			}
			v[i] = bigOf(in.c)
		case in.op == opVar:
			v[i] = bigOf(u)
		case in.op == opWhere:
			if m := v[in.m]; m != nil && m.Sign() != 0 {
				v[i] = v[in.a]
			} else if m != nil {
				v[i] = v[in.b]
			}
		case in.op.binary():
			if v[in.a] != nil && v[in.b] != nil {
				v[i] = bigBinary(in.op, v[in.a], v[in.b])
			}
		default:
			if v[in.a] != nil {
				v[i] = bigUnary(in.op, v[in.a], in.c)
			}
		}
	}
	return v[len(v)-1]
}
