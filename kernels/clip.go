package kernels

import "math"

// ClipRows centres rows of d = len(c) numbers, and scales rows whose norm exceeds short:
//
//	for i := range rows {
//		z := x[i*d:(i+1)*d] - c
//		s := min(1, short/math.Sqrt(z.z))
//		dst[i*stride:][:stride] = s z, then zeros
//	}
//
// with stride = GramStride(d). Each operation is rounded, and the sum of squares z.z has depth d/2 + 6.
// All numbers must be finite and far from overflow. A row of dst is a function of its row of x, c and short,
// bit for bit, and does not depend on its position.
func ClipRows(dst, x, c []float64, rows int, short float64) {
	d := len(c)
	stride := GramStride(d)
	for i := range rows {
		z, row := dst[i*stride:][:stride], x[i*d:][:d]
		clear(z[d:])
		z = z[:d]
		var q0, q1 float64
		j := 0
		for ; j+2 <= len(row); j += 2 {
			u, v := row[j]-c[j], row[j+1]-c[j+1]
			z[j], z[j+1] = u, v
			q0 += u * u
			q1 += v * v
		}
		if j < len(row) {
			z[j] = row[j] - c[j]
			q0 += z[j] * z[j]
		}
		if s := short / math.Sqrt(q0+q1); s < 1 {
			for j := range z {
				z[j] *= s
			}
		}
	}
}
