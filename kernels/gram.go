package kernels

// gramCols divides the row length of AddGram.
const gramCols = 24

// GramStride returns the row length for d columns, which is d rounded up to a multiple of gramCols.
func GramStride(d int) int { return (d + gramCols - 1) / gramCols * gramCols }

// AddGramDepth returns the depth of AddGram: one product, the sum over the rows, and an addition to dst.
func AddGramDepth(rows int) int { return rows + 1 }

// AddGramAdditions returns a bound on how often AddGram adds to an element of dst. AddGram adds to the element
// once for each run of rows. Each addition rounds the previous content once.
func AddGramAdditions(rows int) int { return (rows + panelRun - 1) / panelRun }

// AddGram adds the upper triangle of x^T x to dst, for the first d columns of x. x is a row-major rows x stride
// matrix with stride = GramStride(d), and its other columns must be zero:
//
//	for i := range d {
//		for j := i; j < d; j++ {
//			for l := range rows {
//				dst[i*stride+j] += x[l*stride+i] * x[l*stride+j]
//			}
//		}
//	}
//
// with depth AddGramDepth(rows) and AddGramAdditions(rows) additions to dst. The elements below the diagonal of dst are
// unspecified.
func AddGram(dst, x []float64, rows, d int) {
	stride := GramStride(d)
	for i := range d {
		j := i
		for ; j+4 <= d; j += 4 {
			var s0, s1, s2, s3 float64
			for l := range rows {
				row := x[l*stride:][:stride]
				v, to := row[i], row[j:][:4]
				s0 += v * to[0]
				s1 += v * to[1]
				s2 += v * to[2]
				s3 += v * to[3]
			}
			to := dst[i*stride+j:][:4]
			to[0], to[1], to[2], to[3] = to[0]+s0, to[1]+s1, to[2]+s2, to[3]+s3
		}
		for ; j < d; j++ {
			var s float64
			for l := range rows {
				s += x[l*stride+i] * x[l*stride+j]
			}
			dst[i*stride+j] += s
		}
	}
}
