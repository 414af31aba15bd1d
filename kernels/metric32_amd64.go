//go:build !purego

package kernels

import "math"

func (s *Set) accelerateMetric32() {
	wide := s.variant == AVX512
	s.NewMetricBlock32 = func(rows, d int) MetricBlock32 { return newPanelBlock32(wide, rows, d) }
	s.PanelProducts32 = func(dst, a, panel []float32, m, k int) {
		panelMulAdd32(wide, dst, PanelCols32, a, k, 1, panel, m, k, false)
	}
	s.peak32 = func(rounds int) int {
		if wide {
			peak32AVX512(rounds)
			return 16 * peakRound
		}
		peak32AVX2(rounds)
		return 8 * peakRound
	}
}

// panelCols32 is the number of columns of a packed panel of float32.
const panelCols32 = PanelCols32

// panelMulAdd32 is panelMulAdd for float32 and panelCols32, with k >= 1.
func panelMulAdd32(wide bool, dst []float32, ldd int, a []float32, rs, ls int, b []float32, m, k int, add bool) {
	if m == 0 || k == 0 {
		return
	}
	keep := 0
	if add {
		keep = 1
	}
	_, _, _ = dst[(m-1)*ldd+panelCols32-1], a[(m-1)*rs+(k-1)*ls], b[k*panelCols32-1]
	if wide {
		mulAdd32AVX512(&dst[0], ldd, &a[0], rs, ls, &b[0], m, k, keep)
		return
	}
	const half = panelCols32 / 2
	mulAdd32AVX2(&dst[0], ldd, &a[0], rs, ls, &b[0], m, k, keep)
	mulAdd32AVX2(&dst[half], ldd, &a[0], rs, ls, &b[half], m, k, keep)
}

// panelLogistic32 replaces margins by coefficients in n rows of a tile of panelCols32 columns. The margins are
// in units of logisticUnit32 and lack the factor of the label of their row of the tile. The coefficients lack
// the factor of the label of their column:
//
//	for j := range n {
//		for i := range panelCols32 {
//			v := z[j] / (1 + math.Exp(logisticUnit32*c[j*panelCols32+i]*z[j]))
//			c[j*panelCols32+i] = v
//			row[i] += v
//			col[j*lanes32+i%lanes32] += y[i] * v
//		}
//	}
//
// for margins up to MaxLogisticMargin32. Apart from the rounding of c times z, v has a relative error below 10
// w, w = 2^-24, for these reasons. A margin is the sum of k units and r, |r| <= 1/2, without rounding
// (Sterbenz). 2^k is a power of 2 or a number of a table, correctly rounded: w. 2^r is computed as 1 + r a(r)
// (powers in units). Interpolation has an error of 0.1 w, the last step and the coefficients of r a(r) add 2 w
// |r a| < w, and the sum adds 1.5 w. 1 + e^v is rounded once, and these errors together are 4.6 w. An
// approximate reciprocal has a relative error e of at most 1.5 2^-12 (RCPPS) or 2^-14 (VRCP14PS), according to
// the manuals of the instruction sets. One step of Newton leaves e^2 <= 2.3 w and the roundings of e, of the
// product with z and of the sum, 2.1 w. The total is 9 w. The sums of row have depth n, and the sums of col
// have depth panelCols32/8 plus the depth of the product.
func panelLogistic32(wide bool, c []float32, n int, y, z, row, col []float32) {
	if n == 0 {
		return
	}
	_, _, _ = c[n*panelCols32-1], z[n-1], col[n*lanes32-1]
	_, _ = y[panelCols32-1], row[panelCols32-1]
	if wide {
		metricLogistic32AVX512(&c[0], n, &y[0], &z[0], &row[0], &col[0])
		return
	}
	for i := 0; i < panelCols32; i += 16 {
		metricLogistic32AVX2(&c[i], n, &y[i], &z[0], &row[i], &col[0])
	}
}

// logisticUnit32 returns the unit of the margins of panelLogistic32.
func logisticUnit32(wide bool) float64 {
	if wide {
		return math.Ln2 / 32
	}
	return math.Ln2
}

// lanes32 is the number of partial sums of a column of a tile.
const lanes32 = 16

// panelBlock32 is a MetricBlock32 for panels of panelCols32 rows. The tiles are transposed as in panelBlock.
type panelBlock32 struct {
	wide   bool
	d, m   int
	panels int // panels of the current block
	tiles  int // tiles of the current span

	// left consists of panels of (bias32 + d) x panelCols32 numbers: 1 - s, -1 and 2 xw transposed, all
	// multiplied by y and divided by logisticUnit32.
	left []float32
	cx   []float32 // panels of d x panelCols32, sums of the current span
	sums []float64 // panels of the same size, sums of earlier spans
	y    []float32 // padded by zeros
	row  []float64
	tile []float32 // MetricTileCols x panelCols32
	col  []float32 // MetricTileCols x lanes32

	labels []float64 // labels of the rows
}

func newPanelBlock32(wide bool, rows, d int) *panelBlock32 {
	rows = (rows + panelCols32 - 1) / panelCols32 * panelCols32
	return &panelBlock32{
		wide: wide, d: d,
		left: make([]float32, rows*(bias32+d)), cx: make([]float32, rows*d), sums: make([]float64, rows*d),
		y: make([]float32, rows), row: make([]float64, rows),
		tile: make([]float32, MetricTileCols*panelCols32), col: make([]float32, MetricTileCols*lanes32),
	}
}

