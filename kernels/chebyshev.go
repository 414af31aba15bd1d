package kernels

import "math"

// ChebyshevNodes returns the n zeros x_k = cos((2k+1) pi / (2n)) of T_n, k < n,
// with x_(n-1-k) = -x_k exactly, and the n*n row-major table of T_a(x_k) in row
// k, column a. n >= 1.
//
// Each value is within 8 u of the exact one, u = 2^-53: the angle is reduced by
// integers to [0, pi/2], where its three roundings move the cosine by at most
// 4.8 u, and math.Cos is assumed to be within 3 u there (Cephes states 2.1e-16,
// which is 1.9 u).
func ChebyshevNodes(n int) (nodes, table []float64) {
	nodes = make([]float64, n)
	table = make([]float64, n*n)
	for k := range n {
		for a := range n {
			table[k*n+a] = cosQuarter(a*(2*k+1), 2*n)
		}
		nodes[k] = cosQuarter(2*k+1, 2*n)
	}
	return nodes, table
}

// cosQuarter returns cos(pi num/den) for den even, antisymmetric about pi/2.
func cosQuarter(num, den int) float64 {
	num %= 2 * den
	if num > den {
		num = 2*den - num
	}
	switch {
	case 2*num == den:
		return 0
	case 2*num > den:
		return -math.Cos(math.Pi * float64(den-num) / float64(den))
	}
	return math.Cos(math.Pi * float64(num) / float64(den))
}

// Locate maps scores to bins of equal width from lo on, 1/scale wide:
//
//	for j := range s {
//		z := (s[j] - lo) * scale
//		bin := clamp(floor(z), 0, bins-1)
//		pos[j] = clamp(2*(z-bin)-1, -1, 1)
//		off[j] = (class[j]*bins + bin) * row
//	}
//
// off is the offset of the row of that class and bin, row = PaddedTerms(terms) numbers
// long. A NaN score gets a NaN position in bin 0.
func Locate(pos []float64, off []int32, s []float64, class []uint8, lo, scale float64, bins, row int) {
	pos, off, class = pos[:len(s)], off[:len(s)], class[:len(s)]
	last := bins - 1
	for j, v := range s {
		z := (v - lo) * scale
		bin := int(z)
		if bin < 0 {
			bin = 0
		} else if bin > last {
			bin = last
		}
		x := 2*(z-float64(bin)) - 1
		if x > 1 {
			x = 1
		} else if x < -1 {
			x = -1
		}
		pos[j] = x
		off[j] = int32((int(class[j])*bins + bin) * row)
	}
}

// PaddedTerms is the distance of rows of Chebyshev moments and coefficients: terms
// rounded up to a multiple of 8, so that vectors do not reach into the next row.
func PaddedTerms(terms int) int { return (terms + 7) &^ 7 }

// ChebyshevMoments adds the Chebyshev polynomials of every position to the
// moments of its bin:
//
//	for j := range pos {
//		for a := 0; a < terms; a++ {
//			mom[off[j]+a] += T_a(pos[j])
//		}
//	}
//
// by the recurrence T_(a+1) = 2 x T_a - T_(a-1), terms >= 2. What a row of
// PaddedTerms(terms) numbers holds from terms on is not defined; every off[j] is at
// most len(mom) - PaddedTerms(terms). The error of the
// computed T_a is at most 1.6 a (a-1) u for |x| <= 1: each step rounds a product
// of at most 2 and a sum of at most 1, and an error made at step k reaches T_a
// with factor U_(a-k)(x), at most a-k+1. The sums add len(pos) roundings.
//
// Vectors of W lanes take T_0 to T_W from that recurrence with one rounding of u/2 a
// step, so with errors up to a (a-1) u/4, and go on in steps of W by
// T_(a+W) = 2 T_W T_a - T_|a-W|. A step adds u/2 and twice the error of T_W. After g steps
// these count at most g (g+1)/2 times, and the errors of the first two vectors g+1 and g
// times: in all at most g^2 u/2 + (g^2/2 + 3 g/4) W (W-1) u, which is below
// 1.6 g W (g W - 1) u for W >= 4.
func ChebyshevMoments(mom []float64, terms int, pos []float64, off []int32) {
	off = off[:len(pos)]
	for j, x := range pos {
		m := mom[off[j]:][:terms]
		x2 := x + x
		m[0]++
		m[1] += x
		t0, t1 := 1.0, x
		a := 2
		for ; a+1 < len(m); a += 2 {
			t0 = x2*t1 - t0
			m[a] += t0
			t1 = x2*t0 - t1
			m[a+1] += t1
		}
		if a < len(m) {
			m[a] += x2*t1 - t0
		}
	}
}

// Clenshaw evaluates the Chebyshev sum of the bin of every position:
//
//	for j := range pos {
//		dst[j] = 0
//		for a := 0; a < terms; a++ {
//			dst[j] += coef[off[j]+a] * T_a(pos[j])
//		}
//	}
//
// by Clenshaw's recurrence b_a = (c_a - b_(a+2)) + 2 x b_(a+1), terms >= 2, with
// off[j] at most len(coef) - PaddedTerms(terms). The
// result is the exact sum for coefficients c_a + eta_a with
// |eta_a| <= u (|c_a| + |b_a| + 2 |b_(a+1)| + |b_(a+2)|), because the recurrence
// is linear.
func Clenshaw(dst, coef []float64, terms int, pos []float64, off []int32) {
	dst, off = dst[:len(pos)], off[:len(pos)]
	for j, x := range pos {
		c := coef[off[j]:][:terms]
		x2 := x + x
		var b1, b2 float64
		a := len(c) - 1
		for ; a > 1; a -= 2 {
			b2 = (c[a] - b2) + x2*b1
			b1 = (c[a-1] - b1) + x2*b2
		}
		if a == 1 {
			b1, b2 = (c[1]-b2)+x2*b1, b1
		}
		dst[j] = (c[0] - b2) + x*b1
	}
}
