package kernels

// Numbers of float32 are numbers of float64. The kernels below read rows of them and compute what
// the kernels of float64 compute of the same numbers, to the same bits, in every variant: a test
// over all of them. So every bound of this package holds for them.

// Widen is
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

// NarrowDots is Dots of the numbers of x.
func NarrowDots(dst []float64, x []float32, w []float64) { narrowDots(Dots, dst, x, w, nil) }

// GatherNarrowDots is NarrowDots of len(dst) selected rows of x, one after the other, to the same bits.
func GatherNarrowDots(dst []float64, x []float32, w []float64, rows []int32) {
	narrowDots(Dots, dst, x, w, rows[:len(dst)])
}

// widenFloats is the room for numbers of float64 next to a kernel, in the fastest cache.
const widenFloats = 1024

// widenRows is Widen of rows of d numbers, from a place on in the given ones, or in all if rows is nil.
func widenRows(dst []float64, x []float32, d, from int, rows []int32) {
	if rows == nil {
		Widen(dst, x[from*d:])
		return
	}
	for i := range len(dst) / d {
		Widen(dst[i*d:][:d], x[int(rows[from+i])*d:])
	}
}

// narrowDots is NarrowDots, or GatherNarrowDots, by the kernels of a variant, a few rows at a time: as
// many groups of rows as Dots multiplies together, so that no sum changes.
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

// NarrowAddRows is AddRows of the numbers of x.
func NarrowAddRows(acc, c []float64, x []float32) { narrowAddRows(acc, c, x, nil) }

// GatherNarrowAddRows is NarrowAddRows of len(c) selected rows of x, one after the other, to the same
// bits.
func GatherNarrowAddRows(acc, c []float64, x []float32, rows []int32) {
	narrowAddRows(acc, c, x, rows[:len(c)])
}

// narrowAddRows adds rows by four, one group after the other, as AddRows does.
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

// narrowDot is a dot product of rows of one number, by blocks of the length of those of dot.
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
