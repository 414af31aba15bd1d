//go:build !purego

package kernels

import "unsafe"

func (s *Set) accelerateScore() {
	switch s.variant {
	case AVX2:
		s.LogisticTile = logisticTileBy(logisticTileAVX2)
		s.LogisticPairTile = logisticPairTileBy(logisticPairTileAVX2)
		s.LogisticSlopes = logisticSlopesBy(logisticSlopesAVX2)
	case AVX512:
		s.LogisticTile = logisticTileBy(logisticTileAVX512)
		s.LogisticPairTile = logisticPairTileBy(logisticPairTileAVX512)
		s.LogisticSlopes = logisticSlopesBy(logisticSlopesAVX512)
	}
}

// The functions below check lengths for the assembly, which takes pointers.

func logisticTileBy(f func(row, col, a, b *float64, m, n int)) func(row, col, a, b []float64) {
	return func(row, col, a, b []float64) {
		row, col = row[:len(a)], col[:len(b)]
		f(unsafe.SliceData(row), unsafe.SliceData(col), unsafe.SliceData(a), unsafe.SliceData(b), len(a), len(b))
	}
}

func logisticPairTileBy(f func(row, col, s, y, t, z *float64, m, n, skip int)) func(row, col, s, y, t, z []float64, skip int) {
	return func(row, col, s, y, t, z []float64, skip int) {
		row, y = row[:len(s)], y[:len(s)]
		col, z = col[:len(t)], z[:len(t)]
		f(unsafe.SliceData(row), unsafe.SliceData(col), unsafe.SliceData(s), unsafe.SliceData(y),
			unsafe.SliceData(t), unsafe.SliceData(z), len(s), len(t), skip)
	}
}

func logisticSlopesBy(f func(x *float64, n int)) func(v []float64) {
	return func(v []float64) { f(unsafe.SliceData(v), len(v)) }
}
