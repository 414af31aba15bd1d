package account

// largest returns approximately the largest number for which holds is true. The function holds must be true
// up to some number and false above it. The number lo > 0 satisfies holds by proof. Every other result was
// checked by a call of holds.
func largest(lo float64, holds func(float64) bool) float64 {
	hi := 2 * lo
	for ; holds(hi); hi *= 2 {
		lo = hi
	}
	lo, _ = bisect(lo, hi, func(x float64) bool { return !holds(x) })
	return lo
}

// smallest returns approximately the smallest number above lo for which holds is true. The function holds
// must be false up to some number and true above it. The number hi satisfies holds by proof. Every other
// result was checked by a call of holds.
func smallest(lo, hi float64, holds func(float64) bool) float64 {
	_, hi = bisect(lo, hi, holds)
	return hi
}

// bisect halves (lo, hi] until lo and hi are neighbouring float64 numbers or nearly so. If upper is true for
// the midpoint, the midpoint becomes hi.
func bisect(lo, hi float64, upper func(float64) bool) (float64, float64) {
	for hi-lo > 0x1p-52*lo {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if upper(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lo, hi
}
