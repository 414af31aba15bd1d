package kernels

// scalarPeak is the loop of Peak in plain Go, without fused operations on amd64. It returns the number of
// multiply-adds of a round. The twelve chains hide the latency of the multiplication and the addition.
func scalarPeak[T float32 | float64](rounds int) int {
	const u, v = 0.5, 0.25
	var a, b, c, d, e, f T = 1, 2, 3, 4, 5, 6 // different values, because the compiler merges equal chains
	var g, h, i, j, k, l T = 7, 8, 9, 10, 11, 12
	for range rounds {
		a = a*u + v
		b = b*u + v
		c = c*u + v
		d = d*u + v
		e = e*u + v
		f = f*u + v
		g = g*u + v
		h = h*u + v
		i = i*u + v
		j = j*u + v
		k = k*u + v
		l = l*u + v
	}
	if a+b+c+d+e+f+g+h+i+j+k+l == 0 {
		return 0
	}
	return 12
}
