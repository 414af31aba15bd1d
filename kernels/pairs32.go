package kernels

import "math"

// LogisticUnit32 is the unit of the sums of LogisticTile32.
const LogisticUnit32 = 0x1p-22

// LogisticTile32 is logisticTile in float32, with exact sums of terms that are rounded by at
// most LogisticUnit32/2, to multiples of it or, with vectors of 512 bits, to the middle
// between two:
//
//	for i := range a {
//		for j := range b {
//			t := math.RoundToEven(1 / (1 + a[i]*b[j]) / LogisticUnit32)
//			row[i] += t
//			col[j] += t
//		}
//	}
//
// for a and b from 2^-58 to 2^58. A term is a function of a_i and b_j, by the same operations
// wherever they are. Before it is rounded it has a relative error below 6 w, w = 2^-24: one
// rounding or two in 1 + a b, 2.3 w of an approximate reciprocal after a step of Newton
// (panelLogistic32), or w/16 if it is within 2^-14, and its roundings, w or rounded down 2 w.
// Sums of terms are sums of halves of integers in float64: exact below 2^52, in any order.
// len(row) >= len(a), len(col) >= len(b).
func LogisticTile32(row, col []float64, a, b []float32) {
	row, col = row[:len(a)], col[:len(b)]
	for i, ai := range a {
		var sum float64
		for j, bj := range b {
			t := math.RoundToEven(float64(1 / LogisticUnit32 / (1 + float32(ai*bj))))
			sum += t
			col[j] += t
		}
		row[i] += sum
	}
}
