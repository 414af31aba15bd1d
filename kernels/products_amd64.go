//go:build !purego

package kernels

// panelCols is the number of columns of a packed panel, three vectors of 512 bits or
// six of 256.
const panelCols = 24

// panelMulAdd computes
//
//	for i := range m {
//		for j := range panelCols {
//			sum := 0.0
//			for l := range k {
//				sum += a[i*rs+l*ls] * b[l*panelCols+j]
//			}
//			if !add {
//				dst[i*ldd+j] = 0
//			}
//			dst[i*ldd+j] += sum
//		}
//	}
//
// with depth k + 1.
func panelMulAdd(wide bool, dst []float64, ldd int, a []float64, rs, ls int, b []float64, m, k int, add bool) {
	if m == 0 || k == 0 {
		return
	}
	_, _, _ = dst[(m-1)*ldd+panelCols-1], a[(m-1)*rs+(k-1)*ls], b[k*panelCols-1]
	keep := 0
	if add {
		keep = 1
	}
	if wide {
		mulAddAVX512(&dst[0], ldd, &a[0], rs, ls, &b[0], m, k, keep)
		return
	}
	const half = panelCols / 2
	mulAddAVX2(&dst[0], ldd, &a[0], rs, ls, &b[0], m, k, keep)
	mulAddAVX2(&dst[half], ldd, &a[0], rs, ls, &b[half], m, k, keep)
}

// packTransposed packs the transpose of rows x k numbers, times scale, into a panel. Row i of x starts at
// x[i*stride]. rows must be at most panelCols, and the other columns of the panel are zero.
func packTransposed(panel, x []float64, rows, k, stride int, scale float64) {
	panel = panel[:k*panelCols]
	if rows < panelCols {
		clear(panel)
	}
	i := 0
	for ; i+4 <= rows; i += 4 {
		x0, x1, x2, x3 := x[i*stride:][:k], x[(i+1)*stride:][:k], x[(i+2)*stride:][:k], x[(i+3)*stride:][:k]
		for l, v := range x0 {
			to := panel[l*panelCols+i:][:4]
			to[0], to[1], to[2], to[3] = scale*v, scale*x1[l], scale*x2[l], scale*x3[l]
		}
	}
	for ; i < rows; i++ {
		for l, v := range x[i*stride:][:k] {
			panel[l*panelCols+i] = scale * v
		}
	}
}

// panelAddProducts is AddProducts with panels. For fewer than fewRows rows, packing b takes longer than it
// saves, so AddProducts is called.
func panelAddProducts(wide bool, dst []float64, stride int, a, b []float64, m, n, k int) {
	const fewRows = 8
	if m < fewRows {
		AddProducts(dst, stride, a, b, m, n, k)
		return
	}
	var panel [panelRun * panelCols]float64
	var edge [panelCols * panelCols]float64
	for from := 0; from < k; from += panelRun {
		run := min(panelRun, k-from)
		for j := 0; j < n; j += panelCols {
			cols := min(panelCols, n-j)
			packTransposed(panel[:], b[j*k+from:], cols, run, k, 1)
			if cols == panelCols {
				panelMulAdd(wide, dst[j:], stride, a[from:], k, 1, panel[:], m, run, true)
				continue
			}
			for i := 0; i < m; i += panelCols {
				rows := min(panelCols, m-i)
				panelMulAdd(wide, edge[:], panelCols, a[i*k+from:], k, 1, panel[:], rows, run, false)
				for r := range rows {
					to := dst[(i+r)*stride+j:][:cols]
					for c, v := range edge[r*panelCols:][:cols] {
						to[c] += v
					}
				}
			}
		}
	}
}
