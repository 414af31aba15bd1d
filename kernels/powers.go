package kernels

// PowerSums adds the powers of every number to partial sums, eight for each exponent:
//
//	for j := range x {
//		for i := 0; i < len(sum)/8; i++ {
//			sum[8*i+j/4%8] += math.Pow(x[j], i+1)
//		}
//	}
//
// A variant may add a power to any of the eight partial sums. Only the total of the eight is defined.
// len(sum) must be a multiple of 32, and |x| <= 1. Zeros do not change the sums.
//
// The computed x^i is a product of i factors x, so its relative error is at most i roundings. The factors
// may be multiplied in any order, and the last product may be rounded or not. Each partial sum has at most
// len(x)/8 + 4 additions, and no term takes part in more.
func PowerSums(sum, x []float64) {
	lane := 0
	for ; len(x) >= 4; x = x[4:] {
		x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
		t0, t1, t2, t3 := x0, x1, x2, x3
		for i := lane; i < len(sum); i += 8 {
			sum[i] += (t0 + t1) + (t2 + t3)
			t0 *= x0
			t1 *= x1
			t2 *= x2
			t3 *= x3
		}
		lane = (lane + 1) & 7
	}
	for _, v := range x {
		t := v
		for i := lane; i < len(sum); i += 8 {
			sum[i] += t
			t *= v
		}
	}
}

// sumLanes adds the total of every eight partial sums to a sum and clears them:
//
//	for i := range sum {
//		for l := range 8 {
//			sum[i] += lanes[8*i+l]
//			lanes[8*i+l] = 0
//		}
//	}
//
// except that the eight partial sums are added in a tree of depth 3.
func sumLanes(sum, lanes []float64) {
	for i := range sum {
		l := lanes[8*i : 8*i+8]
		sum[i] += ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]))
		clear(l)
	}
}

// Polynomial evaluates a polynomial of even degree:
//
//	for j := range x {
//		dst[j] = 0
//		for i := range coef {
//			dst[j] += coef[i] * math.Pow(x[j], i)
//		}
//	}
//
// len(coef) must be odd. The polynomial is computed as E(x^2) + x O(x^2), where Horner's rule gives E and O.
// The term of x^i takes part in at most 1.5 i + 3 roundings: two for each of the i/2 steps of Horner's rule,
// one for each factor x^2, one for x O and one for the last sum. The error is below Gamma(2 len(coef) + 2) sum
// |coef_i| |x|^i. dst may be x.
func Polynomial(dst, coef, x []float64) {
	dst = dst[:len(x)]
	top, coef := coef[len(coef)-1], coef[:len(coef)-1]
	for ; len(x) >= 4; x, dst = x[4:], dst[4:] {
		x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
		s0, s1, s2, s3 := x0*x0, x1*x1, x2*x2, x3*x3
		e0, e1, e2, e3 := top, top, top, top
		var o0, o1, o2, o3 float64
		for c := coef; len(c) >= 2; c = c[:len(c)-2] {
			odd, even := c[len(c)-1], c[len(c)-2]
			o0, e0 = o0*s0+odd, e0*s0+even
			o1, e1 = o1*s1+odd, e1*s1+even
			o2, e2 = o2*s2+odd, e2*s2+even
			o3, e3 = o3*s3+odd, e3*s3+even
		}
		dst[0], dst[1], dst[2], dst[3] = e0+x0*o0, e1+x1*o1, e2+x2*o2, e3+x3*o3
	}
	for j, v := range x {
		s, e, o := v*v, top, 0.0
		for c := coef; len(c) >= 2; c = c[:len(c)-2] {
			o, e = o*s+c[len(c)-1], e*s+c[len(c)-2]
		}
		dst[j] = e + v*o
	}
}
