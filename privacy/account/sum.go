package account

import "math"

// upSum adds up numbers and rounds once, upwards. The value hi + lo is at least the exact sum, and exceeds it
// by about a relative 2^-100 for each added number. If every addition were rounded up, ten runs of 0.1 would
// cost more than 1. The zero value is 0.
type upSum struct{ hi, lo float64 }

// add adds x, which may be +Inf.
func (s *upSum) add(x float64) {
	sum, low := twoSum(s.hi, x)
	if math.IsInf(sum, 0) {
		*s = upSum{hi: sum}
		return
	}
	lo, rest := twoSum(s.lo, low)
	if rest > 0 {
		lo = math.Nextafter(lo, math.Inf(1))
	}
	s.hi, s.lo = sum, lo
}

// addTimes adds n x.
func (s *upSum) addTimes(n int, x float64) {
	product := float64(n) * x
	s.add(product)
	if rest := math.FMA(float64(n), x, -product); !math.IsInf(product, 0) {
		s.add(rest)
	}
}

// value returns the sum, rounded up.
func (s upSum) value() float64 {
	sum, low := twoSum(s.hi, s.lo)
	if low > 0 {
		return math.Nextafter(sum, math.Inf(1))
	}
	return sum
}

// twoSum returns a + b and its exact rounding error (Knuth, The Art of Computer Programming 2, 4.2.2, Theorem
// B), if the sum is finite.
func twoSum(a, b float64) (sum, low float64) {
	sum = a + b
	part := sum - a
	return sum, (a - (sum - part)) + (b - part)
}
