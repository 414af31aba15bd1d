package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/engine/cuda/driver"
)

// evaluator holds records in the memory of a GPU.
type evaluator struct {
	*kernel
	y    []float64 // labels in the order of the records
	slot []int32   // place of a record on the GPU, nil for their own order
	// With the factored form the records of the larger label come first.
	positives int
	step      float64 // the larger label minus the smaller

	module *module
	memory []driver.Pointer // everything allocated
	// x is n x d by columns, w the parameter, s the scores, c the coefficients, sums the
	// integer sums of terms, part the partial sums of X^T c.
	x, w, s, c, sums, part driver.Pointer
	// Exponentials of positives and negatives, or split scores and labels.
	left, right driver.Pointer
	split       driver.Pointer // labels
	host        hostBuffer     // for copies
}

// Bind implements engine.Kernel: it copies the records to the GPU, sparse ones as
// dense rows. Besides Problem.Fits it fails only if the GPU does.
func (k *kernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	if r == nil {
		return nil, errors.New("cuda: Bind: no records")
	}
	if err := k.problem.Fits(r); err != nil {
		return nil, err
	}
	e := &evaluator{kernel: k, y: r.Labels()}
	order := e.arrange()
	err := k.backend.Device.gpu.Do(context.Background(), func(c driver.Context) (err error) {
		if e.module, err = k.backend.Device.load(c, k.ptx); err != nil {
			return err
		}
		if err = e.allocate(c); err == nil {
			err = e.upload(c, r, order)
		}
		if err != nil {
			err = errors.Join(err, e.free(c))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// arrange chooses the order on the GPU: nil for that of the records.
func (e *evaluator) arrange() []int32 {
	if !e.factored {
		return nil
	}
	lo, hi := e.y[0], e.y[0]
	for _, y := range e.y {
		lo, hi = min(lo, y), max(hi, y)
	}
	e.step = hi - lo
	order := make([]int32, 0, len(e.y))
	for i, y := range e.y {
		if y == hi {
			order = append(order, int32(i))
		}
	}
	e.positives = len(order)
	for i, y := range e.y {
		if y != hi {
			order = append(order, int32(i))
		}
	}
	e.slot = make([]int32, len(order))
	for at, i := range order {
		e.slot[i] = int32(at)
	}
	return order
}

func (e *evaluator) negatives() int { return len(e.y) - e.positives }

// paddedRows is n rounded up to whole tiles.
func paddedRows(n int) int { return (n + factoredRows - 1) / factoredRows * factoredRows }

func (e *evaluator) allocate(c driver.Context) error {
	n, d := e.problem.N, e.problem.D
	blocks := []struct {
		at    *driver.Pointer
		bytes int
	}{
		{&e.x, 8 * n * d}, {&e.w, 8 * d}, {&e.s, 8 * n}, {&e.c, 8 * n}, {&e.sums, 8 * n}, {&e.part, 8 * d * e.chunks()},
	}
	if e.factored {
		blocks = append(blocks, []struct {
			at    *driver.Pointer
			bytes int
		}{{&e.left, 4 * paddedRows(e.positives)}, {&e.right, 4 * paddedRows(e.negatives())}}...)
	} else {
		blocks = append(blocks, []struct {
			at    *driver.Pointer
			bytes int
		}{{&e.left, 8 * n}, {&e.split, 8 * n}}...)
	}
	for _, b := range blocks {
		p, err := c.Alloc(uint64(b.bytes))
		if err != nil {
			return err
		}
		*b.at = p
		e.memory = append(e.memory, p)
	}
	e.host = make(hostBuffer, 8*max(n, d*e.chunks(), d))
	return nil
}

// upload copies the features by columns, and the labels if they are needed.
func (e *evaluator) upload(c driver.Context, r *engine.Records, order []int32) error {
	if err := uploadColumns(c, e.x, r, order); err != nil || e.factored {
		return err
	}
	// The labels take the place of scores to be split.
	if err := e.copyIn(c, e.s, e.y); err != nil {
		return err
	}
	return e.splitFloats(c, e.split, e.problem.Bounds.LabelAbs)
}

// splitFloats splits the numbers in s, of size at most limit, into pairs of floats.
func (e *evaluator) splitFloats(c driver.Context, to driver.Pointer, limit float64) error {
	n := uint64(e.problem.N)
	return e.module.launch(c, "split", e.recordBlocks(), 1, uint64(to), uint64(e.s), n, n, math.Float64bits(1), math.Float64bits(limit))
}

// recordBlocks is the number of blocks with a thread for each record.
func (e *evaluator) recordBlocks() int { return blocksFor(e.problem.N) }

func blocksFor(n int) int { return (n + blockThreads - 1) / blockThreads }

func (e *evaluator) copyIn(c driver.Context, to driver.Pointer, v []float64) error {
	return e.host.copyIn(c, to, v)
}

func (e *evaluator) copyOut(c driver.Context, v []float64, from driver.Pointer) error {
	return e.host.copyOut(c, v, from)
}

func (e *evaluator) free(c driver.Context) error {
	var errs []error
	for _, p := range e.memory {
		errs = append(errs, c.Free(p))
	}
	e.memory = nil
	return errors.Join(errs...)
}

// Kernel implements engine.Evaluator.
func (e *evaluator) Kernel() engine.Kernel { return e.kernel }

// Close implements engine.Evaluator. It frees the memory of the GPU.
func (e *evaluator) Close() error {
	if e.memory == nil {
		return nil
	}
	return e.backend.Device.gpu.Do(context.Background(), e.free)
}

// GradSum implements engine.Evaluator. It fails if w is longer than Problem.Radius by
// more than engine.RadiusSlack, relatively, because the roundoff bound would not hold.
func (e *evaluator) GradSum(ctx context.Context, dst, w []float64, pairs engine.Pairs) error {
	if err := e.problem.CheckCall(ctx, dst, w, pairs); err != nil {
		return err
	}
	if e.memory == nil {
		return errors.New("cuda: GradSum after Close")
	}
	return e.backend.Device.gpu.Do(ctx, func(c driver.Context) error {
		if err := e.copyIn(c, e.w, w); err != nil {
			return err
		}
		n, d := uint64(e.problem.N), uint64(e.problem.D)
		if err := e.module.launch(c, "scores", e.recordBlocks(), 1, uint64(e.s), uint64(e.x), uint64(e.w), n, d); err != nil {
			return err
		}
		var err error
		if q, ok := pairs.(engine.PrefixPairs); ok {
			err = e.prefix(c, q)
		} else {
			err = e.all(ctx, c)
		}
		if err != nil {
			return err
		}
		return e.weightedSums(c, dst)
	})
}

// all computes c for all pairs.
func (e *evaluator) all(ctx context.Context, c driver.Context) error {
	n := e.problem.N
	if err := c.Clear(e.sums, uint64(8*n), 0); err != nil {
		return err
	}
	if !e.factored {
		return e.allPairs(c)
	}
	if err := e.allFactored(ctx, c); err != nil {
		return err
	}
	// -phi' is summed, over pairs whose label difference is +-step.
	unit := 2 * e.step * 0x1p-23
	if err := e.coefficients(c, 0, e.positives, -unit); err != nil {
		return err
	}
	return e.coefficients(c, e.positives, e.negatives(), unit)
}

// coefficients sets c to unit times the sums of count records.
func (e *evaluator) coefficients(c driver.Context, from, count int, unit float64) error {
	if count == 0 {
		return nil
	}
	at := driver.Pointer(8 * from)
	return e.module.launch(c, "coefficients", blocksFor(count), 1, uint64(e.c+at), uint64(e.sums+at), uint64(count), math.Float64bits(unit))
}

// padding is a in logistic_tiles for a record that is not there.
const padding = 0x1p120

// pairsPerLaunch bounds the time until a cancelled context is seen.
const pairsPerLaunch = 1 << 36

func (e *evaluator) allFactored(ctx context.Context, c driver.Context) error {
	rows, cols := e.positives, e.negatives()
	if rows == 0 || cols == 0 {
		return nil
	}
	limit := math.Float64bits(maxFactoredMargin / 2)
	for _, side := range []struct {
		to            driver.Pointer
		from, n       int
		scale, factor float64
	}{{e.left, 0, rows, e.step, 2}, {e.right, rows, cols, -e.step, 1}} {
		err := e.module.launch(c, "exponentials", blocksFor(paddedRows(side.n)), 1, uint64(side.to), uint64(e.s+driver.Pointer(8*side.from)), uint64(side.n),
			math.Float64bits(side.scale), limit, math.Float64bits(side.factor), uint64(math.Float32bits(padding)))
		if err != nil {
			return err
		}
	}
	// Strips of whole blocks of columns.
	strip := max(pairsPerLaunch/rows/factoredCols, 1) * factoredCols
	for c0 := 0; c0 < cols; c0 += strip {
		m := min(strip, cols-c0)
		err := e.module.launch(c, "logistic_tiles", (rows+factoredRows-1)/factoredRows, (m+factoredCols-1)/factoredCols,
			uint64(e.sums), uint64(e.sums+driver.Pointer(8*(rows+c0))), uint64(e.left), uint64(e.right+driver.Pointer(4*c0)), uint64(rows), uint64(m))
		if err != nil {
			return err
		}
		if c0+m < cols {
			if err := c.SyncStream(0); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// allPairs visits the pairs i < j of all records in one launch.
func (e *evaluator) allPairs(c driver.Context) error {
	n := e.problem.N
	if err := e.splitFloats(c, e.left, e.scores.Score); err != nil {
		return err
	}
	s, y := uint64(e.left), uint64(e.split)
	err := e.module.launch(c, "pair_tiles", (n+pairRows-1)/pairRows, (n+pairCols-1)/pairCols, uint64(e.sums), uint64(e.sums), s, y, s, y,
		uint64(n), uint64(n), uint64(math.Float32bits(float32(1/e.unit))), 1)
	if err != nil {
		return err
	}
	return e.coefficients(c, 0, n, 2*e.unit*0x1p-22)
}

// prefix computes c for prefix pairs on the host.
func (e *evaluator) prefix(c driver.Context, q engine.PrefixPairs) error {
	n := e.problem.N
	s, coefficient := make([]float64, n), make([]float64, n)
	if err := e.copyOut(c, s, e.s); err != nil {
		return err
	}
	at := func(i int32) int {
		if e.slot == nil {
			return int(i)
		}
		return int(e.slot[i])
	}
	record := func(t int) int32 {
		if q.Order == nil {
			return int32(t)
		}
		return q.Order[t]
	}
	last := record(q.T)
	sLast, yLast := s[at(last)], e.y[last]
	var sum, rest float64 // Neumaier
	for t := range q.T {
		i := record(t)
		if i < 0 || int(i) >= n {
			return fmt.Errorf("cuda: GradSum: PrefixPairs.Order has an entry outside 0 to %d", n-1)
		}
		d := yLast - e.y[i]
		if d == 0 {
			continue
		}
		v := e.loss.DPhi(d*(sLast-s[at(i)])) * d
		coefficient[at(i)] -= v
		next := sum + v
		if math.Abs(sum) >= math.Abs(v) {
			rest += (sum - next) + v
		} else {
			rest += (v - next) + sum
		}
		sum = next
	}
	coefficient[at(last)] += sum + rest
	return e.copyIn(c, e.c, coefficient)
}

// weightedSums sets dst to X^T c.
func (e *evaluator) weightedSums(c driver.Context, dst []float64) error {
	n, d, chunks := e.problem.N, e.problem.D, e.chunks()
	err := e.module.launch(c, "weighted_sums", chunks, (d+3)/4, uint64(e.part), uint64(e.x), uint64(e.c), uint64(n), uint64(d), uint64(e.chunk))
	if err != nil {
		return err
	}
	part := make([]float64, chunks*d)
	if err := e.copyOut(c, part, e.part); err != nil {
		return err
	}
	for count := chunks; count > 1; { // a tree
		half := (count + 1) / 2
		for k := half; k < count; k++ {
			for a := range d {
				part[(k-half)*d+a] += part[k*d+a]
			}
		}
		count = half
	}
	copy(dst, part[:d])
	return nil
}
