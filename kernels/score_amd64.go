//go:build !purego

package kernels

import "unsafe"

// dotColumns is the number of lanes times the largest number of products that a lane sums in one run. With this
// limit the depth stays within DotDepth.
const dotColumns = 64

func (s *Set) accelerateScore() {
	wide := s.variant == AVX512
	lanes := pick(wide, 4, 8)
	s.ClipRows = clipRowsBy(pick(wide, clipRowsAVX2, clipRowsAVX512))
	s.Dot = dotBy(pick(wide, dotAVX2, dotAVX512), lanes*dotColumns)
	s.Dots = dotsBy(pick(wide, dotsAVX2, dotsAVX512), pick(wide, dots1AVX2, dots1AVX512),
		pick(wide, dots2AVX2, dots2AVX512), lanes*dotColumns)
	s.NarrowDots = narrowDotsBy(pick(wide, narrowDotsAVX2, narrowDotsAVX512), s.Dots, lanes*dotColumns)
	s.NarrowAddRows = narrowAddRowsBy(pick(wide, narrowAddRowsAVX2, narrowAddRowsAVX512), s.Dot, lanes*dotColumns)
	s.GatherNarrowDots = gatherNarrowDotsBy(pick(wide, gatherNarrowDotsAVX2, gatherNarrowDotsAVX512), s.Dots,
		lanes*dotColumns)
	s.GatherNarrowAddRows = gatherNarrowAddRowsBy(pick(wide, gatherNarrowAddRowsAVX2, gatherNarrowAddRowsAVX512), s.Dot,
		lanes*dotColumns)
	s.GatherDots = gatherDotsBy(pick(wide, gatherDotsAVX2, gatherDotsAVX512), lanes*dotColumns)
	s.AddRows = addRowsBy(pick(wide, addRowsAVX2, addRowsAVX512), s.Dot)
	s.GatherAddRows = gatherAddRowsBy(pick(wide, gatherAddRowsAVX2, gatherAddRowsAVX512))
	s.Locate = locateBy(pick(wide, locateAVX2, locateAVX512), lanes)
	s.PowerSums = powerSumsBy(pick(wide, powerSumsAVX2, powerSumsAVX512))
	s.SumLanes = sumLanesBy(pick(wide, sumLanesAVX2, sumLanesAVX512), lanes)
	s.Polynomial = polynomialBy(pick(wide, polynomialAVX2, polynomialAVX512), lanes)
	s.Split = splitBy(pick(wide, splitAVX2, splitAVX512))
	s.Join = joinBy(pick(wide, joinAVX2, joinAVX512))
	s.LogisticTile = logisticTileBy(pick(wide, logisticTileAVX2, logisticTileAVX512))
	s.LogisticLossTile = logisticLossTileBy(pick(wide, logisticLossTileAVX2, logisticLossTileAVX512), lanes)
	s.LogisticPairTile = logisticPairTileBy(pick(wide, logisticPairTileAVX2, logisticPairTileAVX512))
	s.LogisticSlopes = logisticSlopesBy(pick(wide, logisticSlopesAVX2, logisticSlopesAVX512))
}

// The functions below check lengths and row numbers, because the assembly takes pointers and does not check them.

func dotBy(f func(x, y *float64, n int) float64, block int) func(x, y []float64) float64 {
	return func(x, y []float64) float64 {
		y = y[:len(x)]
		var sum float64
		for len(x) > block {
			sum += f(unsafe.SliceData(x), unsafe.SliceData(y), block)
			x, y = x[block:], y[block:]
		}
		return sum + f(unsafe.SliceData(x), unsafe.SliceData(y), len(x))
	}
}

func clipRowsBy(
	f func(dst, x, c *float64, rows, d, stride int, short float64),
) func(dst, x, c []float64, rows int, short float64) {
	return func(dst, x, c []float64, rows int, short float64) {
		if rows == 0 {
			return
		}
		d := len(c)
		stride := GramStride(d)
		_, _ = dst[rows*stride-1], x[rows*d-1]
		f(&dst[0], &x[0], &c[0], rows, d, stride, short)
	}
}

func dotsBy(f func(dst, x, w *float64, rows, d, stride, add int), one, two func(dst, x, w *float64, rows int),
	block int) func(dst, x, w []float64) {
	return func(dst, x, w []float64) {
		d := len(w)
		if d <= shortRow {
			x = x[:len(dst)*d]
			n := 0
			switch d {
			case 1:
				n = len(dst) &^ 7
				one(unsafe.SliceData(dst), unsafe.SliceData(x), unsafe.SliceData(w), n)
			case 2:
				n = len(dst) &^ 7
				two(unsafe.SliceData(dst), unsafe.SliceData(x), unsafe.SliceData(w), n)
			}
			shortDots(dst[n:], x[n*d:], w)
			return
		}
		if len(dst) == 0 {
			return
		}
		x = x[:len(dst)*d]
		for from := 0; from < d; from += block {
			f(unsafe.SliceData(dst), unsafe.SliceData(x[from:]), unsafe.SliceData(w[from:]), len(dst),
				min(block, d-from), d, from)
		}
	}
}

