package kernels

// dotBlock is the largest number of products that Dot sums before it starts a new partial sum. Partial sums
// keep the depth of long dot products low.
const dotBlock = 256

// DotDepth returns the depth of a dot product of n terms in this package. A term takes part in one product, n/4
// additions of its lane, up to three additions of the tail, two additions that join the lanes, and one addition
// per block of 256.
func DotDepth(n int) int {
	return min(n, dotBlock)/4 + 6 + (n+dotBlock-1)/dotBlock
}

// Dot is
//
//	for k := range x {
//		sum += x[k] * y[k]
//	}
//
// with depth DotDepth(len(x)). len(y) must be at least len(x).
func Dot(x, y []float64) float64 {
	y = y[:len(x)]
	var sum float64
	for len(x) > dotBlock {
		sum += dotRun(x[:dotBlock], y[:dotBlock])
		x, y = x[dotBlock:], y[dotBlock:]
	}
	return sum + dotRun(x, y)
}

func dotRun(x, y []float64) float64 {
	var s0, s1, s2, s3 float64
	for len(x) >= 4 && len(y) >= 4 {
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	for k, v := range x {
		s0 += v * y[k]
	}
	return (s0 + s1) + (s2 + s3)
}

// Dots multiplies the len(dst) rows of the row-major matrix x, of d = len(w)
// columns, by w:
//
//	for i := range dst {
//		dst[i] = Dot(x[i*d:(i+1)*d], w)
//	}
//
// If d > 4 and len(dst) is a multiple of DotsRows, the bits of dst[i] depend only on row i of x and on w, and
// not on the value of i. If len(dst) is not a multiple of DotsRows, a variant may sum the remaining rows in
// another order.
func Dots(dst, x, w []float64) {
	d := len(w)
	if d <= shortRow {
		shortDots(dst, x, w)
		return
	}
	for i := range dst {
		row := x[i*d:][:d]
		if d <= dotBlock {
			dst[i] = dotRun(row, w)
		} else {
			dst[i] = Dot(row, w)
		}
	}
}

// DotsRows is the number of rows that Dots multiplies together.
const DotsRows = 4

// shortRow is the largest number of columns for which plain Go is the fastest variant of Dots.
const shortRow = 4

// shortDots is Dots for up to shortRow columns.
func shortDots(dst, x, w []float64) {
	switch len(w) {
	case 0:
		clear(dst)
	case 1:
		a := w[0]
		for i, v := range x[:len(dst)] {
			dst[i] = v * a
		}
	case 2:
		a, b := w[0], w[1]
		for i := range dst {
			r := x[2*i:][:2]
			dst[i] = r[0]*a + r[1]*b
		}
	case 3:
		a, b, c := w[0], w[1], w[2]
		for i := range dst {
			r := x[3*i:][:3]
			dst[i] = (r[0]*a + r[1]*b) + r[2]*c
		}
	case 4:
		a, b, c, d := w[0], w[1], w[2], w[3]
		for i := range dst {
			r := x[4*i:][:4]
			dst[i] = (r[0]*a + r[1]*b) + (r[2]*c + r[3]*d)
		}
	}
}

// GatherDots is Dots for selected rows:
//
//	for i, r := range rows {
//		dst[i] = Dot(x[r*d:(r+1)*d], w)
//	}
//
// with len(dst) >= len(rows).
func GatherDots(dst, x, w []float64, rows []int32) {
	d := len(w)
	dst = dst[:len(rows)]
	for i, r := range rows {
		dst[i] = Dot(x[int(r)*d:][:d], w)
	}
}

// AddRowsDepth returns the depth of the sums over n rows that AddRows and its variants add to acc: one product
// and at most n additions. (The dense variants need n/4 + 6.)
func AddRowsDepth(n int) int { return n + 1 }

// AddRows adds c[i] times row i of x to acc, for each i. The matrix x is row-major and
// has d = len(acc) columns:
//
//	for i := range c {
//		for k := range acc {
//			acc[k] += c[i] * x[i*d+k]
//		}
//	}
func AddRows(acc, c, x []float64) {
	d := len(acc)
	if d == 1 {
		acc[0] += Dot(c, x)
		return
	}
	i := 0
	for ; i+4 <= len(c); i += 4 {
		add4(acc, c[i], c[i+1], c[i+2], c[i+3],
			x[i*d:], x[(i+1)*d:], x[(i+2)*d:], x[(i+3)*d:])
	}
	for ; i < len(c); i++ {
		add1(acc, c[i], x[i*d:])
	}
}

// GatherAddRows is AddRows for selected rows:
//
//	for i, r := range rows {
//		for k := range acc {
//			acc[k] += c[i] * x[r*d+k]
//		}
//	}
func GatherAddRows(acc, c, x []float64, rows []int32) {
	d := len(acc)
	c = c[:len(rows)]
	i := 0
	for ; i+4 <= len(rows); i += 4 {
		add4(acc, c[i], c[i+1], c[i+2], c[i+3],
			x[int(rows[i])*d:], x[int(rows[i+1])*d:], x[int(rows[i+2])*d:], x[int(rows[i+3])*d:])
	}
	for ; i < len(rows); i++ {
		add1(acc, c[i], x[int(rows[i])*d:])
	}
}

func add4(acc []float64, c0, c1, c2, c3 float64, x0, x1, x2, x3 []float64) {
	n := len(acc)
	x0, x1, x2, x3 = x0[:n], x1[:n], x2[:n], x3[:n]
	for k := range acc {
		acc[k] += (c0*x0[k] + c1*x1[k]) + (c2*x2[k] + c3*x3[k])
	}
}

func add1(acc []float64, c float64, x []float64) {
	x = x[:len(acc)]
	for k := range acc {
		acc[k] += c * x[k]
	}
}
