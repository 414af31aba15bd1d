package cpu

import (
	"context"
	"fmt"
	"slices"

	"dyad/engine"
)

// evaluator holds the records and all scratch space of a kernel. The scratch space has
// O(n + d) floats, and at most maxPartials floats of partial sums.
type evaluator struct {
	*kernel
	planned *kernel
	x       matrix
	y       []float64
	persons *rowsOfPersons // nil if each row is a record

	first, last int // chunks of this process: from first to last-1
	base        int // the row of the data set that row 0 of x is

	// values has Problem.LabelLimit labels: the labels that occur, in increasing order,
	// with the last label repeated. It is nil if there are too many labels.
	values []float64
	class  []uint8 // index into values

	// all computes c for all pairs. It is nil until the first call for all pairs.
	all     coefficients
	partial []float64 // chunks * d sums of rows
	rowWork []rowScratch
	prefix  []prefixScratch
	jobSums []float64 // partial sums of prefix jobs
}

// coefficients computes c for all pairs in two steps: prepare and block.
type coefficients interface {
	// prepare computes from w the numbers on which c depends.
	prepare(ctx context.Context, w []float64) error
	// block sets c to c_from, c_(from+1), .... It sets coefRows numbers, or fewer at the
	// end of a chunk. from is the first row of a chunk, or a multiple of coefRows after
	// it.
	block(worker int, c []float64, from int)
}

// rowScratch is the scratch space of one worker for X^T c.
type rowScratch struct{ c, acc []float64 }

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

// maxClasses is the largest number of different labels by which an evaluator sorts
// records.
const maxClasses = 16

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
			return fmt.Errorf("cpu: Bind: the shards have more than the %d different labels of Problem.LabelValues", limit)
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

// Kernel implements engine.Evaluator.
func (e *evaluator) Kernel() engine.Kernel { return e.planned }

// Close implements engine.Evaluator. It drops the scratch space.
func (e *evaluator) Close() error {
	e.all, e.partial, e.rowWork, e.prefix, e.jobSums = nil, nil, nil, nil, nil
	return nil
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
			e.all.block(worker, c, from)
			if e.persons != nil {
				e.persons.weigh(c, from)
			}
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

// eachChunk calls work for the chunks of this process, as forEach does.
func (e *evaluator) eachChunk(ctx context.Context, work func(worker, chunk int)) error {
	return forEach(ctx, e.kernel.workers, e.last-e.first, func(worker, job int) { work(worker, e.first+job) })
}

// chunk returns the rows of a chunk, as places in x.
func (e *evaluator) chunk(i int) (from, to int) {
	return i*e.chunkRows - e.base, min((i+1)*e.chunkRows, e.kernel.rows) - e.base
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
