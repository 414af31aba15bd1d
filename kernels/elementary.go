package kernels

import "math"

// Exp sets dst[i] to e^x[i]:
//
//	for i, v := range x {
//		dst[i] = math.Exp(v)
//	}
//
// with a relative error below 3 u (u = 2^-53) if the result is a normal number. Otherwise, including NaN,
// infinities and underflow, Exp calls math.Exp. dst may be x.
//
// The proof at expUpTo extends to -708 <= v <= 709. In this range |k| < 2^15, so k hi is still exact (38 + 15
// bits), k lo adds 2^-83 to r, and the exponent of 2^(k/32) stays normal.
func Exp(dst, x []float64) {
	dst = dst[:len(x)]
	for i, v := range x {
		if v >= -708 && v <= 709 {
			dst[i] = expUpTo(v)
		} else {
			dst[i] = math.Exp(v)
		}
	}
}

// Sigmoid sets dst[i] to out / (1 + e^(-in x[i])) without overflow. The factors `in` and
// `out` are 1 or -1.
//
//	for i, v := range x {
//		dst[i] = out / (1 + math.Exp(-in*v))
//	}
//
// The relative error is below 6 u, plus 2^-1074 if the result is not a normal number. NaN stays NaN. dst may be x.
//
// Every value has its own division, so dst[i] is a function of x[i], `in` and `out` only, bit for bit. Slopes
// that jump where a sigmoid crosses a constant rely on this property (engine.Scalar). LogisticSlopes shares
// divisions and must not replace Sigmoid.
//
// Proof of the error. For |v| <= 708 the error consists of 3 u of the exponential and two roundings, and 1 +
// e^708 does not overflow. For v > 708, 1 is within 2^-1000 of 1/(1 + e^-v). For v < -708, e^v is within a
// relative 2^-1000 of e^v/(1 + e^v), and math.Exp is assumed to be within 4 u and one subnormal. QED
func Sigmoid(dst, x []float64, in, out float64) {
	dst = dst[:len(x)]
	minus := -in
	for i, v := range x {
		if math.Abs(v) <= 708 {
			dst[i] = out / (1 + expUpTo(minus*v))
		} else {
			dst[i] = out * farSigmoid(in*v)
		}
	}
}

// farSigmoid returns 1/(1 + e^-v) for |v| > 708 or NaN.
func farSigmoid(v float64) float64 {
	if v > 0 {
		return 1
	}
	return math.Exp(v)
}

// Softplus sets dst[i] to log(1 + e^x[i]) without overflow:
//
//	for i, v := range x {
//		dst[i] = max(v, 0) + math.Log1p(math.Exp(-math.Abs(v)))
//	}
//
// with exactly these operations. dst may be x.
func Softplus(dst, x []float64) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = max(v, 0) + math.Log1p(math.Exp(-math.Abs(v)))
	}
}

// GreaterEqual sets the masks dst[i] = 1 if a[i] >= b[i], else 0, without branches:
//
//	for i := range a {
//		dst[i] = 0
//		if a[i] >= b[i] {
//			dst[i] = 1
//		}
//	}
//
// dst may be a or b.
func GreaterEqual(dst, a, b []float64) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, x := range a {
		var m uint64
		if x >= b[i] {
			m = one
		}
		dst[i] = math.Float64frombits(m)
	}
}

// Greater is GreaterEqual for the comparison a[i] > b[i].
func Greater(dst, a, b []float64) {
	dst, b = dst[:len(a)], b[:len(a)]
	for i, x := range a {
		var m uint64
		if x > b[i] {
			m = one
		}
		dst[i] = math.Float64frombits(m)
	}
}

// one is the bit pattern of 1.
const one = 0x3ff0000000000000

// Choose sets dst[i] to a[i] if m[i] != 0 and to b[i] otherwise, without branches:
//
//	for i := range m {
//		dst[i] = b[i]
//		if m[i] != 0 {
//			dst[i] = a[i]
//		}
//	}
//
// dst may be m, a or b.
func Choose(dst, m, a, b []float64) {
	dst, a, b = dst[:len(m)], a[:len(m)], b[:len(m)]
	for i, k := range m {
		x, y := math.Float64bits(a[i]), math.Float64bits(b[i])
		if k != 0 {
			y = x
		}
		dst[i] = math.Float64frombits(y)
	}
}
