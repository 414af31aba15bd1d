package cpu

import (
	"context"
	"sync"
	"sync/atomic"
)

// forEach calls work once for every job in [0, jobs) on up to workers
// goroutines and returns ctx.Err(). When ctx is done it starts no further jobs.
// worker is in [0, workers) and never used by two calls at a time.
func forEach(ctx context.Context, workers, jobs int, work func(worker, job int)) error {
	workers = min(workers, jobs)
	if workers <= 1 {
		for job := range jobs {
			if err := ctx.Err(); err != nil {
				return err
			}
			work(0, job)
		}
		return ctx.Err()
	}
	var next atomic.Int64
	run := func(worker int) {
		for ctx.Err() == nil {
			job := int(next.Add(1)) - 1
			if job >= jobs {
				return
			}
			work(worker, job)
		}
	}
	var wg sync.WaitGroup
	for worker := 1; worker < workers; worker++ {
		wg.Go(func() { run(worker) })
	}
	run(0)
	wg.Wait()
	return ctx.Err()
}

// sumRows replaces the first row of a matrix of the given row length by the sum
// of its rows, in a binary tree of depth ceil(log2 rows).
func sumRows(m []float64, length int) {
	rows := len(m) / length
	for step := 1; step < rows; step *= 2 {
		for r := 0; r+step < rows; r += 2 * step {
			addTo(m[r*length:(r+1)*length], m[(r+step)*length:(r+step+1)*length])
		}
	}
}

// addTo is dst[k] += x[k].
func addTo(dst, x []float64) {
	x = x[:len(dst)]
	for k := range dst {
		dst[k] += x[k]
	}
}
