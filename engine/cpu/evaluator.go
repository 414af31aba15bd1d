package cpu

import (
	"context"

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

// Kernel implements engine.Evaluator.
func (e *evaluator) Kernel() engine.Kernel { return e.planned }

// Close implements engine.Evaluator. It drops the scratch space.
func (e *evaluator) Close() error {
	e.all, e.partial, e.rowWork, e.prefix, e.jobSums = nil, nil, nil, nil, nil
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

// prefixScratch is the scratch space of one worker for PrefixPairs.
type prefixScratch struct {
	rows   []int32   // rows of a block whose label differs
	diff   []float64 // y_T - y_i
	v      []float64 // score, then phi'(u) (y_T - y_i)
	acc    []float64 // d: sum of v_i x_i over a block
	failed bool      // Order has an entry out of range
}

func (k *kernel) newPrefixScratch(rows int) prefixScratch {
	return prefixScratch{
		rows: make([]int32, rows), diff: make([]float64, rows), v: make([]float64, rows),
		acc: make([]float64, k.problem.D),
	}
}
