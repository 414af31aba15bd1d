package cpu

import (
	"context"
	"fmt"

	"dyad/engine"
	"dyad/kernels"
)

// prefixPairs sets the upper triangle of total to sum c_i v_i v_i^T with v_i = x_T - x_i.
// It sums blocks of metricRows rows in order, and jobs of metricJob blocks in order. It
// costs 3 d^2 multiplications per pair.
func (e *metricEvaluator) prefixPairs(ctx context.Context, q engine.PrefixPairs) error {
	current := q.Record(q.T)
	const jobRows = metricJob * metricRows
	jobs := (q.T + jobRows - 1) / jobRows
	workers := min(e.workers, jobs)
	e.scratch(workers, false)
	for i := range e.work {
		e.work[i].failed = false
	}
	if jobs == 1 {
		e.prefixRun(ctx, &e.work[0], e.total, q.Order, 0, q.T, current)
	} else if err := e.prefixJobs(ctx, q, current, jobs, workers); err != nil {
		return err
	}
	for i := range e.work {
		if e.work[i].failed {
			return fmt.Errorf("cpu: PrefixPairs.Order has an entry outside 0 to %d", e.problem.N-1)
		}
	}
	return ctx.Err()
}

func (e *metricEvaluator) prefixJobs(ctx context.Context, q engine.PrefixPairs, current int32,
	jobs, workers int) error {
	const jobRows = metricJob * metricRows
	size, slots := e.x.d*e.x.d, 1
	if workers > 1 {
		slots = e.slots(jobs)
	}
	if len(e.partial) < slots*size {
		e.partial = make([]float64, slots*size)
	}
	return e.reduce(ctx, e.total, jobs, slots, func(worker, job, slot int) {
		e.prefixRun(ctx, &e.work[worker], e.partial[slot*size:][:size], q.Order, job*jobRows,
			min((job+1)*jobRows, q.T), current)
	}, 0, nil)
}

// prefixRun adds sum c_i v_i v_i^T to the upper triangle of sum, where i runs over the
// places [from, to) of order. It returns early when ctx is done.
func (e *metricEvaluator) prefixRun(ctx context.Context, s *metricScratch, sum []float64, order []int32, from, to int,
	current int32) {
	n, d, label := uint32(len(e.y)), e.x.d, e.y[current]
	for ; from < to && ctx.Err() == nil; from += metricRows {
		m := min(metricRows, to-from)
		v, vw, p, c := s.x[:m*d], s.xw[:m*d], s.row[:m], s.c[:m]
		for i := range m {
			row := int32(from + i)
			if order != nil {
				if row = order[from+i]; uint32(row) >= n {
					s.failed = true
					return
				}
			}
			e.x.difference(v[i*d:][:d], int(current), int(row))
			p[i] = label * e.y[row]
		}
		e.timesW(vw, v, m)
		for i := range c {
			c[i] = p[i] * (1 - e.set.Dot(v[i*d:][:d], vw[i*d:][:d]))
		}
		e.slopes(c)
		for i := range c {
			c[i] *= -p[i]
		}
		kernels.Transpose(s.xt[:d*m], v, m, d)
		s.addWeighted(e.set.AddProducts, sum, c, d)
	}
}
