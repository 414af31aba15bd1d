package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/kernels"
)

// metricEvaluator holds records in the memory of a GPU.
type metricEvaluator struct {
	*metricKernel // kernel of the rows
	planned       *metricKernel
	records       *engine.Records
	full          []float64 // d x d: W, then the result
	last          []float64 // d

	float64s, tile *module
	memory         memory // everything allocated
	// x is X, n x d by columns. z is also n x d: it holds X W in float64, then the integer sums of products,
	// then the doubles of metric_weigh. left and right are X W and X for the tiles. factor is X for their
	// products if its packing differs from right. q holds x_i^T W x_i. points holds q and the labels in
	// float32. sums holds the row and column sums of coefficients.
	x, z, left, right, factor, q, labels, points, sums driver.Pointer
	// w has d x d doubles, origin d doubles, zero d zeros, and part chunks x d x d doubles.
	w, origin, zero, part driver.Pointer
	weight, next          driver.Pointer // for rows of persons, as in metric_persons.cu
}

// load copies the records and prepares all data that do not depend on W.
func (e *metricEvaluator) load(c driver.Context) (err error) {
	d, device := e.problem.D, e.backend.Device
	if e.float64s, err = device.load(c, kernels.PTX("metric")); err != nil {
		return err
	}
	if e.tile, err = device.load(c, e.tiles); err != nil {
		return err
	}
	if err := e.memory.alloc(c, e.blocks(e)); err != nil {
		return err
	}
	if err := c.Clear(e.zero, uint64(8*d), 0); err != nil {
		return err
	}
	if err := uploadColumns(c, e.x, e.records, nil); err != nil {
		return err
	}
	if err := copyIn(c, e.labels, e.records.Labels()); err != nil {
		return err
	}
	if e.problem.ByPerson() {
		if err := errors.Join(copyIn(c, e.weight, weightsOf(e.records)), c.CopyIn(e.next, nextOf(e.records))); err != nil {
			return err
		}
	}
	if err := e.pack(c, "right", e.right, e.x, e.tiling.right, e.features); err != nil || e.tiling.factor.records == 0 {
		return err
	}
	return e.pack(c, "factor", e.factor, e.x, e.tiling.factor, e.features)
}

// pack converts n x d doubles by columns to an operand of the tiles, in multiples of unit.
func (e *metricEvaluator) pack(c driver.Context, name string, to, from driver.Pointer, as packing, unit float64) error {
	n, d := uint64(e.n), uint64(e.problem.D)
	if e.operand == "" {
		return e.float64s.launch(c, "metric_floats", blocksFor(e.stride()), e.padded(), uint64(to), uint64(from), n, d,
			uint64(e.stride()), math.Float64bits(1/unit))
	}
	blocks, steps := e.stride()/as.records, (e.problem.D+as.features-1)/as.features
	if as.whole {
		steps = e.padded() / as.features
	}
	return e.tile.launch(c, "metric_"+name+"_"+e.operand, (blocks+7)/8, steps, uint64(to), uint64(from), n, d,
		uint64(blocks), math.Float64bits(1/unit))
}

// Kernel implements engine.Evaluator.
func (e *metricEvaluator) Kernel() engine.Kernel { return e.planned }

// Close implements engine.Evaluator. It frees the memory of the GPU.
func (e *metricEvaluator) Close() error {
	if e.memory == nil {
		return nil
	}
	return e.backend.Device.release(e.memory.free)
}

// Sum implements engine.Evaluator. It checks the context between launches. W need not be positive semidefinite.
func (e *metricEvaluator) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	if err := e.problem.CheckGradient(ctx, dst, &q); err != nil {
		return err
	}
	if e.memory == nil {
		return errors.New("cuda: Sum after Close")
	}
	d := e.problem.D
	s := engine.Symmetric{Dim: d}
	s.Unpack(e.full, q.W)
	prefix, ok := q.Pairs.(engine.PrefixPairs)
	if ok && e.backend.Team != nil {
		return fmt.Errorf("%w: pairs of one record with those before it are summed by one process; train without a team",
			engine.ErrUnsupported)
	}
	err := e.backend.Device.do(ctx, func(c driver.Context) error {
		if err := copyIn(c, e.w, e.full); err != nil {
			return err
		}
		if ok {
			return e.prefix(c, prefix)
		}
		return e.terms(ctx, c)
	})
	if err != nil {
		return err
	}
	if !ok {
		if err := e.backend.addUp(ctx, e.z, e.n*d); err != nil {
			return err
		}
		if err := e.backend.addUp(ctx, e.sums, e.n); err != nil {
			return err
		}
		if err := e.backend.Device.do(ctx, e.finish); err != nil {
			return err
		}
	}
	for a := range d {
		for b := a; b < d; b++ {
			e.full[a*d+b] += e.full[b*d+a]
		}
	}
	s.Pack(dst, e.full)
	return nil
}

// distances sets z to (X - o) W and q to (x_i - o)^T W (x_i - o).
func (e *metricEvaluator) distances(c driver.Context, origin driver.Pointer) error {
	n, d := e.n, e.problem.D
	err := e.float64s.launch(c, "metric_project", blocksFor(n), (d+7)/8, uint64(e.z), uint64(e.x), uint64(origin),
		uint64(e.w), uint64(n), uint64(d))
	if err != nil {
		return err
	}
	return e.float64s.launch(c, "metric_own", blocksFor(n), 1, uint64(e.q), uint64(e.x), uint64(origin), uint64(e.z),
		uint64(n), uint64(d))
}

