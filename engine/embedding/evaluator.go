package embedding

import (
	"context"
	"fmt"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/tasks"
)

// evaluator holds records, the scratch space of sums over pairs and the partial sums of parameters. For n rows
// the scratch space has 2 n (m + 1) numbers.
type evaluator struct {
	*kernel
	records  *engine.Records
	scores   *cpu.ScoreSums
	embedded *cpu.EmbeddedSums
	clipped  *clippedPairs

	elsewhere   Rows      // nil: here
	g, norms    []float64 // from there: n x m, n
	f, v, scale []float64 // n x m, n x m, n
	partial     []float64 // chunks x parameters
	work        []worker
}

// worker is the scratch space of one goroutine.
type worker struct {
	pass  *modelPass
	x     []float64 // BlockRows x d, for rows that are not dense
	f     []float64 // BlockRows x m
	norms []float64
	sum   []float64 // of a block, as long as theta
}

// Bind implements engine.Kernel.
func (k *kernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	if err := k.problem.Fits(r); err != nil {
		return nil, err
	}
	e := &evaluator{kernel: k, records: r}
	var err error
	switch {
	case k.loss.PairClip > 0:
		e.clipped = newClippedPairs(e)
	case k.scores != nil:
		e.scores, err = cpu.BindScores(k.scores, r)
	default:
		e.embedded, err = k.pairs.BindEmbedded(r)
	}
	if err == nil && k.elsewhere != nil {
		if e.elsewhere, err = k.elsewhere.Bind(r); err != nil {
			_ = e.Close() // Bind reports the error
			return nil, err
		}
	}
	return e, err
}

// Kernel implements engine.Evaluator.
func (e *evaluator) Kernel() engine.Kernel { return e.kernel }

// Close implements engine.Evaluator. It drops the scratch space.
func (e *evaluator) Close() (err error) {
	e.f, e.v, e.scale, e.partial, e.work, e.g, e.norms = nil, nil, nil, nil, nil, nil, nil
	if e.elsewhere != nil {
		err = e.elsewhere.Close()
	}
	if e.clipped != nil {
		e.clipped.close()
	}
	if e.embedded != nil {
		e.embedded.Close()
	}
	return err
}

// start makes the scratch space.
func (e *evaluator) start() {
	n, d, parameters := e.records.Len(), e.problem.D, e.loss.ParamDim(e.problem.D)
	e.f, e.v, e.scale = make([]float64, n*e.dim), make([]float64, n*e.dim), make([]float64, n)
	if e.elsewhere != nil {
		e.g, e.norms, parameters = make([]float64, n*e.dim), make([]float64, n), 0
	}
	e.partial = make([]float64, e.chunks*parameters)
	for range min(e.workers, e.chunks) {
		w := worker{f: make([]float64, BlockRows*e.dim), norms: make([]float64, BlockRows), sum: make([]float64, parameters)}
		if e.elsewhere != nil {
			w.pass = e.loss.Model.passOf(&given{reach: e.loss.Model.Network.Reach(e.problem.Bounds.FeatureNorm)})
		} else if w.pass = e.loss.Model.newPass(e.set); e.records.Dense() == nil {
			w.x = make([]float64, BlockRows*d)
		}
		e.work = append(e.work, w)
	}
	if e.clipped != nil {
		e.clipped.start()
	}
}

// chunk returns the rows of a chunk. Their number is a multiple of BlockRows, except in the last chunk.
func (e *evaluator) chunk(i int) (from, to int) {
	n := e.records.Len()
	blocks := (n + BlockRows - 1) / BlockRows
	size := (blocks + e.chunks - 1) / e.chunks * BlockRows
	return min(i*size, n), min((i+1)*size, n)
}

// Sum implements engine.Evaluator for all pairs.
func (e *evaluator) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	if err := e.problem.CheckGradient(ctx, dst, &q); err != nil {
		return err
	}
	if _, ok := q.Pairs.(engine.AllPairs); !ok {
		return fmt.Errorf("%w: a network sums over all pairs of its records, not over pairs of type %T",
			engine.ErrUnsupported, q.Pairs)
	}
	if e.work == nil {
		e.start()
	}
	for i := range e.work {
		e.work[i].pass.Set(q.W)
	}
	if e.elsewhere != nil {
		if err := e.elsewhere.Embed(ctx, e.g, e.norms, q.W); err != nil {
			return err
		}
	}
	if err := e.eachBlock(ctx, e.embed); err != nil {
		return err
	}
	if err := e.sumPairs(ctx); err != nil {
		return err
	}
	if e.elsewhere != nil {
		if err := e.eachBlock(ctx, e.scaleBlock); err != nil {
			return err
		}
		return e.elsewhere.Pull(ctx, dst, e.v)
	}
	clear(e.partial)
	if err := e.eachBlock(ctx, e.pullBlock); err != nil {
		return err
	}
	joinChunks(dst, e.partial, e.chunks)
	return nil
}

// sumPairs is step 2.
func (e *evaluator) sumPairs(ctx context.Context) error {
	switch {
	case e.clipped != nil:
		return e.clipped.sum(ctx, e.v)
	case e.scores != nil:
		return e.scores.Sum(ctx, e.v, e.f)
	}
	return e.embedded.Sum(ctx, e.v, e.f)
}

// embed computes step 1 for a block. A record whose embedding or Jacobian is not finite gets the embedding 0
// and the scale 0.
func (e *evaluator) embed(w *worker, _, from, count int) {
	f := e.f[from*e.dim:][:count*e.dim]
	var x []float64
	if e.elsewhere == nil {
		x = e.records.Rows(w.x, from, count)
	}
	w.from(e, from)
	w.pass.embed(f, w.norms, x, count)
	for i, norm := range w.norms[:count] {
		e.scale[from+i] = 0
		if row := f[i*e.dim:][:e.dim]; usable(row, norm) {
			e.scale[from+i] = e.loss.scale(norm)
		} else {
			clear(row)
		}
	}
}

// pullBlock computes step 3 for a block. Runs of records with a scale are pulled together, so numbers that are
// not finite multiply nothing.
func (e *evaluator) pullBlock(w *worker, chunk, from, count int) {
	d := e.problem.D
	x := e.records.Rows(w.x, from, count)
	clear(w.sum)
	for i := 0; i < count; {
		j := i
		for j < count && e.scale[from+j] != 0 {
			j++
		}
		if j > i {
			w.pass.embed(w.f, w.norms, x[i*d:], j-i)
			w.pass.pull(w.sum, e.v[(from+i)*e.dim:][:(j-i)*e.dim], e.scale[from+i:], j-i)
		}
		i = j + 1
	}
	add(e.partial[chunk*len(w.sum):][:len(w.sum)], w.sum)
}

// eachBlock runs step for every block. One worker runs the blocks of a chunk, in their order.
func (e *evaluator) eachBlock(ctx context.Context, step func(w *worker, chunk, from, count int)) error {
	return tasks.Each(ctx, len(e.work), e.chunks, func(worker, chunk int) {
		for from, to := e.chunk(chunk); from < to && ctx.Err() == nil; from += BlockRows {
			step(&e.work[worker], chunk, from, min(BlockRows, to-from))
		}
	})
}

// add is dst += x.
func add(dst, x []float64) {
	for k := range dst {
		dst[k] += x[k]
	}
}
