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
func NarrowDots(dst []float64, x []float32, w []float64) { narrowDots(Dots, dst, x, w) }

// widenFloats is the room for numbers of float64 next to a kernel, in the fastest cache.
const widenFloats = 1024

// narrowDots is NarrowDots by the kernels of a variant, a few rows at a time: as many groups of
// rows as Dots multiplies together, so that no sum changes.
func narrowDots(dots func(dst, x, w []float64), dst []float64, x []float32, w []float64) {
	d := len(w)
	var room [widenFloats]float64
	wide := room[:]
	if 8*d > len(wide) {
		wide = make([]float64, 8*d)
	}
	for len(dst) > 0 && d > 0 {
		rows := min(len(dst), len(wide)/d&^7)
		Widen(wide[:rows*d], x)
		dots(dst[:rows], wide[:rows*d], w)
		dst, x = dst[rows:], x[rows*d:]
	}
	clear(dst)
}

// NarrowAddRows is AddRows of the numbers of x. It adds rows by four, one group after the other,
// as AddRows does.
func NarrowAddRows(acc, c []float64, x []float32) {
	d := len(acc)
	if d == 1 {
		acc[0] += narrowDot(Dot, dotBlock, x, c)
		return
	}
	var room [widenFloats]float64
	wide := room[:]
	if 4*d > len(wide) {
		wide = make([]float64, 4*d)
	}
	for len(c) > 0 && d > 0 {
		rows := min(len(c), len(wide)/d&^3)
		Widen(wide[:rows*d], x)
		AddRows(acc, c[:rows], wide)
		c, x = c[rows:], x[rows*d:]
	}
}

// narrowDot is a dot product by blocks, of the length of those of dot.
func narrowDot(dot func(x, y []float64) float64, block int, x []float32, c []float64) float64 {
	var room [widenFloats]float64
	var sum float64
	for len(c) > 0 {
		n := min(len(c), block)
		Widen(room[:n], x)
		sum += dot(c[:n], room[:n])
		c, x = c[n:], x[n:]
	}
	return sum
}
