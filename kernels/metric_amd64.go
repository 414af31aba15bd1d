//go:build !purego

package kernels

import "math"

func (s *Set) accelerateMetric() {
	wide := s.variant == AVX512
	s.AddProducts = func(dst []float64, stride int, a, b []float64, m, n, k int) {
		panelAddProducts(wide, dst, stride, a, b, m, n, k)
	}
	s.AddGram = func(dst, x []float64, rows, d int) { panelAddGram(wide, dst, x, rows, d) }
	s.NewMetricBlock = func(rows, d int, f func([]float64)) MetricBlock { return newPanelBlock(wide, rows, d, f) }
	s.peak = func(rounds int) int {
		if wide {
			peakAVX512(rounds)
			return 8 * peakRound
		}
		peakAVX2(rounds)
		return 4 * peakRound
	}
}

// peakRound is the number of vectors of a round of peakAVX2 and peakAVX512.
const peakRound = 12

// panelLogistic replaces margins by coefficients in n rows of a tile of panelCols columns. The margins are in
// units of logisticUnit and lack the factor of the label of their row of the tile. The coefficients lack the
// factor of the label of their column:
//
//	for j := range n {
//		for i := range panelCols {
//			v := z[j] / (1 + math.Exp(logisticUnit*c[j*panelCols+i]*z[j]))
//			c[j*panelCols+i] = v
//			row[i] += v
//			col[j*lanes+i%lanes] += y[i] * v
//		}
//	}
//
// for margins up to MaxLogisticMargin. Apart from the rounding of c times z, the slope v over z has a relative
// error below 12 u, for these reasons. A margin is the sum of k units and r, |r| <= 1/2, without rounding
// (Sterbenz). 2^k is T or a power of 2, where T is correctly rounded. 2^r is computed as 1 + r a(r) (powers in
// units). Interpolation has an error of 0.13 u, the last steps and the coefficients of r a(r) add u |r a| < 0.7
// u, and the sum, which is above 2/3, adds 1.5 u. 1 + e^v is rounded once, and these errors together are 4.4 u.
// The shared division has at most 5 roundings. Three columns share one division, so (1 + e^v)^3 must not
// overflow. The sums of row have depth n, and the sums of col have depth 3 plus the depth of the product.
func panelLogistic(wide bool, c []float64, n int, y, z, row, col []float64) {
	if n == 0 {
		return
	}
	_, _, _ = c[n*panelCols-1], z[n-1], col[n*lanes-1]
	_, _ = y[panelCols-1], row[panelCols-1]
	if wide {
		metricLogisticAVX512(&c[0], n, &y[0], &z[0], &row[0], &col[0])
		return
	}
	for i := 0; i < panelCols; i += 8 {
		metricLogisticAVX2(&c[i], n, &y[i], &z[0], &row[i], &col[0])
	}
}

// logisticUnit returns the unit of the margins of panelLogistic.
func logisticUnit(wide bool) float64 {
	if wide {
		return math.Ln2 / 16
	}
	return math.Ln2
}

// lanes is the number of partial sums of a column of a tile.
const lanes = 8

// bias is the number of rows of a panel that precede the rows of features.
const bias = 2

// panelBlock is a MetricBlock for panels of panelCols rows. Its tiles are transposed:
// a row of a tile is a column of the block.
type panelBlock struct {
	wide   bool
	d, m   int
	panels int // panels of the current block
	f      func([]float64)

	// left consists of panels of (bias + d) x panelCols numbers, which MetricBlock.Start fills: 1 - s, -1 and 2
	// xw transposed, all multiplied by y and divided by logisticUnit. If f is given, the factor y is applied in
	// the tiles instead.
	left []float64
	cx   []float64 // panels of d x panelCols
	y    []float64 // padded by zeros
	row  []float64
	tile []float64 // MetricTileCols x panelCols
	col  []float64 // MetricTileCols x lanes

	right, colx []float64 // for PairBlock: features of the rows, sums of columns; nil otherwise
}

func newPanelBlock(wide bool, rows, d int, f func([]float64)) *panelBlock {
	rows = (rows + panelCols - 1) / panelCols * panelCols
	return &panelBlock{
		wide: wide, d: d, f: f,
		left: make([]float64, rows*(bias+d)), cx: make([]float64, rows*d),
		y: make([]float64, rows), row: make([]float64, rows),
		tile: make([]float64, MetricTileCols*panelCols), col: make([]float64, MetricTileCols*lanes),
	}
}

func (b *panelBlock) Start(xw, s, y []float64) {
	d, m := b.d, len(s)
	b.m, b.panels = m, (m+panelCols-1)/panelCols
	rows := b.panels * panelCols
	clear(b.y[copy(b.y, y[:m]):rows])
	clear(b.row[:rows])
	clear(b.cx[:rows*d])
	unit := logisticUnit(b.wide)
	for p := range b.panels {
		from := p * panelCols
		count := min(panelCols, m-from)
		left := b.left[from*(bias+d):][:panelCols*(bias+d)]
		packTransposed(left[bias*panelCols:], xw[from*d:], count, d, d, 2)
		clear(left[:bias*panelCols])
		var scale [panelCols]float64
		for i := range count {
			scale[i] = 1
			if b.f == nil {
				scale[i] = y[from+i] / unit
			}
			left[i], left[panelCols+i] = scale[i]*(1-s[from+i]), -scale[i]
		}
		if b.f == nil {
			for l := bias; l < bias+d; l++ {
				for i, v := range scale {
					left[l*panelCols+i] *= v
				}
			}
		}
	}
}

