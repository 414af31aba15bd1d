package dataset

import "math"

// encodeNumbers encodes the numbers of a numeric column, NaN for missing, to every stride-th
// place of dst. It is false if one breaks a rule.
func (f *featureEncoder) encodeNumbers(values, dst []float64, stride int) bool {
	// Most values take the first branch of scale, which has no call here; a NaN and what a clamp changes do not.
	plain := f.transform == "" && f.cosines == 0 && len(f.missing.Numbers) == 0
	lo, hi, center, half, factor := f.lo, f.hi, f.center, f.half, f.factor
	inverse, exact := f.inverse()
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
		switch out := dst[i*stride:][:f.width]; {
		case math.IsNaN(v):
			rule = f.encodeMissing(out)
		case math.IsInf(v, 0):
			return false
		default:
			rule = f.encodeNumber(v, out)
		}
		if rule != "" {
			return false
		}
	}
	return true
}
