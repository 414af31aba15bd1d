package kernels

// MetricTile replaces inner products by the coefficients of the pairs of a
// Mahalanobis loss and adds their row and column sums. c is a row-major
// len(s) x len(t) matrix; c_ij enters as x_i^T W x_j; f replaces every number
// of a slice by a function of it:
//
//	for i := range s {
//		for j := range t {
//			v := 0.0
//			if j >= i+skip {
//				p := y[i] * z[j]
//				v = -f(p * (1 - ((s[i]+t[j]) - 2*c[i*len(t)+j]))) * p
//			}
//			c[i*len(t)+j] = v
//			row[i] += v
//			col[j] += v
//		}
//	}
//
// with s_i = x_i^T W x_i and t_j likewise. A skip of -len(s) or less takes all
// pairs; skip = 1 on the diagonal tile of a symmetric matrix takes its strict
// upper triangle. The sums add len(t) + 1 roundings to a row and len(s) to a
// column. len(row) >= len(s), len(col) >= len(t).
func MetricTile(c, row, col, s, y, t, z []float64, skip int, f func([]float64)) {
	n := len(t)
	y, row = y[:len(s)], row[:len(s)]
	for i, si := range s {
		yi, first := y[i], min(max(i+skip, 0), n)
		clear(c[i*n:][:first])
		ci := c[i*n+first:][:n-first]
		ti, zi, sums := t[first:][:len(ci)], z[first:][:len(ci)], col[first:][:len(ci)]
		for j, v := range ci {
			ci[j] = yi * zi[j] * (1 - ((si + ti[j]) - 2*v))
		}
		f(ci)
		var r float64
		for j, v := range ci {
			v *= -(yi * zi[j])
			ci[j] = v
			r += v
			sums[j] += v
		}
		row[i] += r
	}
}
