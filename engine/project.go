package engine

import "math"

// ProjectBall replaces x by its projection onto the centred ball of radius
// R > 0, so that the exact norm of the result is at most R. If a value is not
// finite, x becomes zero. ProjectBallError bounds the distance to the exact
// projection.
//
// Proof that ||x|| <= R afterwards. With m = len(x), u = 2^-53 and q = x divided
// by the largest magnitude, the computed sum of the m squares of q is at least
// (1 - (m+1) u) times the exact sum for the rounded q (no overflow, and an
// underflowed square is below 2^-1021 against a sum of at least 1), each q has
// relative error u, and the root adds u: the exact norm of x is at most
// computed (1 + (m+6) u). The result x/largest*s with
// s = R/norm (1 - (m+8) 2u) has four more roundings per coordinate, so its exact
// norm is at most R (1 - 2(m+8) u)(1 + (m+12) u) <= R. A row whose computed norm
// is within R (1 - (m+8) 2u) is left as it is. QED
//
// Most rows are left as they are by a first look, at the plain sum of squares: as computed, in any order, it is
// at least (1 - (m+1) u) times the exact one, and squares that underflow change it by less than u times R^2. If it is at most
// R^2 (1 - (16m+128) u) the exact norm is at most R (1 - (7m+60) u), the norm as computed below, which is at most
// (1 + (m+6) u) times the exact one, is within R (1 - (m+8) 2u), and so the row stays as it is there, too.
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
	norm := math.Sqrt(sum) // in units of largest, in [1, sqrt(m)]
	slack := 1 - float64(len(x)+8)*0x1p-52
	if norm*largest <= R*slack {
		return
	}
	s := R / norm * slack
	for k := range x {
		x[k] = x[k] / largest * s
	}
}

// squares is the sum of the squares.
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
// Proof. If the computed norm is within R slack, the exact norm is at most R and
// both are x. Otherwise the result is x times a factor f with
// f = (R/||x||) (1 + t), |t| <= 2(m+8) u + (m+12) u, and coordinate errors of
// 4 u more. If ||x|| > R the exact projection is x R/||x|| and the distance is
// at most |t| R + 4 u R. If ||x|| <= R the exact projection is x, the computed
// norm exceeded R slack, so ||x|| >= R (1 - (3m+28) u), and the distance is at
// most (|t| + (3m+28) u + 4 u) R. Both are below (6m + 64) u R. QED
func ProjectBallError(m int, R float64) float64 {
	return (6*float64(m) + 64) * 0x1p-53 * R * (1 + 0x1p-50)
}
