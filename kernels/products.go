package kernels

// panelRun is the largest number of products that vector kernels sum in one run.
const panelRun = 64

// AddProductsDepth returns the depth of AddProducts for sums of k products. It counts a product, the additions
// in a run, and one addition per run. A run has 256 products, or panelRun products in vector kernels.
func AddProductsDepth(k int) int {
	return max(min(k, dotBlock)+(k+dotBlock-1)/dotBlock, min(k, panelRun)+(k+panelRun-1)/panelRun)
}

// AddProducts adds the product of the row-major m x k matrix a with the transpose of the row-major n x k matrix
// b to a row-major m x n matrix in dst. Row i of this matrix starts at dst[i*stride], with stride >= n:
//
//	for i := range m {
//		for j := range n {
//			for l := range k {
//				dst[i*stride+j] += a[i*k+l] * b[j*k+l]
//			}
//		}
//	}
//
// The depth of each sum is AddProductsDepth(k). The order of summation of an element depends only on k, and
// in vector kernels also on the place of the element. Products are converted to float64, so that the
// compiler cannot fuse products and sums in some loops only. So an element is a function of its row of a
// and its row of b, bit for bit. The loops compute blocks of 2 x 3 elements. Larger blocks do not fit into
// the registers that the compiler uses on amd64 and are slower.
func AddProducts(dst []float64, stride int, a, b []float64, m, n, k int) {
	if n == 0 {
		return
	}
	for from := 0; from < k; from += dotBlock {
		run := min(dotBlock, k-from)
		i := 0
		for ; i+2 <= m; i += 2 {
			addProducts2(dst[i*stride:][:n], dst[(i+1)*stride:][:n], a[i*k+from:][:run], a[(i+1)*k+from:][:run], b[from:], k)
		}
		if i < m {
			addProducts1(dst[i*stride:][:n], a[i*k+from:][:run], b[from:], k)
		}
	}
}

// addProducts2 adds to two rows of the result.
func addProducts2(d0, d1, a0, a1, b []float64, k int) {
	a1, d1 = a1[:len(a0)], d1[:len(d0)]
	j := 0
	for ; j+3 <= len(d0); j += 3 {
		b0, b1, b2 := b[j*k:][:len(a0)], b[(j+1)*k:][:len(a0)], b[(j+2)*k:][:len(a0)]
		var s00, s01, s02, s10, s11, s12 float64
		for l, u := range a0 {
			v := a1[l]
			x0, x1, x2 := b0[l], b1[l], b2[l]
			s00 += float64(u * x0)
			s01 += float64(u * x1)
			s02 += float64(u * x2)
			s10 += float64(v * x0)
			s11 += float64(v * x1)
			s12 += float64(v * x2)
		}
		d0[j] += s00
		d0[j+1] += s01
		d0[j+2] += s02
		d1[j] += s10
		d1[j+1] += s11
		d1[j+2] += s12
	}
	for ; j < len(d0); j++ {
		b0 := b[j*k:][:len(a0)]
		var s0, s1 float64
		for l, u := range a0 {
			s0 += float64(u * b0[l])
			s1 += float64(a1[l] * b0[l])
		}
		d0[j] += s0
		d1[j] += s1
	}
}

// addProducts1 adds to one row of the result.
func addProducts1(d0, a0, b []float64, k int) {
	j := 0
	for ; j+3 <= len(d0); j += 3 {
		b0, b1, b2 := b[j*k:][:len(a0)], b[(j+1)*k:][:len(a0)], b[(j+2)*k:][:len(a0)]
		var s0, s1, s2 float64
		for l, u := range a0 {
			s0 += float64(u * b0[l])
			s1 += float64(u * b1[l])
			s2 += float64(u * b2[l])
		}
		d0[j] += s0
		d0[j+1] += s1
		d0[j+2] += s2
	}
	for ; j < len(d0); j++ {
		b0 := b[j*k:][:len(a0)]
		var s float64
		for l, u := range a0 {
			s += float64(u * b0[l])
		}
		d0[j] += s
	}
}

// Transpose sets dst to the transpose of a row-major rows x cols matrix:
//
//	for i := range rows {
//		for j := range cols {
//			dst[j*rows+i] = x[i*cols+j]
//		}
//	}
func Transpose(dst, x []float64, rows, cols int) {
	i := 0
	for ; i+4 <= rows; i += 4 {
		x0, x1, x2, x3 := x[i*cols:][:cols], x[(i+1)*cols:][:cols], x[(i+2)*cols:][:cols], x[(i+3)*cols:][:cols]
		for j, v := range x0 {
			t := dst[j*rows+i:][:4]
			t[0], t[1], t[2], t[3] = v, x1[j], x2[j], x3[j]
		}
	}
	for ; i < rows; i++ {
		for j, v := range x[i*cols:][:cols] {
			dst[j*rows+i] = v
		}
	}
}

// ScaleColumns sets dst to the row-major rows x len(c) matrix x with column i multiplied by c_i:
//
//	for k := range rows {
//		for i := range c {
//			dst[k*len(c)+i] = c[i] * x[k*len(c)+i]
//		}
//	}
func ScaleColumns(dst, c, x []float64, rows int) {
	n := len(c)
	for k := range rows {
		to, from := dst[k*n:][:n], x[k*n:][:n]
		for i, v := range c {
			to[i] = v * from[i]
		}
	}
}
