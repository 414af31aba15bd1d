package privacy

import (
	"math"
	"math/big"
	"strconv"
)

// People write budgets as decimals. Five visits of 0.2 cost 1, although five times the float64 0.2 is above
// 1, because the float64 0.2 is above 1/5. In this file, a float64 x > 0 stands for the decimal D(x), the
// shortest decimal that reads as x, and decimals add up exactly. DecimalSum and DecimalTimes return the
// smallest float64 s whose decimal D(s) is at least the sum. So a sum that is larger in truth, even by 1e-17,
// compares as larger. D increases, so float64 numbers compare as their decimals do.
//
// A mechanism that uses BelowDecimal(x) in place of x satisfies both readings of s: as D(s) and as the number
// s itself.
//
// Proof. D(x) rounds to x, so |D(x) - x| <= 2^-53 x (x is normal). Let m = BelowDecimal(x). Then m <= x (1 -
// 2^-51)(1 + 2^-53) <= D(x) (1 - 2^-51)(1 + 2^-53)/(1 - 2^-53) <= D(x) (1 - 2^-53). Let S be the sum of the
// D(x). The sum of the m is thus at most S (1 - 2^-53), and S (1 - 2^-53) <= D(s) (1 - 2^-53) <= s (1 +
// 2^-53)(1 - 2^-53) <= s. QED

// DecimalSum returns the sum of numbers x >= 0, added up as decimals. The result is +Inf or NaN if one of the
// numbers is +Inf or NaN, or if the sum overflows float64.
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

// DecimalTimes returns n x, computed with decimals, for n >= 0 and x >= 0.
func DecimalTimes(n int, x float64) float64 {
	d, ok := decimal(x)
	if !ok {
		return x
	}
	return decimalUp(d.Mul(d, new(big.Rat).SetInt64(int64(n))))
}

// BelowDecimal returns x reduced by a relative 2^-51.
func BelowDecimal(x float64) float64 { return x * (1 - 0x1p-51) }

// decimal returns D(x). It returns false for infinities and NaN.
func decimal(x float64) (*big.Rat, bool) {
	return new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
}

// decimalUp returns the smallest s with D(s) >= sum.
func decimalUp(sum *big.Rat) float64 {
	s, _ := sum.Float64()
	if d, ok := decimal(s); ok && d.Cmp(sum) < 0 {
		return math.Nextafter(s, math.Inf(1))
	}
	return s
}