func (b *panelBlock32) Start(xw, s, y []float64) {
	d, m := b.d, len(s)
	b.m, b.panels, b.tiles, b.labels = m, (m+panelCols32-1)/panelCols32, 0, y[:m]
	rows := b.panels * panelCols32
	clear(b.y[:rows])
	clear(b.row[:rows])
	clear(b.cx[:rows*d])
	clear(b.sums[:rows*d])
	clear(b.left[:rows*(bias32+d)])
	unit := logisticUnit32(b.wide)
	for i, yi := range b.labels {
		b.y[i] = float32(yi)
		left := b.left[i/panelCols32*panelCols32*(bias32+d)+i%panelCols32:]
		scale := yi / unit
		left[0], left[panelCols32] = float32(scale*(1-s[i])), float32(-scale)
		left = left[bias32*panelCols32:]
		scale *= 2
		for a, v := range xw[i*d:][:d] {
			left[a*panelCols32] = float32(scale * v)
		}
	}
}

func (b *panelBlock32) Add(col []float64, x, t, z []float32, skip int) {
	d := b.d
	for from := 0; from < len(t); from += MetricTileCols {
		n := min(MetricTileCols, len(t)-from)
		xj, tj, zj := x[from*d:][:n*d], t[from:][:n], z[from:][:n]
		sums := b.col[:n*lanes32]
		clear(sums)
		for p := range b.panels {
			// The first j + all entries of row j of the tile are pairs.
			all := from - skip - p*panelCols32 + 1
			if n-1+all <= 0 {
				break
			}
			b.margins(p, xj, tj)
			b.logistic(p, zj, all)
			panelMulAdd32(b.wide, b.cx[p*panelCols32*d:], panelCols32, xj, 1, d, b.tile, d, n, true)
		}
		foldLanesAVX2(&sums[0], n)
		for j := range n {
			l := sums[j*lanes32:][:4]
			col[from+j] += (float64(l[0]) + float64(l[1])) + (float64(l[2]) + float64(l[3]))
		}
		if b.tiles++; b.tiles == MetricSpan32/MetricTileCols {
			b.flush()
		}
	}
}

// margins sets the tile to 1 - (s_i + t_j - 2 x_i^T W x_j) for a panel, times its scale.
func (b *panelBlock32) margins(p int, x, t []float32) {
	panel, n := b.left[p*panelCols32*(bias32+b.d):][:panelCols32*(bias32+b.d)], len(t)
	run := min(dotBlock, b.d)
	_ = x[(n-1)*b.d+run-1]
	if b.wide {
		metricProducts32AVX512(&b.tile[0], &t[0], &x[0], b.d, &panel[0], n, run)
	} else {
		const half = panelCols32 / 2
		metricProducts32AVX2(&b.tile[0], &t[0], &x[0], b.d, &panel[0], n, run)
		metricProducts32AVX2(&b.tile[half], &t[0], &x[0], b.d, &panel[half], n, run)
	}
	for from := run; from < b.d; from += run {
		run = min(dotBlock, b.d-from)
		panelMulAdd32(b.wide, b.tile, panelCols32, x[from:], b.d, 1, panel[(bias32+from)*panelCols32:], n, run, true)
	}
}

// logistic converts the tile to coefficients. Entries of the tile that are not pairs are cleared.
func (b *panelBlock32) logistic(p int, z []float32, all int) {
	n, at := len(z), p*panelCols32
	y, sums := b.y[at:][:panelCols32], b.row[at:][:panelCols32]
	var total [panelCols32]float32
	first := min(max(panelCols32-all, 0), n)
	for j := range first {
		var masked, row [panelCols32]float32
		pairs := copy(masked[:], y[:max(j+all, 0)])
		c := b.tile[j*panelCols32:][:panelCols32]
		panelLogistic32(b.wide, c, 1, masked[:], z[j:], row[:], b.col[j*lanes32:])
		clear(c[pairs:])
		for i, v := range row[:pairs] {
			total[i] += v
		}
	}
	panelLogistic32(b.wide, b.tile[first*panelCols32:], n-first, y, z[first:], total[:], b.col[first*lanes32:])
	for i, v := range total {
		sums[i] += float64(v)
	}
}

// flush adds the sums of the current span to the sums of all spans.
func (b *panelBlock32) flush() {
	b.tiles = 0
	n := b.panels * panelCols32 * b.d
	switch {
	case n == 0:
	case b.wide:
		widenAddAVX512(&b.sums[:n][0], &b.cx[:n][0], n)
	default:
		widenAddAVX2(&b.sums[:n][0], &b.cx[:n][0], n)
	}
}

func (b *panelBlock32) Sums(cx, row []float64) {
	b.flush()
	for i, yi := range b.labels {
		row[i] += yi * b.row[i]
	}
	for p := range b.panels {
		from, rows := p*panelCols32, min(panelCols32, b.m-p*panelCols32)
		y := b.labels[from:][:rows]
		for a := range b.d {
			to, sums := cx[a*b.m+from:][:rows], b.sums[from*b.d+a*panelCols32:][:rows]
			for i, v := range sums {
				to[i] += y[i] * v
			}
		}
	}
}
