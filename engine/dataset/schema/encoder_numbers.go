package schema

import "math"

// EncodeNumbers encodes the numbers of a numeric column, with NaN for missing, and writes the results to every
// stride-th element of dst. It returns false if a number breaks a rule.
func (f *Feature) EncodeNumbers(values, dst []float64, stride int) bool {
	// Most values take the fast branch below, which repeats the first branch of Scale without a call. A NaN and
	// values that would be clamped take the other branch.
	plain := f.Transform == "" && f.Cosines == 0 && len(f.Missing.Numbers) == 0
	lo, hi, center, half, factor := f.Lo, f.Hi, f.Center, f.Half, f.Factor
	inverse, exact := f.Inverse()
	for i, v := range values {
		if plain && v > lo && v < hi {
			u := v - center
			if exact {
				u *= inverse
			} else {
				u /= half
			}
			if u > -1 && u < 1 {
				dst[i*stride] = u * factor
				continue
			}
		}
		rule := ""
		switch out := dst[i*stride:][:f.Width]; {
		case math.IsNaN(v):
			rule = f.EncodeMissing(out)
		case math.IsInf(v, 0):
			return false
		default:
			rule = f.EncodeNumber(v, out)
		}
		if rule != "" {
			return false
		}
	}
	return true
}
