package cuda

import (
	"context"
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

	held
	float64s, tile *module
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
func (e *metricEvaluator) load(c *job) {
	e.float64s, e.tile = e.device.load(c, kernels.PTX("metric")), e.device.load(c, e.tiles)
	e.alloc(c, e.blocks(e))
	c.clear(e.zero, 8*e.problem.D)
	c.try(func(d driver.Context) error { return uploadColumns(d, e.x, e.records) })
	c.copyIn(e.labels, e.records.Labels())
	if e.problem.ByPerson() {
		c.copyIn(e.weight, weightsOf(e.records))
		c.copyWords(e.next, nextOf(e.records))
	}
	e.pack(c, "right", e.right, e.x, e.tiling.right, e.features)
	if e.tiling.factor.records > 0 {
		e.pack(c, "factor", e.factor, e.x, e.tiling.factor, e.features)
	}
}

// pack converts n x d doubles by columns to an operand of the tiles, in multiples of unit.
func (e *metricEvaluator) pack(c *job, name string, to, from driver.Pointer, as packing, unit float64) {
	n, d := uint64(e.n), uint64(e.problem.D)
	if e.operand == "" {
		c.launch(e.float64s, "metric_floats", blocksFor(e.stride()), e.padded(), uint64(to), uint64(from), n, d,
			uint64(e.stride()), math.Float64bits(1/unit))
		return
	}
	blocks, steps := e.stride()/as.records, (e.problem.D+as.features-1)/as.features
	if as.whole {
		steps = e.padded() / as.features
	}
	c.launch(e.tile, "metric_"+name+"_"+e.operand, (blocks+7)/8, steps, uint64(to), uint64(from), n, d,
		uint64(blocks), math.Float64bits(1/unit))
}

// Kernel implements engine.Evaluator.
func (e *metricEvaluator) Kernel() engine.Kernel { return e.planned }

// Sum implements engine.Evaluator. It checks the context between launches. W need not be positive semidefinite.
func (e *metricEvaluator) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	if err := e.problem.CheckGradient(ctx, dst, &q); err != nil {
		return err
	}
	if err := e.open("Sum"); err != nil {
		return err
	}
	d := e.problem.D
	s := engine.Symmetric{Dim: d}
	s.Unpack(e.full, q.W)
	prefix, ok := q.Pairs.(engine.PrefixPairs)
	if ok && e.backend.Team != nil {
		return engine.ErrTeamPrefix
	}
	err := e.device.do(ctx, func(c *job) {
		c.copyIn(e.w, e.full)
		if ok {
			e.prefix(c, prefix)
		} else {
			e.terms(ctx, c)
		}
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
		if err := e.device.do(ctx, e.finish); err != nil {
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
func (e *metricEvaluator) distances(c *job, origin driver.Pointer) {
	n, d := e.n, e.problem.D
	c.launch(e.float64s, "metric_project", blocksFor(n), (d+7)/8, uint64(e.z), uint64(e.x), uint64(origin),
		uint64(e.w), uint64(n), uint64(d))
	c.launch(e.float64s, "metric_own", blocksFor(n), 1, uint64(e.q), uint64(e.x), uint64(origin), uint64(e.z),
		uint64(n), uint64(d))
}

// terms adds up the terms of all pairs. In a team it adds up the terms of this rank's pairs only.
func (e *metricEvaluator) terms(ctx context.Context, c *job) {
	e.distances(c, e.zero)
	c.launch(e.float64s, "metric_points", blocksFor(e.stride()), 1, uint64(e.points), uint64(e.q), uint64(e.labels),
		uint64(e.n), uint64(e.stride()))
	e.pack(c, "left", e.left, e.z, e.tiling.left, e.products)
	c.clear(e.z, 8*e.n*e.problem.D)
	c.clear(e.sums, 8*e.n)
	e.visitPairs(ctx, c)
}

// finish sets full to P, where P + P^T is the sum over all pairs.
func (e *metricEvaluator) finish(c *job) {
	n, d := e.n, e.problem.D
	zUnit := math.Float64bits(-2 * e.unit * e.features * metricFixed) // c = -phi'(u) t
	if e.problem.ByPerson() {
		c.launch(e.tile, "metric_weigh_persons", blocksFor(n), d, uint64(e.z), uint64(e.sums), uint64(e.x), uint64(e.weight),
			uint64(n), math.Float64bits(-e.unit*personFixed), zUnit)
	} else {
		c.launch(e.float64s, "metric_weigh", blocksFor(n), d, uint64(e.z), uint64(e.sums), uint64(e.x), uint64(n),
			math.Float64bits(-e.unit*e.grid), zUnit)
	}
	e.gram(c, e.zero)
}

// visitPairs launches the kernel of the tiles in slices of whole spans of columns.
func (e *metricEvaluator) visitPairs(ctx context.Context, c *job) {
	n, d, pieces := e.n, e.problem.D, e.pieces()
	slice := max(e.pairsPerLaunch/(n*metricSpan), 1)
	slice = e.backend.perLaunch(min(slice, maxGridY/pieces), e.spans())
	for first := 0; first < e.spans(); first += slice {
		if !e.backend.ownTurn(first / slice) {
			continue
		}
		if first > 0 {
			c.sync(0)
			c.goesOn(ctx)
		}
		spans := min(slice, e.spans()-first)
		args := []uint64{uint64(e.z), uint64(e.sums), uint64(e.left), uint64(e.right)}
		scale := float32Bits(1 / metricFixed / e.unit)
		switch {
		case e.problem.ByPerson():
			args = append(args, uint64(e.x), uint64(e.weight), uint64(e.next))
			scale = math.Float64bits(1 / metricFixed / e.unit / e.features)
		case e.tiling.factor.records > 0:
			args = append(args, uint64(e.factor))
		}
		args = append(args, uint64(e.points), uint64(n), uint64(d))
		if e.operand == "" {
			args = append(args, uint64(e.stride()))
		}
		args = append(args, uint64(first), float32Bits(-2*e.features*e.products), float32Bits(e.unit), scale)
		c.launch(e.tile, e.name, chunksOf(n, e.tiling.rows), spans*pieces, args...)
	}
}

// maxGridY is the largest number of blocks in the second direction of a grid.
const maxGridY = 65535

func float32Bits(v float64) uint64 { return uint64(math.Float32bits(float32(v))) }

// gram sets full to sum_i (x_i - o) y_i^T, where z holds y.
func (e *metricEvaluator) gram(c *job, origin driver.Pointer) {
	n, d, chunks := e.n, e.problem.D, e.chunks()
	tiles := (d + metricGram - 1) / metricGram
	c.launch(e.float64s, "metric_gram", chunks, tiles*tiles, uint64(e.part), uint64(e.x), uint64(origin),
		uint64(e.z), uint64(n), uint64(d), uint64(e.chunk))
	c.launch(e.float64s, "metric_reduce", blocksFor(d*d), 1, uint64(e.part), uint64(d*d), uint64(chunks))
	c.copyOut(e.full, e.part)
}

// prefix sets full to P, where P + P^T is the sum over prefix pairs. It uses differences to the last record.
// The host computes phi'.
func (e *metricEvaluator) prefix(c *job, q engine.PrefixPairs) {
	n, last := e.n, int(q.Record(q.T))
	e.records.Row(last, e.last)
	c.copyIn(e.origin, e.last)
	e.distances(c, e.origin)
	distance, coefficient := make([]float64, n), make([]float64, n)
	if c.copyOut(distance, e.q); c.err != nil {
		return
	}
	for t := range q.T {
		i := int(q.Record(t))
		if i < 0 || i >= n {
			c.fail(fmt.Errorf("cuda: PrefixPairs.Order has an entry outside 0 to %d", n-1))
			return
		}
		y := e.records.Label(last) * e.records.Label(i)
		coefficient[i] -= e.loss.MetricDPhi(y*(1-distance[i])) * y / 2
	}
	c.copyIn(e.q, coefficient)
	c.launch(e.float64s, "metric_scale", blocksFor(n), e.problem.D, uint64(e.z), uint64(e.q), uint64(e.x),
		uint64(e.origin), uint64(n))
	e.gram(c, e.origin)
}

// Bind implements engine.Kernel. It copies the records to the GPU, sparse records as dense rows. Bind fails
// only if Problem.Fits fails or if the GPU fails.
func (k *metricKernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	if err := k.problem.Fits(r); err != nil {
		return nil, err
	}
	d, own := k.problem.D, *k
	own.n = r.Len()
	e := &metricEvaluator{metricKernel: &own, planned: k, records: r, full: make([]float64, d*d), last: make([]float64, d)}
	return e, e.fill(k.backend.Device, e.load)
}

// blocks returns the memory blocks that an evaluator allocates.
func (k *metricKernel) blocks(e *metricEvaluator) []block {
	n, d, stride := k.n, k.problem.D, k.stride()
	list := []block{
		{&e.x, 8 * n * d}, {&e.z, 8 * n * d}, {&e.left, 4 * stride * k.padded()}, {&e.right, 4 * stride * k.padded()},
		{&e.q, 8 * n}, {&e.labels, 8 * n}, {&e.points, 8 * stride}, {&e.sums, 8 * n},
		{&e.w, 8 * d * d}, {&e.origin, 8 * d}, {&e.zero, 8 * d}, {&e.part, 8 * d * d * k.chunks()},
	}
	if k.tiling.factor.records > 0 {
		list = append(list, block{&e.factor, 4 * stride * k.padded()})
	}
	if k.problem.ByPerson() {
		list = append(list, block{&e.weight, 8 * n}, block{&e.next, 4 * n})
	}
	return list
}

func (k *metricKernel) bytes() uint64 { return bytesOf(k.blocks(&metricEvaluator{})) }
