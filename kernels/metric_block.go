package kernels

// MetricTileCols is the number of columns of a tile. A MetricBlock completes the sums over a tile before it
// adds them to other sums.
const MetricTileCols = 48

// MetricBlock sums the coefficients of the pairs of a Mahalanobis loss, and their
// products with features, over a block of rows i and any columns j:
//
//	for i := range s {
//		for j := range t {
//			if j >= i+skip {
//				c := 0.0
//				for a := range d {
//					c += xw[i*d+a] * x[j*d+a]
//				}
//				p := y[i] * z[j]
//				v := -f(p * (1 - ((s[i]+t[j]) - 2*c))) * p
//				row[i] += v
//				col[j] += v
//				for a := range d {
//					cx[a*len(s)+i] += v * x[j*d+a]
//				}
//			}
//		}
//	}
//
// Start sets xw, s and y. Add runs the loops for a range of columns. Sums adds the results to cx and row. f is
// the argument of newMetricBlock.
//
// A margin is the sum of p, -p s_i, -p t_j and the products 2 p xw_ia x_ja, each with at most
// MetricMarginDepth(d) roundings. Multiplying -f(u) by the labels of its pair gives v with at most 2
// roundings. If Add was called with T tiles of at most MetricTileCols columns, v takes part in at most
// MetricTileCols + T + 3 roundings of a row and of cx, including the roundings of its products. v takes part
// in at most len(s) + 1 roundings of a column.
type MetricBlock interface {
	// Start begins a block of len(s) rows, where len(s) is at most the number of rows for which the
	// block was created. xw is row-major, len(s) x d. The slices must not change before Sums.
	Start(xw, s, y []float64)
	// Add adds the pairs with len(t) columns. x is row-major, len(t) x d. If skip is -len(s) or less, Add takes
	// all pairs. On the diagonal of a symmetric matrix, skip = 1 takes the strict upper triangle.
	Add(col, x, t, z []float64, skip int)
	// Sums adds the sums since Start to cx and row. cx is row-major, d x len(s).
	Sums(cx, row []float64)
}

// MetricMarginDepth returns the depth of the margins of a MetricBlock for d features. The products of x_i^T W
// x_j include the label of i, which takes 2 roundings to scale and 1 to multiply. The other label, the sum with
// t_j, and 1 - s_i take 1 rounding each. The result has 1 rounding in reserve.
func MetricMarginDepth(d int) int { return AddProductsDepth(d) + 7 }

// newMetricBlock returns a MetricBlock for blocks of up to the given number of rows with d features. It holds
// O(rows d) numbers. f replaces every number of a slice by a function of the number. If f is nil, the default
// LogisticSlopes applies, and every margin must be within MaxLogisticMargin.
func newMetricBlock(rows, d int, f func([]float64)) MetricBlock {
	if f == nil {
		f = LogisticSlopes
	}
	return newPlainBlock(rows, d, f)
}

// plainBlock is a MetricBlock that uses AddProducts and metricTile.
type plainBlock struct {
	d        int
	f        func([]float64)
	xw, s, y []float64
	cx, row  []float64
	tile, xt []float64

	// PairBlock uses right for features by row, turned for the transposed tile and colx for
	// the sums of columns. Otherwise they are nil.
	right, turned, colx []float64

	persons MetricPersons // for a MetricPersonBlock
}

func newPlainBlock(rows, d int, f func([]float64)) *plainBlock {
	return &plainBlock{
		d: d, f: f, cx: make([]float64, rows*d), row: make([]float64, rows),
		tile: make([]float64, rows*MetricTileCols), xt: make([]float64, d*MetricTileCols),
	}
}

func (b *plainBlock) Start(xw, s, y []float64) {
	b.xw, b.s, b.y = xw, s, y
	clear(b.cx[:len(s)*b.d])
	clear(b.row[:len(s)])
}

func (b *plainBlock) Add(col, x, t, z []float64, skip int) {
	d, m := b.d, len(b.s)
	for from := 0; from < len(t); from += MetricTileCols {
		n := min(MetricTileCols, len(t)-from)
		tile, xt, xj := b.tile[:m*n], b.xt[:d*n], x[from*d:][:n*d]
		clear(tile)
		AddProducts(tile, n, b.xw, xj, m, n, d)
		var sums [MetricTileCols]float64
		if b.persons.Weight == nil {
			metricTile(tile, b.row, sums[:], b.s, b.y, t[from:][:n], z[from:], skip-from, b.f)
		} else {
			b.weigh(tile, sums[:n], t[from:][:n], z[from:], b.persons.column+from)
		}
		for j, v := range sums[:n] {
			col[from+j] += v
		}
		Transpose(xt, xj, n, d)
		AddProducts(b.cx, m, xt, tile, d, m, n)
		if b.colx != nil {
			b.couple(tile, from, n)
		}
	}
}

func (b *plainBlock) Sums(cx, row []float64) {
	m := len(b.s)
	for i, v := range b.row[:m] {
		row[i] += v
	}
	cx = cx[:m*b.d]
	for k, v := range b.cx[:len(cx)] {
		cx[k] += v
	}
}

// couple adds the tile of n columns, which begin at column from, to colx.
func (b *plainBlock) couple(tile []float64, from, n int) {
	m, stride := len(b.s), GramStride(b.d)
	Transpose(b.turned[:m*n], tile, m, n)
	AddProducts(b.colx[from*stride:], stride, b.turned, b.right, n, b.d, m)
}

// MetricPersons holds the weights of all rows and, for each row, the first row of the next person. All rows
// from Next[i] on belong to other persons than row i.
type MetricPersons struct {
	Weight []float64
	Next   []int32

	row, column int // first row of the block and first of its columns
}

// weigh is metricTile for the pairs and the weights of persons. column is the number of the row that is the
// first column.
func (b *plainBlock) weigh(c, col, t, z []float64, column int) {
	p, n := b.persons, len(t)
	for i, si := range b.s {
		first := min(max(int(p.Next[p.row+i])-column, 0), n)
		clear(c[i*n:][:first])
		ci, yi, wi := c[i*n+first:][:n-first], b.y[i], p.Weight[p.row+i]
		ti, zi, sums, wj := t[first:], z[first:], col[first:], p.Weight[column+first:]
		for j, v := range ci {
			ci[j] = yi * zi[j] * (1 - ((si + ti[j]) - 2*v))
		}
		b.f(ci)
		var r float64
		for j, v := range ci {
			v *= -(yi * zi[j]) * (wi * wj[j])
			ci[j] = v
			r += v
			sums[j] += v
		}
		b.row[i] += r
	}
}
