package kernels

// Every float32 is exactly representable as a float64. The kernels below read rows of float32. In every variant
// they return the same bits as the float64 kernels return for the same numbers; a test checks this for all
// variants. So every bound of this package holds for these kernels.

// Widen computes
//
//	for i := range dst {
//		dst[i] = float64(x[i])
//	}
func Widen(dst []float64, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = float64(v)
	}
}

// NarrowDots is like Dots but takes a matrix x of float32. Both give the same bits for the same numbers.
func NarrowDots(dst []float64, x []float32, w []float64) { narrowDots(Dots, dst, x, w, nil) }

// GatherNarrowDots is NarrowDots for the rows rows[0], rows[1], ..., rows[len(dst)-1] of x. The result
// has the same bits as NarrowDots for a matrix of these rows.
func GatherNarrowDots(dst []float64, x []float32, w []float64, rows []int32) {
	narrowDots(Dots, dst, x, w, rows[:len(dst)])
}

// widenFloats is the number of float64 in the buffer for widened rows. The buffer fits into the fastest cache.
const widenFloats = 1024

// widenRows is Widen for rows of d numbers. It reads the rows of x with the numbers rows[from], rows[from+1]
// and so on, or, if rows is nil, the rows from, from+1 and so on.
func widenRows(dst []float64, x []float32, d, from int, rows []int32) {
	if rows == nil {
		Widen(dst, x[from*d:])
		return
	}
	for i := range len(dst) / d {
		Widen(dst[i*d:][:d], x[int(rows[from+i])*d:])
	}
}

// narrowDots is NarrowDots or, if rows is not nil, GatherNarrowDots with the kernel dots of a variant. It
// widens a few rows at a time. Their number is a multiple of the number of rows that Dots multiplies together,
// so that no sum changes.
func narrowDots(dots func(dst, x, w []float64), dst []float64, x []float32, w []float64, rows []int32) {
	d := len(w)
	if d == 0 {
		clear(dst)
		return
	}
	var room [widenFloats]float64
	wide := room[:]
	if 8*d > len(wide) {
		wide = make([]float64, 8*d)
	}
	for from := 0; from < len(dst); {
		n := min(len(dst)-from, len(wide)/d&^7)
		widenRows(wide[:n*d], x, d, from, rows)
		dots(dst[from:from+n], wide[:n*d], w)
		from += n
	}
}

// NarrowAddRows is AddRows for a matrix x of float32, with the same bits.
func NarrowAddRows(acc, c []float64, x []float32) { narrowAddRows(acc, c, x, nil) }

// GatherNarrowAddRows is NarrowAddRows for len(c) selected rows of x. The result has the bits that
// NarrowAddRows returns if these rows follow each other in x.
func GatherNarrowAddRows(acc, c []float64, x []float32, rows []int32) {
	narrowAddRows(acc, c, x, rows[:len(c)])
}

// narrowAddRows adds rows in groups of four, in the order of AddRows.
func narrowAddRows(acc, c []float64, x []float32, rows []int32) {
	d := len(acc)
	if d == 1 {
		acc[0] += narrowDot(Dot, dotBlock, x, c, rows)
		return
	}
	var room [widenFloats]float64
	wide := room[:]
	if 4*d > len(wide) {
		wide = make([]float64, 4*d)
	}
	for from := 0; from < len(c) && d > 0; {
		n := min(len(c)-from, len(wide)/d&^3)
		widenRows(wide[:n*d], x, d, from, rows)
		AddRows(acc, c[from:from+n], wide)
		from += n
	}
}

// narrowDot returns the dot product of c and rows with one number each. It calls dot for blocks of the length
// for which dot itself begins a new partial sum.
func narrowDot(dot func(x, y []float64) float64, block int, x []float32, c []float64, rows []int32) float64 {
	var room [widenFloats]float64
	var sum float64
	for from := 0; from < len(c); {
		n := min(len(c)-from, block)
		widenRows(room[:n], x, 1, from, rows)
		sum += dot(c[from:from+n], room[:n])
		from += n
	}
	return sum
}
