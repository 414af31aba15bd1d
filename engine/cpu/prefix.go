package cpu

import (
	"context"
	"fmt"

	"dyad/engine"
)

// prefixPairs computes x_T sum_i v_i - sum_i v_i x_i with v_i = phi'(u_i) (y_T - y_i). It
// sums blocks of blockRows rows in order, and jobs of prefixJob blocks in order.
func (e *evaluator) prefixPairs(ctx context.Context, dst, w []float64, q engine.PrefixPairs) error {
	T, d := q.T, e.x.d
	current := q.Record(T)
	jobRows := prefixJob * e.blockRows
	jobs := (T + jobRows - 1) / jobRows
	workers := min(e.kernel.workers, jobs)
	if block := min(e.blockRows, e.problem.N); len(e.prefix) < workers {
		for len(e.prefix) < workers {
			e.prefix = append(e.prefix, e.newPrefixScratch(block))
		}
	}
	for i := range e.prefix {
		e.prefix[i].failed = false
	}
	s := &e.prefix[0]
	s.rows[0] = current
	e.x.gatherDots(s.v[:1], w, s.rows[:1])
	score, label := s.v[0], e.y[current]

	clear(dst)
	var total float64
	if workers == 1 {
		total = e.prefixSerial(ctx, dst, w, q, score, label)
	} else if err := e.prefixParallel(ctx, dst, &total, w, q, score, label); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range e.prefix {
		if e.prefix[i].failed {
			return fmt.Errorf("cpu: PrefixPairs.Order has an entry outside 0 to %d", e.problem.N-1)
		}
	}
	s.rows[0], s.v[0] = current, total
	clear(s.acc)
	e.x.gatherAdd(s.acc, s.v[:1], s.rows[:1])
	for k := range d {
		dst[k] = s.acc[k] - dst[k]
	}
	return nil
}

// prefixSerial adds one job after the other. Its sums equal the sums of prefixParallel,
// because the first job also starts from zero there.
func (e *evaluator) prefixSerial(ctx context.Context, dst, w []float64, q engine.PrefixPairs,
	score, label float64) (total float64) {
	jobRows := prefixJob * e.blockRows
	if q.T <= jobRows {
		return e.prefixRun(&e.prefix[0], dst, w, q.Order, 0, q.T, score, label)
	}
	if len(e.jobSums) < e.x.d+1 {
		e.jobSums = make([]float64, e.x.d+1)
	}
	sum := e.jobSums[:e.x.d]
	for from := 0; from < q.T && ctx.Err() == nil; from += jobRows {
		clear(sum)
		total += e.prefixRun(&e.prefix[0], sum, w, q.Order, from, min(from+jobRows, q.T), score, label)
		addTo(dst, sum)
	}
	return total
}

func (e *evaluator) prefixParallel(ctx context.Context, dst []float64, total *float64, w []float64,
	q engine.PrefixPairs, score, label float64) error {
	d, jobRows := e.x.d, prefixJob*e.blockRows
	jobs := (q.T + jobRows - 1) / jobRows
	// Jobs run in waves with a bounded number of partial sums.
	wave := min(jobs, max(maxPartials/(d+1), e.kernel.workers))
	if len(e.jobSums) < wave*(d+1) {
		e.jobSums = make([]float64, wave*(d+1))
	}
	for first := 0; first < jobs; first += wave {
		count := min(wave, jobs-first)
		err := forEach(ctx, min(e.kernel.workers, len(e.prefix)), count, func(worker, job int) {
			sum := e.jobSums[job*(d+1) : (job+1)*(d+1)]
			clear(sum)
			from := (first + job) * jobRows
			sum[d] = e.prefixRun(&e.prefix[worker], sum[:d], w, q.Order, from, min(from+jobRows, q.T), score, label)
		})
		if err != nil {
			return err
		}
		for job := range count {
			sum := e.jobSums[job*(d+1) : (job+1)*(d+1)]
			addTo(dst, sum[:d])
			*total += sum[d]
		}
	}
	return nil
}

// prefixRun adds sum v_i x_i over the places [from, to) of order to sum, which is zero
// before. It returns sum v_i.
func (e *evaluator) prefixRun(s *prefixScratch, sum, w []float64, order []int32, from, to int,
	score, label float64) (total float64) {
	n := uint32(len(e.y))
	single := to-from <= e.blockRows
	for ; from < to; from += e.blockRows {
		end, m := min(from+e.blockRows, to), 0
		for i := from; i < end; i++ {
			row := int32(i)
			if order != nil {
				if row = order[i]; uint32(row) >= n {
					s.failed = true
					return 0
				}
			}
			diff, keep := label-e.y[row], 0
			if diff != 0 {
				keep = 1 // without a branch around m++, because labels in random order defeat branch prediction
			}
			s.rows[m], s.diff[m] = row, diff
			m += keep
		}
		rows, v := s.rows[:m], s.v[:m]
		e.x.gatherDots(v, w, rows)
		total += e.prefixTerms(v, s.diff, score)
		if single {
			e.x.gatherAdd(sum, v, rows)
			return total
		}
		clear(s.acc)
		e.x.gatherAdd(s.acc, v, rows)
		addTo(sum, s.acc)
	}
	return total
}

// prefixTerms replaces the scores s_i in v by v_i = phi'(D_i (score - s_i)) D_i and returns
// the sum of the v_i.
func (k *kernel) prefixTerms(v, diff []float64, score float64) (sum float64) {
	diff = diff[:len(v)]
	for i, s := range v {
		v[i] = diff[i] * (score - s)
	}
	k.slopes(v)
	for i := range v {
		v[i] *= diff[i]
		sum += v[i]
	}
	return sum
}
