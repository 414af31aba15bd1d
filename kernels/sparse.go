package kernels

// sparseDot computes
//
//	for k := range value {
//		sum += value[k] * w[index[k]]
//	}
//
// with depth DotDepth(len(value)).
func sparseDot(value []float64, index []int32, w []float64) float64 {
	index = index[:len(value)]
	var sum float64
	for len(value) > dotBlock {
		sum += sparseDotRun(value[:dotBlock], index[:dotBlock], w)
		value, index = value[dotBlock:], index[dotBlock:]
	}
	return sum + sparseDotRun(value, index, w)
}

func sparseDotRun(value []float64, index []int32, w []float64) float64 {
	var s0, s1, s2, s3 float64
	for len(value) >= 4 && len(index) >= 4 {
		s0 += value[0] * w[index[0]]
		s1 += value[1] * w[index[1]]
		s2 += value[2] * w[index[2]]
		s3 += value[3] * w[index[3]]
		value, index = value[4:], index[4:]
	}
	for k, v := range value {
		s0 += v * w[index[k]]
	}
	return (s0 + s1) + (s2 + s3)
}

// SparseDots multiplies len(dst) compressed rows by w. Row i consists of the entries start[i] to start[i+1] of
// index and value:
//
//	for i := range dst {
//		a, b := start[i], start[i+1]
//		dst[i] = sparseDot(value[a:b], index[a:b], w)
//	}
func SparseDots(dst []float64, start []int64, index []int32, value, w []float64) {
	for i := range dst {
		a, b := start[i], start[i+1]
		dst[i] = sparseDot(value[a:b], index[a:b], w)
	}
}

// SparseGatherDots is SparseDots for selected rows:
//
//	for i, r := range rows {
//		a, b := start[r], start[r+1]
//		dst[i] = sparseDot(value[a:b], index[a:b], w)
//	}
func SparseGatherDots(dst []float64, start []int64, index []int32, value, w []float64, rows []int32) {
	dst = dst[:len(rows)]
	for i, r := range rows {
		a, b := start[r], start[r+1]
		dst[i] = sparseDot(value[a:b], index[a:b], w)
	}
}

// SparseAddRows adds compressed rows times c:
//
//	for i := range c {
//		for k := start[i]; k < start[i+1]; k++ {
//			acc[index[k]] += c[i] * value[k]
//		}
//	}
func SparseAddRows(acc, c []float64, start []int64, index []int32, value []float64) {
	for i, ci := range c {
		addSparse(acc, ci, index[start[i]:start[i+1]], value[start[i]:start[i+1]])
	}
}

// SparseGatherAddRows is SparseAddRows for selected rows:
//
//	for i, r := range rows {
//		for k := start[r]; k < start[r+1]; k++ {
//			acc[index[k]] += c[i] * value[k]
//		}
//	}
func SparseGatherAddRows(acc, c []float64, start []int64, index []int32, value []float64, rows []int32) {
	c = c[:len(rows)]
	for i, r := range rows {
		addSparse(acc, c[i], index[start[r]:start[r+1]], value[start[r]:start[r+1]])
	}
}

func addSparse(acc []float64, c float64, index []int32, value []float64) {
	index = index[:len(value)]
	for k, v := range value {
		acc[index[k]] += c * v
	}
}
