//go:build !purego

package kernels

func (s *Set) accelerateMetric() {
	if s.variant == Generic {
		return
	}
	wide := s.variant == AVX512
	s.AddProducts = func(dst []float64, stride int, a, b []float64, m, n, k int) {
		panelAddProducts(wide, dst, stride, a, b, m, n, k)
	}
	s.NewMetricBlock = func(rows, d int) MetricBlock { return newPanelBlock(wide, rows, d) }
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

// panelLogistic replaces n rows of a tile of panelCols columns by coefficients, as
// MetricTile does with LogisticSlopes and the roles of rows and columns exchanged:
//
//	for j := range n {
//		for i := range panelCols {
//			p := y[i] * z[j]
//			v := p / (1 + math.Exp(p*(1-((s[i]+t[j])-c[j*panelCols+i]))))
//			c[j*panelCols+i] = v
//			row[i] += v
//			col[j*lanes+i%lanes] += v
//		}
//	}
//
// for margins up to MaxLogisticMargin. The slope of the margin, v over p, has a relative
// error below 12 u: 3 u of the exponential (see expUpTo; here 0.11 u of the
// polynomial, u each of the table or of its last step, and of the sum), u of 1 + e^v,
// and five roundings of the shared division. Three columns share a division, so
// (1 + e^v)^3 must not overflow. row has depth n + 1, col 7.
func panelLogistic(wide bool, c []float64, n int, s, y, t, z, row, col []float64) {
	if n == 0 {
		return
	}
	_, _, _, _ = c[n*panelCols-1], t[n-1], z[n-1], col[n*lanes-1]
	_, _, _ = s[panelCols-1], y[panelCols-1], row[panelCols-1]
	if wide {
		metricLogisticAVX512(&c[0], n, &s[0], &y[0], &t[0], &z[0], &row[0], &col[0])
		return
	}
	for i := 0; i < panelCols; i += 8 {
		metricLogisticAVX2(&c[i], n, &s[i], &y[i], &t[0], &z[0], &row[i], &col[0])
	}
}

// lanes is the number of partial sums of a column of a tile.
const lanes = 8

// panelBlock is a MetricBlock for panels of panelCols rows. Its tiles are transposed:
// a row of a tile is a column of the block.
type panelBlock struct {
	wide   bool
	d, m   int
	panels int // of the block in hand

	xw   []float64 // panels of d x panelCols: 2 xw transposed
	cx   []float64 // likewise
	s, y []float64 // padded by zeros
	row  []float64
	tile []float64 // MetricTileCols x panelCols
	col  []float64 // MetricTileCols x lanes
}

func newPanelBlock(wide bool, rows, d int) *panelBlock {
	rows = (rows + panelCols - 1) / panelCols * panelCols
	return &panelBlock{
		wide: wide, d: d,
		xw: make([]float64, rows*d), cx: make([]float64, rows*d),
		s: make([]float64, rows), y: make([]float64, rows), row: make([]float64, rows),
		tile: make([]float64, MetricTileCols*panelCols), col: make([]float64, MetricTileCols*lanes),
	}
}

func (b *panelBlock) Start(xw, s, y []float64) {
	d, m := b.d, len(s)
	b.m, b.panels = m, (m+panelCols-1)/panelCols
	rows := b.panels * panelCols
	clear(b.s[copy(b.s, s):rows])
	clear(b.y[copy(b.y, y[:m]):rows])
	clear(b.row[:rows])
	clear(b.cx[:rows*d])
	for p := range b.panels {
		packTransposed(b.xw[p*panelCols*d:], xw[p*panelCols*d:], min(panelCols, m-p*panelCols), d, d, 2)
	}
}

func (b *panelBlock) Add(col, x, t, z []float64, skip int, f func([]float64)) {
	d := b.d
	for from := 0; from < len(t); from += MetricTileCols {
		n := min(MetricTileCols, len(t)-from)
		xj, tj, zj := x[from*d:][:n*d], t[from:][:n], z[from:][:n]
		sums := b.col[:n*lanes]
		clear(sums)
		for p := range b.panels {
			// Of row j of the tile, the first j + all entries are pairs.
			all := from - skip - p*panelCols + 1
			if n-1+all <= 0 {
				break
			}
			panel := p * panelCols * d
			b.products(xj, b.xw[panel:][:panelCols*d], n)
			if f == nil {
				b.logistic(p, tj, zj, all)
			} else {
				b.custom(p, tj, zj, all, f)
			}
			panelMulAdd(b.wide, b.cx[panel:], panelCols, xj, 1, d, b.tile, d, n, true)
		}
		for j := range n {
			l := sums[j*lanes:][:lanes]
			col[from+j] += ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]))
		}
	}
}

// products sets the tile to x times a panel.
func (b *panelBlock) products(x, panel []float64, n int) {
	for from := 0; from < b.d; from += dotBlock {
		run := min(dotBlock, b.d-from)
		panelMulAdd(b.wide, b.tile, panelCols, x[from:], b.d, 1, panel[from*panelCols:], n, run, from > 0)
	}
}

// logistic turns the tile into coefficients. Rows of it with other columns than pairs
// get the label 0 there.
func (b *panelBlock) logistic(p int, t, z []float64, all int) {
	n, at := len(t), p*panelCols
	s, y := b.s[at:][:panelCols], b.y[at:][:panelCols]
	var masked, sums [panelCols]float64
	first := min(max(panelCols-all, 0), n)
	for j := range first {
		clear(masked[copy(masked[:], y[:max(j+all, 0)]):])
		panelLogistic(b.wide, b.tile[j*panelCols:], 1, s, masked[:], t[j:], z[j:], sums[:], b.col[j*lanes:])
	}
	panelLogistic(b.wide, b.tile[first*panelCols:], n-first, s, y, t[first:], z[first:], sums[:], b.col[first*lanes:])
	for i, v := range sums {
		b.row[at+i] += v
	}
}

// custom is logistic for any f.
func (b *panelBlock) custom(p int, t, z []float64, all int, f func([]float64)) {
	at := p * panelCols
	rows := min(panelCols, b.m-at)
	var sums [panelCols]float64
	for j, tj := range t {
		c := b.tile[j*panelCols:][:panelCols]
		pairs := min(max(j+all, 0), rows)
		clear(c[pairs:])
		c = c[:pairs]
		s, y, zj := b.s[at:][:pairs], b.y[at:][:pairs], z[j]
		for i, v := range c {
			c[i] = y[i] * zj * (1 - ((s[i] + tj) - v))
		}
		f(c)
		sum := 0.0
		for i, v := range c {
			v *= -(y[i] * zj)
			c[i] = v
			sums[i] += v
			sum += v
		}
		b.col[j*lanes] += sum
	}
	for i, v := range sums[:rows] {
		b.row[at+i] += v
	}
}

func (b *panelBlock) Sums(cx, row []float64) {
	for i := range row[:b.m] {
		row[i] += b.row[i]
	}
	for p := range b.panels {
		from, rows := p*panelCols, min(panelCols, b.m-p*panelCols)
		for a := range b.d {
			to, sums := cx[a*b.m+from:][:rows], b.cx[(from*b.d + a*panelCols):][:rows]
			for i, v := range sums {
				to[i] += v
			}
		}
	}
}
