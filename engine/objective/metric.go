package objective

import (
	"context"
	"fmt"

	"dyad/engine"
	"dyad/kernels"
)

// These are the numbers of rows and columns of a tile of metricPairs.
const (
	metricRows = 96
	metricCols = 48
)

// metricPairs returns the sum of phi over i < j for a loss of distances:
//
//	for i := range n { for j := i + 1; j < n; j++ {
//		sum += loss.MetricPhi(y_i y_j (1 - (x_i^T W x_i + x_j^T W x_j - 2 x_i^T W x_j)))
//	} }
//
// It uses tiles of inner products. This takes n^2 (d + O(1)) operations, while loss.Value
// takes d^2 operations for each pair. The error of a distance is at most a few d u times
// R^2 ||W||. metricPairs allocates n numbers, and a tile of rows for each worker.
func metricPairs(ctx context.Context, loss engine.MetricLoss, w []float64, r *engine.Records,
	workers int) (float64, error) {
	set, err := kernels.Select(kernels.Best)
	if err != nil {
		return 0, fmt.Errorf("objective: %w", err)
	}
	n, d, y := r.Len(), r.Dim(), r.Labels()
	m, own := make([]float64, d*d), make([]float64, n)
	engine.Symmetric{Dim: d}.Unpack(m, w)
	blocks := (n + metricRows - 1) / metricRows
	times := func(x []float64, rows int) []float64 {
		xw := make([]float64, rows*d)
		set.AddProducts(xw, d, x, m, rows, d, d)
		return xw
	}
	if _, err := sumParts(ctx, blocks, workers, func(block int) float64 {
		from := block * metricRows
		rows := min(metricRows, n-from)
		x := r.Rows(nil, from, rows)
		xw := times(x, rows)
		for i := range rows {
			own[from+i] = set.Dot(x[i*d:][:d], xw[i*d:][:d])
		}
		return 0
	}); err != nil {
		return 0, err
	}
	return sumParts(ctx, blocks, workers, func(block int) float64 {
		from := block * metricRows
		rows := min(metricRows, n-from)
		xw := times(r.Rows(nil, from, rows), rows)
		tile, right := make([]float64, metricRows*metricCols), make([]float64, metricCols*d)
		var a accumulator
		for first := from; first < n && ctx.Err() == nil; first += metricCols {
			cols := min(metricCols, n-first)
			clear(tile[:rows*cols])
			set.AddProducts(tile, cols, xw, r.Rows(right, first, cols), rows, cols, d)
			for i := range rows {
				s, label, c := own[from+i], y[from+i], tile[i*cols:][:cols]
				for j := max(from+i+1-first, 0); j < cols; j++ {
					a.add(loss.MetricPhi(label * y[first+j] * (1 - (s + own[first+j] - 2*c[j]))))
				}
			}
		}
		return a.value()
	})
}
