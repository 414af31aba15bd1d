package kernels

import "unsafe"

// PanelCols32 is the number of columns of a packed panel of float32.
const PanelCols32 = 48

// panelProducts32 multiplies m rows of k numbers by a packed panel of k x PanelCols32:
//
//	for i := range m {
//		for j := range PanelCols32 {
//			dst[i*PanelCols32+j] = 0
//			for l := range k {
//				dst[i*PanelCols32+j] += a[i*k+l] * panel[l*PanelCols32+j]
//			}
//		}
//	}
//
// in float32 with depth k + 1, in units of 2^-24. k must be at least 1. If the last row of panel consists of
// infinities of one sign and the last column of a has no zero, the results are infinities.
func panelProducts32(dst, a, panel []float32, m, k int) {
	for i := range m {
		to := dst[i*PanelCols32:][:PanelCols32]
		clear(to)
		for l, v := range a[i*k:][:k] {
			for j, b := range panel[l*PanelCols32:][:PanelCols32] {
				to[j] += float32(v * b)
			}
		}
	}
}

// AllNegative reports whether all numbers have the sign bit set. len(x) must be a multiple of 16.
func AllNegative(x []float32) bool {
	both := uint64(1<<63 | 1<<31)
	for ; len(x) >= 16; x = x[16:] {
		w := (*[8]uint64)(unsafe.Pointer(&x[0])) // two numbers each
		both &= w[0] & w[1] & w[2] & w[3] & w[4] & w[5] & w[6] & w[7]
	}
	return both == 1<<63|1<<31
}
