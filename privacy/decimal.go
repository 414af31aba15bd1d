package privacy

import (
	"math"
	"math/big"
	"strconv"
)

// People write budgets as decimals: five visits of 0.2 are 1, although five times the
// float64 0.2, which is above 1/5, are above 1. Here a float64 x > 0 stands for its decimal
// D(x), the shortest that reads as x, and decimals add up exactly. DecimalSum and
// DecimalTimes return the smallest float64 s whose D(s) is at least the sum: what is really
// larger, if only by 1e-17, is larger. D increases, so float64s compare as their decimals.
//
// A mechanism that works with BelowDecimal(x) in place of x keeps both readings of s, as D(s)
// and as the number s itself.
//
// Proof. D(x) rounds to x, so |D(x) - x| <= 2^-53 x (x is normal). With m = BelowDecimal(x),
// m <= x (1 - 2^-51)(1 + 2^-53) <= D(x) (1 - 2^-51)(1 + 2^-53)/(1 - 2^-53) <= D(x) (1 - 2^-53).
// The sum of the m is thus at most S (1 - 2^-53), S the sum of the D(x), and S (1 - 2^-53)
// <= D(s) (1 - 2^-53) <= s (1 + 2^-53)(1 - 2^-53) <= s. QED

// DecimalSum adds up numbers that are at least 0, as decimals. It is +Inf or NaN if one of
// them is, or if the sum is beyond float64.
func DecimalSum(x ...float64) float64 {
	sum := new(big.Rat)
	for _, v := range x {
		d, ok := decimal(v)
		if !ok {
			return v + math.Inf(1)
		}
		sum.Add(sum, d)
	}
	return decimalUp(sum)
}

// DecimalTimes is n x, as decimals, for n >= 0 and x >= 0.
func DecimalTimes(n int, x float64) float64 {
	d, ok := decimal(x)
	if !ok {
		return x
	}
	return decimalUp(d.Mul(d, new(big.Rat).SetInt64(int64(n))))
}

// BelowDecimal is x less a relative 2^-51.
func BelowDecimal(x float64) float64 { return x * (1 - 0x1p-51) }

// decimal is D(x), not ok for infinities and NaN.
func decimal(x float64) (*big.Rat, bool) {
	return new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
}

// decimalUp is the smallest s with D(s) >= sum.
func decimalUp(sum *big.Rat) float64 {
	s, _ := sum.Float64()
	if d, ok := decimal(s); ok && d.Cmp(sum) < 0 {
		return math.Nextafter(s, math.Inf(1))
	}
	return s
}
