package kernels

// metricTile replaces inner products by the coefficients of the pairs of a Mahalanobis loss, and adds the row
// and column sums of the coefficients. c is a row-major len(s) x len(t) matrix. On entry c_ij is x_i^T W x_j. f
// replaces every number of a slice by a function of the number:
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
// with s_i = x_i^T W x_i and t_j = x_j^T W x_j. If skip is -len(s) or less, metricTile takes all pairs. On the
// diagonal tile of a symmetric matrix, skip = 1 takes the strict upper triangle. The sums add len(t) + 1
// roundings to a row and len(s) roundings to a column. len(row) must be at least len(s), and len(col) at least
// len(t).
func metricTile(c, row, col, s, y, t, z []float64, skip int, f func([]float64)) {
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
