package kernels

import "math"

// Exp sets dst[i] to e^x[i]:
//
//	for i, v := range x {
//		dst[i] = math.Exp(v)
//	}
//
// with a relative error below 3 u (u = 2^-53) where the result is a normal number,
// and that of math.Exp elsewhere, including NaN, infinities and underflow. dst may be
// x.
//
// The bound is that of expUpTo, whose proof holds for -708 <= v <= 709: there
// |k| < 2^15, so k hi is still exact (38 + 15 bits), k lo adds 2^-83 to r, and
// the exponent of 2^(k/32) stays normal.
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

// Sigmoid sets dst[i] to out / (1 + e^(-in x[i])) without overflow, for factors in and
// out that are 1 or -1:
//
//	for i, v := range x {
//		dst[i] = out / (1 + math.Exp(-in*v))
//	}
//
// with a relative error below 12 u, plus 2^-1074 where the result is not a normal
// number; NaN stays NaN. dst may be x.
//
// Proof. Four values within MaxLogisticMargin share one division as in
// LogisticSlopes, which has the same roundings. Otherwise 1/(1 + e^-v) for v >= 0
// has 3 u of the exponential and two roundings, and e^v/(1 + e^v) for v < 0 has
// 3 u twice and two roundings; math.Exp below -708 is taken to be within 4 u and
// one subnormal.
func Sigmoid(dst, x []float64, in, out float64) {
	dst = dst[:len(x)]
	minus := -in
	for len(x) >= 4 && len(dst) >= 4 {
		if !(math.Abs(x[0]) <= MaxLogisticMargin && math.Abs(x[1]) <= MaxLogisticMargin &&
			math.Abs(x[2]) <= MaxLogisticMargin && math.Abs(x[3]) <= MaxLogisticMargin) {
			for i, v := range x[:4] {
				dst[i] = out * sigmoid(in*v)
			}
			dst, x = dst[4:], x[4:]
			continue
		}
		p0 := 1 + expUpTo(minus*x[0])
		p1 := 1 + expUpTo(minus*x[1])
		p2 := 1 + expUpTo(minus*x[2])
		p3 := 1 + expUpTo(minus*x[3])
		p01 := p0 * p1
		p23 := p2 * p3
		q := out / (p01 * p23)
		q01 := q * p23
		q23 := q * p01
		dst[0] = q01 * p1
		dst[1] = q01 * p0
		dst[2] = q23 * p3
		dst[3] = q23 * p2
		dst, x = dst[4:], x[4:]
	}
	for i, v := range x {
		dst[i] = out * sigmoid(in*v)
	}
}

// sigmoid is 1/(1 + e^-v).
func sigmoid(v float64) float64 {
	switch {
	case v >= 709:
		return 1
	case v >= 0:
		return 1 / (1 + expUpTo(-v))
	case v >= -708:
		e := expUpTo(v)
		return e / (1 + e)
	}
	return math.Exp(v) // 1 + e^v rounds to 1; NaN
}

// Softplus sets dst[i] to log(1 + e^x[i]) without overflow:
//
//	for i, v := range x {
//		dst[i] = max(v, 0) + math.Log1p(math.Exp(-math.Abs(v)))
//	}
//
// in exactly this way. dst may be x.
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

// Greater is GreaterEqual with >.
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

// Choose sets dst[i] to a[i] where m[i] != 0 and to b[i] elsewhere, without branches:
//
//	for i := range m {
//		dst[i] = b[i]
//		if m[i] != 0 {
//			dst[i] = a[i]
//		}
//	}
//
// dst may be any of the others.
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