func (b *panelBlock) Add(col, x, t, z []float64, skip int) {
	d := b.d
	for from := 0; from < len(t); from += MetricTileCols {
		n := min(MetricTileCols, len(t)-from)
		xj, tj, zj := x[from*d:][:n*d], t[from:][:n], z[from:][:n]
		sums := b.col[:n*lanes]
		clear(sums)
		for p := range b.panels {
			// The first j + all entries of row j of the tile are pairs.
			all := from - skip - p*panelCols + 1
			if n-1+all <= 0 {
				break
			}
			b.margins(p, xj, tj)
			if b.f == nil {
				b.logistic(p, zj, all)
			} else {
				b.custom(p, zj, all)
			}
			panelMulAdd(b.wide, b.cx[p*panelCols*d:], panelCols, xj, 1, d, b.tile, d, n, true)
			if b.colx != nil {
				b.couple(p, from, n)
			}
		}
		for j := range n {
			l := sums[j*lanes:][:lanes]
			col[from+j] += ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]))
		}
	}
}

// margins sets the tile to 1 - (s_i + t_j - 2 x_i^T W x_j) for a panel, times its scale.
func (b *panelBlock) margins(p int, x, t []float64) {
	panel, n := b.left[p*panelCols*(bias+b.d):][:panelCols*(bias+b.d)], len(t)
	run := min(dotBlock, b.d)
	_ = x[(n-1)*b.d+run-1]
	if b.wide {
		metricProductsAVX512(&b.tile[0], &t[0], &x[0], b.d, &panel[0], n, run)
	} else {
		const half = panelCols / 2
		metricProductsAVX2(&b.tile[0], &t[0], &x[0], b.d, &panel[0], n, run)
		metricProductsAVX2(&b.tile[half], &t[0], &x[0], b.d, &panel[half], n, run)
	}
	for from := run; from < b.d; from += run {
		run = min(dotBlock, b.d-from)
		panelMulAdd(b.wide, b.tile, panelCols, x[from:], b.d, 1, panel[(bias+from)*panelCols:], n, run, true)
	}
}

// logistic converts the tile to coefficients. Entries of the tile that are not pairs are cleared.
func (b *panelBlock) logistic(p int, z []float64, all int) {
	n, at := len(z), p*panelCols
	y, sums := b.y[at:][:panelCols], b.row[at:][:panelCols]
	var total [panelCols]float64
	first := min(max(panelCols-all, 0), n)
	for j := range first {
		var masked, row [panelCols]float64
		pairs := copy(masked[:], y[:max(j+all, 0)])
		c := b.tile[j*panelCols:][:panelCols]
		panelLogistic(b.wide, c, 1, masked[:], z[j:], row[:], b.col[j*lanes:])
		clear(c[pairs:])
		for i, v := range row[:pairs] {
			total[i] += v
		}
	}
	panelLogistic(b.wide, b.tile[first*panelCols:], n-first, y, z[first:], total[:], b.col[first*lanes:])
	for i, v := range total {
		sums[i] += v
	}
}

// custom is logistic for a given f.
func (b *panelBlock) custom(p int, z []float64, all int) {
	at := p * panelCols
	rows := min(panelCols, b.m-at)
	var sums [panelCols]float64
	for j, zj := range z {
		c := b.tile[j*panelCols:][:panelCols]
		pairs := min(max(j+all, 0), rows)
		clear(c[pairs:])
		c = c[:pairs]
		y := b.y[at:][:pairs]
		for i := range c {
			c[i] *= y[i] * zj
		}
		b.f(c)
		sum := 0.0
		for i, v := range c {
			v *= -zj
			c[i] = v
			sums[i] += v
			sum += y[i] * v
		}
		b.col[j*lanes] += sum
	}
	for i, v := range sums[:rows] {
		b.row[at+i] += v
	}
}

func (b *panelBlock) Sums(cx, row []float64) {
	for i := range row[:b.m] {
		row[i] += b.y[i] * b.row[i]
	}
	for p := range b.panels {
		from, rows := p*panelCols, min(panelCols, b.m-p*panelCols)
		for a := range b.d {
			to, sums, y := cx[a*b.m+from:][:rows], b.cx[(from*b.d + a*panelCols):][:rows], b.y[from:][:rows]
			for i, v := range sums {
				to[i] += y[i] * v
			}
		}
	}
}

// couple adds the tile of panel p and of n columns, which begin at column from, to colx.
func (b *panelBlock) couple(p, from, n int) {
	wide := GramStride(b.d)
	for q := 0; q < wide; q += panelCols {
		panelMulAdd(b.wide, b.colx[from*wide+q:], wide, b.tile, panelCols, 1, b.right[(p*wide+q)*panelCols:], n,
			panelCols, true)
	}
}
