package cpu

import (
	"context"

	"dyad/internal/tasks"
)

// forEach is tasks.Each.
func forEach(ctx context.Context, workers, jobs int, work func(worker, job int)) error {
	return tasks.Each(ctx, workers, jobs, work)
}

// sumRows replaces the first row of m, a matrix with the given row length, by the sum of
// its rows. It sums in a binary tree of depth ceil(log2 rows).
func sumRows(m []float64, length int) {
	rows := len(m) / length
	for step := 1; step < rows; step *= 2 {
		for r := 0; r+step < rows; r += 2 * step {
			addTo(m[r*length:(r+1)*length], m[(r+step)*length:(r+step+1)*length])
		}
	}
}

// addTo adds x[k] to dst[k] for every k.
func addTo(dst, x []float64) {
	x = x[:len(dst)]
	for k := range dst {
		dst[k] += x[k]
	}
}
