//go:build !purego

package kernels

import "unsafe"

func (s *Set) accelerateScore() {
	switch s.variant {
	case AVX2:
		s.LogisticTile = logisticTileBy(logisticTileAVX2)
	case AVX512:
		s.LogisticTile = logisticTileBy(logisticTileAVX512)
	}
}

// The functions below check lengths for the assembly, which takes pointers.

func logisticTileBy(f func(row, col, a, b *float64, m, n int)) func(row, col, a, b []float64) {
	return func(row, col, a, b []float64) {
		row, col = row[:len(a)], col[:len(b)]
		f(unsafe.SliceData(row), unsafe.SliceData(col), unsafe.SliceData(a), unsafe.SliceData(b), len(a), len(b))
	}
}