// mustHold panics unless x contains all given rows of d numbers.
func mustHold[T any](x []T, d int, rows []int32) {
	var largest uint32
	for _, r := range rows {
		largest = max(largest, uint32(r))
	}
	if len(rows) > 0 {
		_ = x[int(largest)*d:][:d]
	}
}

func gatherDotsBy(f func(dst, x, w *float64, index *int32, rows, d, stride, add int),
	block int) func(dst, x, w []float64, rows []int32) {
	return func(dst, x, w []float64, rows []int32) {
		d := len(w)
		mustHold(x, d, rows)
		dst = dst[:len(rows)]
		if len(dst) == 0 || d == 0 {
			clear(dst)
			return
		}
		for from := 0; from < d; from += block {
			f(unsafe.SliceData(dst), unsafe.SliceData(x[from:]), unsafe.SliceData(w[from:]), unsafe.SliceData(rows), len(dst),
				min(block, d-from), d, from)
		}
	}
}

func addRowsBy(f func(acc, c, x *float64, rows, d, stride int),
	dot func(x, y []float64) float64) func(acc, c, x []float64) {
	return func(acc, c, x []float64) {
		d := len(acc)
		if d == 1 {
			acc[0] += dot(c, x)
			return
		}
		x = x[:len(c)*d]
		f(unsafe.SliceData(acc), unsafe.SliceData(c), unsafe.SliceData(x), len(c), d, d)
	}
}

func gatherAddRowsBy(
	f func(acc, c, x *float64, index *int32, rows, d, stride int),
) func(acc, c, x []float64, rows []int32) {
	return func(acc, c, x []float64, rows []int32) {
		d := len(acc)
		mustHold(x, d, rows)
		c = c[:len(rows)]
		f(unsafe.SliceData(acc), unsafe.SliceData(c), unsafe.SliceData(x), unsafe.SliceData(rows), len(c), d, d)
	}
}

func narrowDotsBy(f func(dst *float64, x *float32, w *float64, rows, d, stride, add int),
	dots func(dst, x, w []float64), block int) func(dst []float64, x []float32, w []float64) {
	return func(dst []float64, x []float32, w []float64) {
		d := len(w)
		if d <= shortRow || len(dst) == 0 {
			narrowDots(dots, dst, x, w, nil)
			return
		}
		x = x[:len(dst)*d]
		for from := 0; from < d; from += block {
			f(unsafe.SliceData(dst), unsafe.SliceData(x[from:]), unsafe.SliceData(w[from:]), len(dst),
				min(block, d-from), d, from)
		}
	}
}

func gatherNarrowDotsBy(f func(dst *float64, x *float32, w *float64, index *int32, rows, d, stride, add int),
	dots func(dst, x, w []float64), block int) func(dst []float64, x []float32, w []float64, rows []int32) {
	return func(dst []float64, x []float32, w []float64, rows []int32) {
		d := len(w)
		rows = rows[:len(dst)]
		if d <= shortRow || len(dst) == 0 {
			narrowDots(dots, dst, x, w, rows)
			return
		}
		mustHold(x, d, rows)
		for from := 0; from < d; from += block {
			f(unsafe.SliceData(dst), unsafe.SliceData(x[from:]), unsafe.SliceData(w[from:]), unsafe.SliceData(rows), len(dst),
				min(block, d-from), d, from)
		}
	}
}

func narrowAddRowsBy(f func(acc, c *float64, x *float32, rows, d, stride int), dot func(x, y []float64) float64,
	block int) func(acc, c []float64, x []float32) {
	return func(acc, c []float64, x []float32) {
		d := len(acc)
		if d == 1 {
			acc[0] += narrowDot(dot, block, x, c, nil)
			return
		}
		x = x[:len(c)*d]
		f(unsafe.SliceData(acc), unsafe.SliceData(c), unsafe.SliceData(x), len(c), d, d)
	}
}

func gatherNarrowAddRowsBy(f func(acc, c *float64, x *float32, index *int32, rows, d, stride int),
	dot func(x, y []float64) float64, block int) func(acc, c []float64, x []float32, rows []int32) {
	return func(acc, c []float64, x []float32, rows []int32) {
		d := len(acc)
		rows = rows[:len(c)]
		if d == 1 {
			acc[0] += narrowDot(dot, block, x, c, rows)
			return
		}
		mustHold(x, d, rows)
		f(unsafe.SliceData(acc), unsafe.SliceData(c), unsafe.SliceData(x), unsafe.SliceData(rows), len(c), d, d)
	}
}

func logisticTileBy(f func(row, col, a, b *float64, m, n int)) func(row, col, a, b []float64) {
	return func(row, col, a, b []float64) {
		row, col = row[:len(a)], col[:len(b)]
		f(unsafe.SliceData(row), unsafe.SliceData(col), unsafe.SliceData(a), unsafe.SliceData(b), len(a), len(b))
	}
}

