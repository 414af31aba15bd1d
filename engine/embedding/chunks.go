package embedding

import (
	"context"

	"dyad/internal/tasks"
)

// eachChunk calls do(worker, chunk) once for every chunk from 0 to chunks-1, until ctx
// is done; worker is from 0 to workers-1 and is never in two calls at a time. Which
// worker gets which chunk changes the time only.
func eachChunk(ctx context.Context, chunks, workers int, do func(worker, chunk int)) error {
	if workers = min(workers, chunks); workers > 1 {
		var wait tasks.Group
		for k := range workers {
			wait.Go(func() {
				for c := k; c < chunks && ctx.Err() == nil; c += workers {
					do(k, c)
				}
			})
		}
		wait.Wait()
	} else {
		for c := 0; c < chunks && ctx.Err() == nil; c++ {
			do(0, c)
		}
	}
	return ctx.Err()
}

// joinChunks sets dst to the sum of the first chunks partial sums, in the order of a
// binary tree of depth ceil(log2 chunks). It overwrites partial.
func joinChunks(dst []float64, partial [][]float64, chunks int) {
	for step := 1; step < chunks; step *= 2 {
		for c := 0; c+step < chunks; c += 2 * step {
			for k, v := range partial[c+step] {
				partial[c][k] += v
			}
		}
	}
	clear(dst)
	if chunks > 0 {
		copy(dst, partial[0])
	}
}

// grow makes sure that partial has at least chunks sums of length n.
func grow(partial [][]float64, chunks, n int) [][]float64 {
	for len(partial) < chunks {
		partial = append(partial, make([]float64, n))
	}
	return partial
}
