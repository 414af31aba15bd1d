package kernels

// SlopeTile is PairTile for a function f of slices, without a test for equal labels:
//
//	for i := range s {
//		for j := max(i+skip, 0); j < len(t); j++ {
//			d := y[i] - z[j]
//			row[i] += f(d*(s[i]-t[j])) * d
//			col[j] -= f(d*(s[i]-t[j])) * d
//		}
//	}
//
// where f replaces every number of a slice by a finite function of the number. len(work) must be at least
// len(t). The sums add len(t) + 1 roundings to a row and len(s) roundings to a column.
func SlopeTile(row, col, s, y, t, z []float64, skip int, work []float64, f func([]float64)) {
	y, row = y[:len(s)], row[:len(s)]
	z, col = z[:len(t)], col[:len(t)]
	for i, si := range s {
		yi, first := y[i], max(i+skip, 0)
		if first >= len(t) {
			break
		}
		ti, zi, sums := t[first:], z[first:], col[first:]
		v := work[:len(ti)]
		zi, sums = zi[:len(v)], sums[:len(v)]
		for j, tj := range ti {
			v[j] = (yi - zi[j]) * (si - tj)
		}
		f(v)
		var r float64
		for j, slope := range v {
			x := slope * (yi - zi[j])
			r += x
			sums[j] -= x
		}
		row[i] += r
	}
}

// ClampedSlopes returns a function that computes f and clamps the results to [lo, hi]. A NaN becomes lo.
func ClampedSlopes(f func([]float64), lo, hi float64) func([]float64) {
	return func(v []float64) {
		f(v)
		for i, x := range v {
			v[i] = Clamp(x, lo, hi)
		}
	}
}

// Clamp returns min(max(x, lo), hi). If x is NaN, Clamp returns lo.
func Clamp(x, lo, hi float64) float64 {
	if !(x >= lo) {
		return lo
	}
	if x > hi {
		return hi
	}
	return x
}
