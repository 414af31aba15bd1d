package kernels

import "math"

// logisticTile adds the row and column sums of sigma_ij = 1 / (1 + a_i b_j):
//
//	for i := range a {
//		for j := range b {
//			row[i] += 1 / (1 + a[i]*b[j])
//			col[j] += 1 / (1 + a[i]*b[j])
//		}
//	}
//
// With a_i = exp(v s_i) and b_j = exp(-v t_j), sigma_ij is the logistic function sigm(v (t_j - s_i)) of a pair,
// computed without an exponential per pair. Four rows share one division, so (1 + a_i b_j)^4 must not overflow:
// a_i b_j < 1e77.
//
// For the given a and b, each sigma_ij has a relative error below 9 u. There is one rounding each in a b, 1 + a
// b, the product of two and the product of four. The reciprocal (1.2 u by steps of Newton) and two products
// back cause the other roundings. With p_i = 1 + a_i b_j and q = 1/(p0 p1 p2 p3), a variant may add q p2 p3 (p0
// + p1) to a column instead of the two terms 1/p0 and 1/p1. The sums add len(b) + 1 roundings to a row and
// len(a)/2 + 6 roundings to a column. len(row) must be at least len(a), and len(col) at least len(b).
func logisticTile(row, col, a, b []float64) {
	row, col = row[:len(a)], col[:len(b)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		a0, a1, a2, a3 := a[i], a[i+1], a[i+2], a[i+3]
		var r0, r1, r2, r3 float64
		for j, bj := range b {
			p0 := 1 + a0*bj
			p1 := 1 + a1*bj
			p2 := 1 + a2*bj
			p3 := 1 + a3*bj
			p01 := p0 * p1
			p23 := p2 * p3
			q := 1 / (p01 * p23)
			q01 := q * p23
			q23 := q * p01
			s0 := q01 * p1
			s1 := q01 * p0
			s2 := q23 * p3
			s3 := q23 * p2
			r0 += s0
			r1 += s1
			r2 += s2
			r3 += s3
			col[j] += (s0 + s1) + (s2 + s3)
		}
		row[i] += r0
		row[i+1] += r1
		row[i+2] += r2
		row[i+3] += r3
	}
	for ; i < len(a); i++ {
		ai := a[i]
		var r float64
		for j, bj := range b {
			s := 1 / (1 + ai*bj)
			r += s
			col[j] += s
		}
		row[i] += r
	}
}

// MaxLogisticMargin is the largest |v (t_j - s_i)| for which logisticTile cannot
// overflow: (1 + e^160)^4 < 1e279.
const MaxLogisticMargin = 160

// PairTile adds v_ij = f(D (s_i - t_j)) D with D = y_i - z_j to row[i] and subtracts v_ij
// from col[j], for the pairs of different labels:
//
//	for i := range s {
//		for j := max(i+skip, 0); j < len(t); j++ {
//			if d := y[i] - z[j]; d != 0 {
//				row[i] += f(d*(s[i]-t[j])) * d
//				col[j] -= f(d*(s[i]-t[j])) * d
//			}
//		}
//	}
//
// If skip is -len(s) or less, PairTile takes all pairs. On the diagonal tile of a symmetric matrix, skip = 1
// takes the strict upper triangle. Summation takes len(t) + 1 roundings for a row and len(s) roundings for a
// column. v_ij has two roundings in addition to the roundings of f and its argument.
func PairTile(row, col, s, y, t, z []float64, skip int, f func(float64) float64) {
	y, row = y[:len(s)], row[:len(s)]
	z, col = z[:len(t)], col[:len(t)]
	for i, si := range s {
		yi := y[i]
		var r float64
		for j := max(i+skip, 0); j < len(t); j++ {
			d := yi - z[j]
			if d == 0 {
				continue
			}
			v := f(d*(si-t[j])) * d
			r += v
			col[j] -= v
		}
		row[i] += r
	}
}

// LogisticSlope returns the slope of log(1 + exp(-v)),
//
//	-1 / (1 + math.Exp(v))
//
// for any v and without a branch. It is computed as sign(v) t/2 - 1/2 with t = (1 - e) / (1 + e) and e = exp(-|v|).
//
// The absolute error is below 4 u, u = 2^-53, if the relative error of math.Exp is at most 2 ulp = 4 u. This
// error moves t by at most 2 e / (1+e)^2 4 u <= 2 u, and three roundings move t by at most 3 u. The halving is
// exact, and the last difference rounds by u/2.
func LogisticSlope(v float64) float64 {
	e := math.Exp(-math.Abs(v))
	return math.Copysign(0.5*((1-e)/(1+e)), v) - 0.5
}

// logisticPairTile is PairTile with f = LogisticSlope:
//
//	for i := range s {
//		for j := max(i+skip, 0); j < len(t); j++ {
//			if d := y[i] - z[j]; d != 0 {
//				row[i] -= d / (1 + math.Exp(d*(s[i]-t[j])))
//				col[j] += d / (1 + math.Exp(d*(s[i]-t[j])))
//			}
//		}
//	}
//
// for any finite arguments, with the depths of PairTile. The error of the slope is below 4 u. In plain Go it is
// the error of LogisticSlope. Vector kernels compute e = exp(-|v|) within a relative 2.5 u and 1/(1+e) within a
// relative 2 u. Their error is at most 2.5 u e/(1+e)^2 + 2 u/(1+e) for v < 0. For v > 0 it is less than this
// bound at e = 1 plus 1/2 u.
func logisticPairTile(row, col, s, y, t, z []float64, skip int) {
	PairTile(row, col, s, y, t, z, skip, LogisticSlope)
}
