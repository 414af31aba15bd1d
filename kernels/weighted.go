package kernels

// WeightedTile is SlopeTile for rows and columns with weights. The number of column j is from + j. Row i is
// paired with the columns whose number is next[i] or more (docs/theory.md#person-sums):
//
//	for i := range s {
//		for j := max(next[i]-from, 0); j < len(t); j++ {
//			d := y[i] - z[j]
//			row[i] += b[j] * f(d*(s[i]-t[j])) * d
//			col[j] -= a[i] * f(d*(s[i]-t[j])) * d
//		}
//	}
//
// The sums add len(t) + 1 roundings to a row and len(s) roundings to a column, in addition to the roundings of
// products with weights.
func WeightedTile(row, col, s, y, a []float64, next []int32, t, z, b []float64, from int, work []float64,
	f func([]float64)) {
	y, row, a, next = y[:len(s)], row[:len(s)], a[:len(s)], next[:len(s)]
	for i, si := range s {
		first := max(int(next[i])-from, 0)
		if first >= len(t) {
			continue
		}
		ti, zi, bi, sums := t[first:], z[first:], b[first:], col[first:]
		v := work[:len(ti)]
		zi, bi, sums = zi[:len(v)], bi[:len(v)], sums[:len(v)]
		for j, tj := range ti {
			v[j] = (y[i] - zi[j]) * (si - tj)
		}
		f(v)
		var r float64
		for j, slope := range v {
			x := slope * (y[i] - zi[j])
			r += bi[j] * x
			sums[j] -= a[i] * x
		}
		row[i] += r
	}
}

// WeightedPowerSums is PowerSums with a weight for every number, and returns the sum of the
// weights:
//
//	for j := range x {
//		for i := 0; i < len(sum)/8; i++ {
//			sum[8*i+j/4%8] += w[j] * math.Pow(x[j], i+1)
//		}
//	}
//
// The relative error of a computed w x^i is at most i roundings. Each partial sum has at most len(x)/8 + 4
// additions, and the sum of the weights has at most len(x)/4 + 5 additions. Zero weights add zero.
func WeightedPowerSums(sum, x, w []float64) (total float64) {
	w = w[:len(x)]
	lane := 0
	var w0, w1, w2, w3 float64
	for ; len(x) >= 4; x, w = x[4:], w[4:] {
		x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
		w0, w1, w2, w3 = w0+w[0], w1+w[1], w2+w[2], w3+w[3]
		t0, t1, t2, t3 := w[0]*x0, w[1]*x1, w[2]*x2, w[3]*x3
		for i := lane; i < len(sum); i += 8 {
			sum[i] += (t0 + t1) + (t2 + t3)
			t0 *= x0
			t1 *= x1
			t2 *= x2
			t3 *= x3
		}
		lane = (lane + 1) & 7
	}
	for j, v := range x {
		w0 += w[j]
		t := w[j] * v
		for i := lane; i < len(sum); i += 8 {
			sum[i] += t
			t *= v
		}
	}
	return (w0 + w1) + (w2 + w3)
}

// MetricPersonBlock is a MetricBlock for MetricPersons. Row i is paired with the columns from number
// Next[i] on, and each pair is multiplied by both weights. The method At sets the first row and column.
type MetricPersonBlock struct{ plainBlock }

// NewMetricPersonBlock returns a block for up to the given number of rows with d features. f is as for a
// MetricBlock, but must not be nil.
func NewMetricPersonBlock(rows, d int, p MetricPersons, f func([]float64)) *MetricPersonBlock {
	b := &MetricPersonBlock{*newPlainBlock(rows, d, f)}
	b.persons = p
	return b
}

// At sets two record numbers for the next calls of Start and Add: the record of the block's first row and
// the record of the first column.
func (b *MetricPersonBlock) At(row, column int) { b.persons.row, b.persons.column = row, column }
