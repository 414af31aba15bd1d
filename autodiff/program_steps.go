package autodiff

import (
	"math"

	"dyad/kernels"
)

// run computes one block.
func (s *step) run(dst []float64, f *frame) {
	a, b := f.slot(s.a), f.slot(s.b)
	switch {
	case s.op == opWhere:
		kernels.Choose(dst, f.slot(s.m), a, b)
	case !s.op.binary():
		s.unary(dst, a)
	case a == nil:
		s.left(dst, b)
	case b == nil:
		s.right(dst, a)
	default:
		s.both(dst, a, b)
	}
}

func (s *step) unary(dst, a []float64) {
	dst = dst[:len(a)]
	switch s.op {
	case opNeg:
		for i, x := range a {
			dst[i] = -x
		}
	case opExp:
		kernels.Exp(dst, a)
	case opSigmoid:
		kernels.Sigmoid(dst, a, s.in, s.out)
	case opSoftplus:
		kernels.Softplus(dst, a)
	case opSquare:
		for i, x := range a {
			dst[i] = x * x
		}
	case opAbs:
		for i, x := range a {
			dst[i] = math.Abs(x)
		}
	case opSqrt:
		for i, x := range a {
			dst[i] = math.Sqrt(x)
		}
	case opPow:
		for i, x := range a {
			dst[i] = power(x, s.k)
		}
	default:
		for i, x := range a {
			dst[i] = evalUnary(s.op, x, 0)
		}
	}
}

// right computes an operation whose second operand is the constant k.
func (s *step) right(dst, a []float64) {
	dst, k := dst[:len(a)], s.k
	switch s.op {
	case opAdd:
		for i, x := range a {
			dst[i] = x + k
		}
	case opSub:
		for i, x := range a {
			dst[i] = x - k
		}
	case opMul:
		for i, x := range a {
			dst[i] = x * k
		}
	case opDiv:
		for i, x := range a {
			dst[i] = x / k
		}
	case opMax:
		for i, x := range a {
			dst[i] = max(x, k)
		}
	case opMin:
		for i, x := range a {
			dst[i] = min(x, k)
		}
	case opGe:
		for i, x := range a {
			dst[i] = bit(x >= k)
		}
	case opGt:
		for i, x := range a {
			dst[i] = bit(x > k)
		}
	}
}

// left computes an operation whose first operand is the constant k.
func (s *step) left(dst, b []float64) {
	dst, k := dst[:len(b)], s.k
	switch s.op {
	case opSub:
		for i, x := range b {
			dst[i] = k - x
		}
	case opDiv:
		for i, x := range b {
			dst[i] = k / x
		}
	case opGe:
		for i, x := range b {
			dst[i] = bit(k >= x)
		}
	case opGt:
		for i, x := range b {
			dst[i] = bit(k > x)
		}
	default:
		s.right(dst, b) // commutes
	}
}

func (s *step) both(dst, a, b []float64) {
	dst, b = dst[:len(a)], b[:len(a)]
	switch s.op {
	case opAdd:
		for i, x := range a {
			dst[i] = x + b[i]
		}
	case opSub:
		for i, x := range a {
			dst[i] = x - b[i]
		}
	case opMul:
		for i, x := range a {
			dst[i] = x * b[i]
		}
	case opDiv:
		for i, x := range a {
			dst[i] = x / b[i]
		}
	case opMax:
		for i, x := range a {
			dst[i] = max(x, b[i])
		}
	case opMin:
		for i, x := range a {
			dst[i] = min(x, b[i])
		}
	case opGe:
		kernels.GreaterEqual(dst, a, b)
	case opGt:
		kernels.Greater(dst, a, b)
	default:
		for i, x := range a {
			dst[i] = evalBinary(s.op, x, b[i])
		}
	}
}

// bit returns 1 or 0, without a branch.
func bit(b bool) float64 {
	var m uint64
	if b {
		m = 0x3ff0000000000000
	}
	return math.Float64frombits(m)
}

// step computes slot dst from the slots a, b and m. Slot 0 is the input u, and no step writes it.
// An operand that is constant is in k: then b is -1 if k is the second operand, and a is -1 if k is
// the first. in and out are factors 1 or -1 of the operand and the result of opSigmoid, which cost
// nothing there.
type step struct {
	op           op
	dst, a, b, m int
	k, in, out   float64
}

// frame holds the slots of one block.
type frame struct{ u, scratch []float64 }

func (f *frame) slot(s int) []float64 {
	switch {
	case s < 0:
		return nil
	case s == 0:
		return f.u
	}
	return f.scratch[(s-1)*programBlock:][:len(f.u)]
}

// power returns a^c in the way that Roundoff assumes: products for integers up to maxRepeated,
// otherwise e^(c log a).
func power(a, c float64) float64 {
	if c < 0 {
		return 1 / power(a, -c)
	}
	if c == math.Trunc(c) && c <= maxRepeated {
		r := 1.0
		for range int(c) {
			r *= a
		}
		return r
	}
	if a == 0 && c > 0 {
		return 0
	}
	return math.Exp(c * math.Log(a))
}

// programBlock is the number of values that a Program computes at a time. A slot has 2 KiB, so that
// about ten slots fit in the first-level cache.
const programBlock = 256
