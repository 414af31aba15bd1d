package cpu

import (
	"context"
	"fmt"
	"slices"

	"dyad/engine"
)

// Bind implements engine.Kernel. It fails if the shape or the bounds of the records
// differ from the problem. It also fails if a row stores more features than
// Problem.NonZerosPerRow, because the roundoff bound would not hold.
func (k *kernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	if err := k.problem.FitsShard(r); err != nil {
		return nil, err
	}
	from, to := 0, k.problem.N
	if k.team != nil {
		from, to = k.Share(k.team.Rank())
	}
	first, end, err := r.Within(from, to)
	if err != nil {
		return nil, err
	}
	if end-first < r.Len() {
		r = r.Range(first, end)
	}
	e := k.bind(newMatrix(r, k.set), r)
	e.base = from
	return e, e.classify(context.Background())
}

// bind returns the evaluator for the features x with the labels and persons of r.
func (k *kernel) bind(x matrix, r *engine.Records) *evaluator {
	e := &evaluator{kernel: k, planned: k, x: x, y: r.Labels(), persons: newRowsOfPersons(r)}
	if e.persons != nil {
		grid := *k
		grid.rows = r.Len()
		grid.planGrid()
		e.kernel = &grid
		if k.method != Direct {
			e.persons.own = make([]float64, r.Len())
		}
	}
	e.first, e.last = engine.OwnShare(k.team, e.chunks())
	return e
}

// classify finds the labels that occur on any rank, if the problem allows at most maxClasses
// labels. The length of values and the work per record depend only on the problem, and not on
// the labels that occur.
func (e *evaluator) classify(ctx context.Context) error {
	limit := e.problem.LabelLimit()
	if limit > maxClasses {
		return nil
	}
	values := unique(make([]float64, 0, limit), e.y)
	if e.team != nil {
		all, _, err := engine.GatherValues(ctx, e.team, values)
		if err != nil {
			return err
		}
		if values = unique(nil, all); len(values) > limit {
			return fmt.Errorf("cpu: Bind: the shards have more than %d different labels (Problem.LabelValues)", limit)
		}
	}
	e.class = make([]uint8, len(e.y))
	for j, y := range e.y {
		i, _ := slices.BinarySearch(values, y)
		e.class[j] = uint8(i)
	}
	for len(values) < limit {
		values = append(values, values[len(values)-1]) // no record has this label: sums over it are 0
	}
	e.values = values
	return nil
}

// unique inserts numbers into values in increasing order, each once.
func unique(values, numbers []float64) []float64 {
	for _, y := range numbers {
		if i, found := slices.BinarySearch(values, y); !found {
			values = slices.Insert(values, i, y)
		}
	}
	return values
}

// Sum implements engine.Evaluator. It fails if ||W|| exceeds Problem.Radius by a relative
// amount above engine.RadiusSlack, because the roundoff bound would not hold.
func (e *evaluator) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	if err := e.problem.CheckGradient(ctx, dst, &q); err != nil {
		return err
	}
	if p, ok := q.Pairs.(engine.PrefixPairs); ok {
		if e.team != nil {
			return engine.ErrTeamPrefix
		}
		return e.prefixPairs(ctx, dst, q.W, p)
	}
	return e.allPairs(ctx, dst, q.W)
}

// prepare computes the numbers on which c of all pairs depends.
func (e *evaluator) prepare(ctx context.Context, w []float64) error {
	if e.all == nil {
		e.all = e.newMethod()
		e.partial = make([]float64, e.chunks()*e.x.d)
		e.rowWork = make([]rowScratch, min(e.kernel.workers, e.chunks()))
		for i := range e.rowWork {
			e.rowWork[i] = rowScratch{make([]float64, coefRows), make([]float64, e.x.d)}
		}
	}
	if err := e.all.prepare(ctx, w); err != nil {
		return err
	}
	if e.persons != nil && e.persons.own != nil {
		return e.ownPairs(ctx, w)
	}
	return nil
}

// weights sets c to the weights of the rows from the given one on, after prepare.
func (e *evaluator) weights(worker int, c []float64, from int) {
	e.all.block(worker, c, from)
	if e.persons != nil {
		e.persons.weigh(c, from)
	}
}

// allPairs computes X^T c.
func (e *evaluator) allPairs(ctx context.Context, dst, w []float64) error {
	if err := e.prepare(ctx, w); err != nil {
		return err
	}
	d := e.x.d
	err := e.eachChunk(ctx, func(worker, chunk int) {
		s := e.rowWork[worker]
		sum := e.partial[chunk*d : (chunk+1)*d]
		clear(sum)
		from, to := e.chunk(chunk)
		for ; from < to; from += coefRows {
			c := s.c[:min(coefRows, to-from)]
			e.weights(worker, c, from)
			for i := 0; i < len(c); i += e.blockRows {
				clear(s.acc)
				e.x.add(s.acc, c[i:min(i+e.blockRows, len(c))], from+i)
				addTo(sum, s.acc)
			}
		}
	})
	if err == nil {
		err = engine.GatherJobs(ctx, e.team, e.partial, e.chunks(), d)
	}
	if err != nil {
		return err
	}
	sumRows(e.partial, d)
	copy(dst, e.partial)
	return nil
}

// newMethod returns the implementation of the planned method.
func (e *evaluator) newMethod() coefficients {
	switch e.method {
	case NearLinear:
		return newNearLinear(e)
	case Sorted:
		return newSorted(e)
	}
	return newDirect(e)
}

// personJob is the number of persons whose own pairs form one job.
const personJob = 256

// ownPairs sets own to twice the sums over the pairs of rows within a person, with the
// weight of the other row of each pair. The sums over all rows contain these terms, and
// they must be subtracted.
func (e *evaluator) ownPairs(ctx context.Context, w []float64) error {
	p := e.persons
	persons := len(p.first) - 1
	jobs := (persons + personJob - 1) / personJob
	score := make([]float64, min(e.kernel.workers, jobs)*p.most)
	clear(p.own)
	return forEach(ctx, e.kernel.workers, jobs, func(worker, job int) {
		for k := job * personJob; k < min((job+1)*personJob, persons) && ctx.Err() == nil; k++ {
			from, to := p.first[k], p.first[k+1]
			if to-from < 2 {
				continue
			}
			s, y, sum := score[worker*p.most:][:to-from], e.y[from:to], p.own[from:to]
			e.x.dots(s, w, from)
			for i := range s {
				if i%64 == 0 && ctx.Err() != nil {
					return
				}
				for j := i + 1; j < len(s); j++ {
					if d := y[i] - y[j]; d != 0 {
						v := e.pairSlope(d, s[i], s[j]) * d
						sum[i] += v
						sum[j] -= v
					}
				}
			}
			for i := range sum {
				sum[i] *= 2 * p.weight[from]
			}
		}
	})
}

// pairSlope returns phi'(d (s - t)) as the method of the kernel computes it.
func (k *kernel) pairSlope(d, s, t float64) float64 {
	if k.method != Sorted {
		return k.dphi(d * (s - t))
	}
	if d < 0 {
		d, s, t = -d, t, s
	}
	var sum float64
	for i, p := range k.steps {
		if i == 0 || t <= s-p.From/d {
			sum += p.Slope + p.Rise*d*(s-t)
		}
	}
	return sum
}
