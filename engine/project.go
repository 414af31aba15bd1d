package engine

import (
	"math"
	"slices"
)

// ProjectBall replaces x by its projection onto the centred ball of radius R > 0. The
// exact norm of the result is at most R. If a value of x is not finite, x becomes zero.
// ProjectBallError bounds the distance between the result and the exact projection.
//
// Proof that ||x|| <= R afterwards. Let m = len(x), u = 2^-53 and q = x divided by the
// largest magnitude. The computed sum of the m squares of q is at least (1 - (m+1) u)
// times the exact sum for the rounded q. (Squares do not overflow, and an underflowed
// square is below 2^-1021, while the sum is at least 1.) Each q has relative error u, and
// the root adds u. So the exact norm of x is at most computed (1 + (m+6) u). The result
// x/largest*s with s = R/norm (1 - (m+8) 2u) has four more roundings per coordinate, so
// its exact norm is at most R (1 - 2(m+8) u)(1 + (m+12) u) <= R. A row whose computed
// norm is at most R (1 - (m+8) 2u) is left unchanged. QED
//
// A first test of the plain sum of squares leaves most rows unchanged. The computed sum, in any order, is at least (1 -
// (m+1) u) times the exact sum, and squares that underflow change it by less than u times R^2. If the computed sum is
// at most R^2 (1 - (16m+128) u), the exact norm is at most R (1 - (7m+60) u). The norm computed below is at most (1 +
// (m+6) u) times the exact norm, so it is at most R (1 - (m+8) 2u). So the second test would leave the row unchanged,
// too.
func ProjectBall(x []float64, R float64) {
	if R > 0x1p-480 && R < 0x1p480 && squares(x) <= R*R*(1-float64(len(x)+8)*0x1p-49) { // false if a square is not finite
		return
	}
	var largest float64
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			clear(x)
			return
		}
		largest = max(largest, math.Abs(v))
	}
	if largest == 0 {
		return
	}
	var sum float64
	for _, v := range x {
		q := v / largest
		sum += q * q
	}
	norm := math.Sqrt(sum) // in units of largest; from 1 to sqrt(m)
	slack := 1 - float64(len(x)+8)*0x1p-52
	if norm*largest <= R*slack {
		return
	}
	s := R / norm * slack
	for k := range x {
		x[k] = x[k] / largest * s
	}
}

// squares returns the sum of the squares.
func squares(x []float64) float64 {
	var a, b, c, d float64
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d = a+x[0]*x[0], b+x[1]*x[1], c+x[2]*x[2], d+x[3]*x[3]
	}
	for _, v := range x {
		a += v * v
	}
	return (a + b) + (c + d)
}

// ProjectBallError bounds the Euclidean distance between the result of
// ProjectBall and the exact projection, for m coordinates.
//
// Proof. If the computed norm is at most R slack, the exact norm is at most R, so the
// result and the exact projection are x. Otherwise the result is x times a factor f with
// f = (R/||x||) (1 + t), |t| <= 2(m+8) u + (m+12) u, and additional coordinate errors of
// 4 u. If ||x|| > R, the exact projection is x R/||x||, and the distance is at most |t| R
// + 4 u R. If ||x|| <= R, the exact projection is x. The computed norm exceeded R slack,
// so ||x|| >= R (1 - (3m+28) u), and the distance is at most (|t| + (3m+28) u + 4 u) R.
// In each case the distance is below (6m + 64) u R. QED
func ProjectBallError(m int, R float64) float64 {
	return (6*float64(m) + 64) * 0x1p-53 * R * (1 + 0x1p-50)
}

// inBall reports whether ||w|| <= r (1 + RadiusSlack/2), up to rounding. r is between 2^-500 and 2^1000,
// so 1/r is a normal number. It adds partial sums of 4096 squares, each in four parts. So the depth of the
// sum stays below 2^20 for up to 2^32 parameters, and the exact norm is at most r (1 + RadiusSlack).
func inBall(w []float64, r float64) bool {
	var sum float64
	scale := 1 / r
	for part := range slices.Chunk(w, 4096) {
		var s0, s1, s2, s3 float64
		for ; len(part) >= 4; part = part[4:] {
			a, b, c, d := scale*part[0], scale*part[1], scale*part[2], scale*part[3]
			s0 += a * a
			s1 += b * b
			s2 += c * c
			s3 += d * d
		}
		for _, v := range part {
			s0 += scale * v * (scale * v)
		}
		sum += (s0 + s1) + (s2 + s3)
	}
	return math.Sqrt(sum) <= 1+RadiusSlack/2
}
