//go:build !purego

package kernels

// panelAddGram is AddGram with panels of gramCols = panelCols columns. If there are several panels, each panel
// is copied, so that its rows are contiguous.
func panelAddGram(wide bool, dst, x []float64, rows, d int) {
	stride := GramStride(d)
	if stride == panelCols {
		panelMulAdd(wide, dst, stride, x, 1, stride, x, d, rows, true)
		return
	}
	var panel [panelRun * panelCols]float64
	for from := 0; from < rows; from += panelRun {
		run := min(panelRun, rows-from)
		for j := 0; j < d; j += panelCols {
			for l := range run {
				copy(panel[l*panelCols:][:panelCols], x[(from+l)*stride+j:])
			}
			panelMulAdd(wide, dst[j:], stride, x[from*stride:], 1, stride, panel[:], min(j+panelCols, d), run, true)
		}
	}
}
