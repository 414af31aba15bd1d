package account

// largest is about the largest number that holds, for holds that is true up to some number
// and false from there on. lo > 0 holds by proof; every other result was checked.
func largest(lo float64, holds func(float64) bool) float64 {
	hi := 2 * lo
	for ; holds(hi); hi *= 2 {
		lo = hi
	}
	lo, _ = bisect(lo, hi, func(x float64) bool { return !holds(x) })
	return lo
}

// smallest is about the smallest number above lo that holds, for holds that is false up to
// some number and true from there on. hi holds by proof; every other result was checked.
func smallest(lo, hi float64, holds func(float64) bool) float64 {
	_, hi = bisect(lo, hi, holds)
	return hi
}

// bisect halves (lo, hi] until the two are neighbours or nearly so; upper says of a number
// that it belongs to hi.
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