// terms adds up the terms of all pairs. In a team it adds up the terms of this rank's pairs only.
func (e *metricEvaluator) terms(ctx context.Context, c driver.Context) error {
	n, d := e.n, e.problem.D
	if err := e.distances(c, e.zero); err != nil {
		return err
	}
	err := e.float64s.launch(c, "metric_points", blocksFor(e.stride()), 1, uint64(e.points), uint64(e.q), uint64(e.labels),
		uint64(n), uint64(e.stride()))
	if err != nil {
		return err
	}
	if err := e.pack(c, "left", e.left, e.z, e.tiling.left, e.products); err != nil {
		return err
	}
	if err := c.Clear(e.z, uint64(8*n*d), 0); err != nil {
		return err
	}
	if err := c.Clear(e.sums, uint64(8*n), 0); err != nil {
		return err
	}
	return e.visitPairs(ctx, c)
}

// finish sets full to P, where P + P^T is the sum over all pairs.
func (e *metricEvaluator) finish(c driver.Context) (err error) {
	n, d := e.n, e.problem.D
	zUnit := math.Float64bits(-2 * e.unit * e.features * metricFixed) // c = -phi'(u) t
	if e.problem.ByPerson() {
		err = e.tile.launch(c, "metric_weigh_persons", blocksFor(n), d, uint64(e.z), uint64(e.sums), uint64(e.x),
			uint64(e.weight), uint64(n),
			math.Float64bits(-e.unit*personFixed), zUnit)
	} else {
		err = e.float64s.launch(c, "metric_weigh", blocksFor(n), d, uint64(e.z), uint64(e.sums), uint64(e.x), uint64(n),
			math.Float64bits(-e.unit*e.grid), zUnit)
	}
	if err != nil {
		return err
	}
	return e.gram(c, e.zero)
}

// visitPairs launches the kernel of the tiles in slices of whole spans of columns.
func (e *metricEvaluator) visitPairs(ctx context.Context, c driver.Context) error {
	n, d, pieces := e.n, e.problem.D, e.pieces()
	slice := max(e.pairsPerLaunch/(n*metricSpan), 1)
	slice = e.backend.perLaunch(min(slice, maxGridY/pieces), e.spans())
	for first := 0; first < e.spans(); first += slice {
		if !e.backend.ownTurn(first / slice) {
			continue
		}
		if first > 0 {
			if err := c.SyncStream(0); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		spans := min(slice, e.spans()-first)
		args := []uint64{uint64(e.z), uint64(e.sums), uint64(e.left), uint64(e.right)}
		scale := float32Bits(1 / metricFixed / e.unit)
		switch {
		case e.problem.ByPerson():
			args, scale = append(args, uint64(e.x), uint64(e.weight), uint64(e.next)),
				math.Float64bits(1/metricFixed/e.unit/e.features)
		case e.tiling.factor.records > 0:
			args = append(args, uint64(e.factor))
		}
		args = append(args, uint64(e.points), uint64(n), uint64(d))
		if e.operand == "" {
			args = append(args, uint64(e.stride()))
		}
		args = append(args, uint64(first), float32Bits(-2*e.features*e.products), float32Bits(e.unit), scale)
		if err := e.tile.launch(c, e.name, chunksOf(n, e.tiling.rows), spans*pieces, args...); err != nil {
			return err
		}
	}
	return nil
}

// maxGridY is the largest number of blocks in the second direction of a grid.
const maxGridY = 65535

func float32Bits(v float64) uint64 { return uint64(math.Float32bits(float32(v))) }

// gram sets full to sum_i (x_i - o) y_i^T, where z holds y.
func (e *metricEvaluator) gram(c driver.Context, origin driver.Pointer) error {
	n, d, chunks := e.n, e.problem.D, e.chunks()
	tiles := (d + metricGram - 1) / metricGram
	err := e.float64s.launch(c, "metric_gram", chunks, tiles*tiles, uint64(e.part), uint64(e.x), uint64(origin),
		uint64(e.z), uint64(n), uint64(d), uint64(e.chunk))
	if err != nil {
		return err
	}
	if err := e.float64s.launch(c, "metric_reduce", blocksFor(d*d), 1, uint64(e.part), uint64(d*d),
		uint64(chunks)); err != nil {
		return err
	}
	return copyOut(c, e.full, e.part)
}

// prefix sets full to P, where P + P^T is the sum over prefix pairs. It uses differences to the last record.
// The host computes phi'.
func (e *metricEvaluator) prefix(c driver.Context, q engine.PrefixPairs) error {
	n := e.n
	record := func(t int) int {
		if q.Order == nil {
			return t
		}
		return int(q.Order[t])
	}
	last := record(q.T)
	e.records.Row(last, e.last)
	if err := copyIn(c, e.origin, e.last); err != nil {
		return err
	}
	if err := e.distances(c, e.origin); err != nil {
		return err
	}
	distance, coefficient := make([]float64, n), make([]float64, n)
	if err := copyOut(c, distance, e.q); err != nil {
		return err
	}
	for t := range q.T {
		i := record(t)
		if i < 0 || i >= n {
			return fmt.Errorf("cuda: PrefixPairs.Order has an entry outside 0 to %d", n-1)
		}
		y := e.records.Label(last) * e.records.Label(i)
		coefficient[i] -= e.loss.MetricDPhi(y*(1-distance[i])) * y / 2
	}
	if err := copyIn(c, e.q, coefficient); err != nil {
		return err
	}
	err := e.float64s.launch(c, "metric_scale", blocksFor(n), e.problem.D, uint64(e.z), uint64(e.q), uint64(e.x),
		uint64(e.origin), uint64(n))
	if err != nil {
		return err
	}
	return e.gram(c, e.origin)
}
