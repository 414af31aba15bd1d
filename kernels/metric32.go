package kernels

// MaxLogisticMargin32 is the largest margin of a MetricBlock32. Up to this margin, 1 + e^v and its reciprocal
// are far from the limits of float32.
const MaxLogisticMargin32 = 80

// MetricSpan32 is the number of columns whose products a MetricBlock32 adds up in
// float32.
const MetricSpan32 = 10 * MetricTileCols

// MetricBlock32 is a MetricBlock for LogisticSlopes that computes pairs in float32:
//
//	for i := range s {
//		for j := range t {
//			if j >= i+skip {
//				c := float32(y[i]*(1-s[i])) - float32(y[i])*t[j]
//				for a := range d {
//					c += float32(2*y[i]*xw[i*d+a]) * x[j*d+a]
//				}
//				v := z[j] / (1 + exp(c*z[j]))
//				row[i] += y[i] * v
//				col[j] += y[i] * v
//				for a := range d {
//					cx[a*len(s)+i] += y[i] * v * x[j*d+a]
//				}
//			}
//		}
//	}
//
// for margins c z within MaxLogisticMargin32. The v of a pair i, j is a function of row i and of the x, t
// and z of column j. Other rows and columns of the block do not change the operations that compute v.
//
// Margins are sums of the same summands as in a MetricBlock, with at most MetricMarginDepth(d) roundings of
// float32. Given its margin, v has a relative error below 10 w, w = 2^-24, apart from underflow. v takes part
// in these further roundings of float32:
//
//	row  MetricTileCols: the sum over a tile. Sums of tiles are added in float64.
//	col  len(s)/8 + 8: the product with y, which is rounded, and the sum over all i.
//	cx   MetricTileCols + MetricSpan32/MetricTileCols + 1: the product with x, the sum over
//	     a tile, and the sum over the tiles of a span.
//
// A tile has MetricTileCols columns, and the last tile of a call of Add can have fewer. A span has
// MetricSpan32/MetricTileCols tiles, counted from Start on. The other sums are in float64, with no more
// roundings than the sums of a MetricBlock.
type MetricBlock32 interface {
	// Start, Add and Sums are defined as in MetricBlock.
	Start(xw, s, y []float64)
	Add(col []float64, x, t, z []float32, skip int)
	Sums(cx, row []float64)
}

// newMetricBlock32 returns a MetricBlock32 for blocks of up to the given number of rows
// with d features. It holds O(rows d) numbers.
func newMetricBlock32(rows, d int) MetricBlock32 {
	return &plainBlock32{d: d, left: make([]float32, rows*(bias32+d)), part: make([]float32, d),
		cx: make([]float32, rows*d), wide: make([]float64, rows*d), row: make([]float64, rows)}
}

// bias32 is the number of factors of a row that precede the factors of features.
const bias32 = 2

// plainBlock32 is a MetricBlock32 without vector instructions. It is not faster than a MetricBlock.
type plainBlock32 struct {
	d, tiles int
	y        []float64
	left     []float32 // for each row 1 - s, -1 and 2 xw, multiplied by y
	part     []float32 // d sums of the current row over a tile
	cx       []float32 // rows x d, sums of the current span
	wide     []float64 // rows x d
	row      []float64
}

func (b *plainBlock32) Start(xw, s, y []float64) {
	b.y, b.tiles = y[:len(s)], 0
	for i, yi := range b.y {
		left := b.left[i*(bias32+b.d):][:bias32+b.d]
		left[0], left[1] = float32(yi*(1-s[i])), float32(-yi)
		for a, v := range xw[i*b.d:][:b.d] {
			left[bias32+a] = float32(2 * yi * v)
		}
	}
	clear(b.cx[:len(s)*b.d])
	clear(b.wide[:len(s)*b.d])
	clear(b.row[:len(s)])
}

func (b *plainBlock32) Add(col []float64, x, t, z []float32, skip int) {
	for from := 0; from < len(t); from += MetricTileCols {
		b.tile(col[from:], x[from*b.d:], t[from:min(from+MetricTileCols, len(t))], z[from:], skip-from)
		if b.tiles++; b.tiles == MetricSpan32/MetricTileCols {
			b.flush()
		}
	}
}

func (b *plainBlock32) tile(col []float64, x, t, z []float32, skip int) {
	d := b.d
	for i, yi := range b.y {
		left, part := b.left[i*(bias32+d):][:bias32+d], b.part[:d]
		w := left[bias32:]
		var sum float32
		clear(part)
		for j := max(i+skip, 0); j < len(t); j++ {
			xj := x[j*d:][:d]
			c := left[0] + float32(left[1]*t[j])
			for from := 0; from < d; from += dotBlock {
				dot, xs := float32(0), xj[from:min(from+dotBlock, d)]
				for a, v := range w[from:][:len(xs)] {
					dot += float32(v * xs[a])
				}
				c += dot
			}
			v := z[j] * float32(1/(1+expUpTo(float64(c*z[j]))))
			sum += v
			col[j] += float64(float32(yi) * v)
			for a, xa := range xj[:len(part)] {
				part[a] += float32(v * xa)
			}
		}
		for a, v := range part {
			b.cx[i*d+a] += v
		}
		b.row[i] += float64(sum)
	}
}

// flush adds the sums of the current span to the sums of all spans.
func (b *plainBlock32) flush() {
	b.tiles = 0
	for k, v := range b.cx[:len(b.y)*b.d] {
		b.wide[k] += float64(v)
		b.cx[k] = 0
	}
}

func (b *plainBlock32) Sums(cx, row []float64) {
	b.flush()
	m := len(b.y)
	for i, yi := range b.y {
		row[i] += yi * b.row[i]
		for a, v := range b.wide[i*b.d:][:b.d] {
			cx[a*m+i] += yi * v
		}
	}
}