// logisticLossTileBy returns LogisticLossTile computed by the assembly f, which has a running product in each
// lane. f returns the product of the lanes, the sum of the biased exponents that were removed, and the number
// of removals. The assembly may multiply two products of four, so (1 + a b)^8 must not overflow. The generic
// loop processes the few tiles with larger margins.
func logisticLossTileBy(f func(row, col, a, b *float64, m, n int) (product float64, exponents, taken int),
	lanes int) func(row, col, a, b []float64) float64 {
	const most = 0x1p127
	return func(row, col, a, b []float64) float64 {
		row, col = row[:len(a)], col[:len(b)]
		if len(a) == 0 || len(b) == 0 {
			return 0
		}
		if !(largest(a)*largest(b) < most) {
			return LogisticLossTile(row, col, a, b)
		}
		product, exponents, taken := f(unsafe.SliceData(row), unsafe.SliceData(col), unsafe.SliceData(a), unsafe.SliceData(b),
			len(a), len(b))
		return logProduct(product, exponents, taken*lanes)
	}
}

func largest(x []float64) (m float64) {
	for _, v := range x {
		if v > m {
			m = v
		}
	}
	return m
}

func logisticPairTileBy(
	f func(row, col, s, y, t, z *float64, m, n, skip int),
) func(row, col, s, y, t, z []float64, skip int) {
	return func(row, col, s, y, t, z []float64, skip int) {
		row, y = row[:len(s)], y[:len(s)]
		col, z = col[:len(t)], z[:len(t)]
		f(unsafe.SliceData(row), unsafe.SliceData(col), unsafe.SliceData(s), unsafe.SliceData(y),
			unsafe.SliceData(t), unsafe.SliceData(z), len(s), len(t), skip)
	}
}

func logisticSlopesBy(f func(x *float64, n int)) func(v []float64) {
	return func(v []float64) { f(unsafe.SliceData(v), len(v)) }
}

// The assembly for points processes multiples of the number of lanes. The generic loop processes the last few points.

func locateBy(f func(pos *float64, key *int32, x *float64, class *uint8, n int, half float64, bins int32),
	lanes int) func(pos []float64, key []int32, x []float64, class []uint8, bins int) {
	return func(pos []float64, key []int32, x []float64, class []uint8, bins int) {
		pos, key, class = pos[:len(x)], key[:len(x)], class[:len(x)]
		n := len(x) / lanes * lanes
		f(unsafe.SliceData(pos), unsafe.SliceData(key), unsafe.SliceData(x), unsafe.SliceData(class), n,
			float64(bins)/2, int32(bins))
		locate(pos[n:], key[n:], x[n:], class[n:], bins)
	}
}

func powerSumsBy(f func(sum, x *float64, groups, n int)) func(sum, x []float64) {
	return func(sum, x []float64) {
		n := len(x) &^ 7
		if groups := len(sum) / 32; groups > 0 {
			f(unsafe.SliceData(sum), unsafe.SliceData(x), groups, n)
		}
		PowerSums(sum, x[n:])
	}
}

func polynomialBy(f func(dst, coef, x *float64, pairs, n int), lanes int) func(dst, coef, x []float64) {
	return func(dst, coef, x []float64) {
		dst = dst[:len(x)]
		n := len(x) / lanes * lanes
		_ = coef[0]
		f(unsafe.SliceData(dst), unsafe.SliceData(coef), unsafe.SliceData(x), len(coef)/2, n)
		Polynomial(dst[n:], coef, x[n:])
	}
}

func sumLanesBy(f func(sum, lanes *float64, count int), width int) func(sum, lanes []float64) {
	return func(sum, lanes []float64) {
		lanes = lanes[:8*len(sum)]
		n := len(sum) / width * width
		f(unsafe.SliceData(sum), unsafe.SliceData(lanes), n)
		sumLanes(sum[n:], lanes[8*n:])
	}
}

// The assembly for splitByMask and join leaves the last few numbers to the generic loop, which fills the
// remaining places between both ends.

func splitBy(f func(dst, src *float64, mask *uint8, size, n int) int) func(dst, src []float64, mask []uint8) int {
	return func(dst, src []float64, mask []uint8) int {
		_, mask = dst[len(src)+15], mask[:(len(src)+7)/8]
		n := len(src) &^ 7
		i := f(unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(mask), len(dst), n)
		return i + splitByMask(dst[i:len(dst)-(n-i)], src[n:], mask[n/8:])
	}
}

func joinBy(f func(dst, src *float64, mask *uint8, size, n int) int) func(dst, src []float64, mask []uint8) {
	return func(dst, src []float64, mask []uint8) {
		_, mask = src[len(dst)+15], mask[:(len(dst)+7)/8]
		n := len(dst) &^ 7
		i := f(unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(mask), len(src), n)
		join(dst[n:], src[i:len(src)-(n-i)], mask[n/8:])
	}
}
