package cuda

import (
	"context"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/kernels"
)

// Sizes of kernels/cuda/clipped.cu.
const (
	smallWidth    = 32 // largest number of entries of (x~, a) for which X is read only once
	stageRows     = 128
	passScalars   = 8
	gramFeatures  = 64
	weighColumns  = 32
	positivesRows = 4096 // rows of a partial sum of labels
	// maxMomentFeatures keeps the number of pairs of tiles below 65535, the largest grid, and the number of
	// sums below 2^32.
	maxMomentFeatures = 1 << 14
)

// PlanMoments implements engine.Backend. The kernel sums clipped records in float64. The error wraps
// engine.ErrUnsupported if the records or the sums do not fit into the memory of the GPU. For this check, every
// person counts with the largest allowed number of rows.
func (b Backend) PlanMoments(p engine.Problem) (engine.Kernel, error) {
	k, err := b.planMoments(p)
	return k, orCPU(err)
}

func (b Backend) planMoments(p engine.Problem) (*momentsKernel, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.MaxRows() >= maxRecords {
		return nil, fmt.Errorf("%w: there may be %d rows, but a GPU takes fewer than %d", engine.ErrUnsupported,
			p.MaxRows(), maxRecords)
	}
	if p.D > maxMomentFeatures {
		return nil, fmt.Errorf("%w: moments of %d features are requested, but a GPU takes at most %d", engine.ErrUnsupported,
			p.D, maxMomentFeatures)
	}
	k := &momentsKernel{backend: b, problem: p, grid: gridOf(rowsAre(p, p.MaxRows()), b.Team)}
	var err error
	k.grid, err = k.grid.placed(k.columnBytes()+personRoom(p), b.memory())
	return k, err
}

// over returns the kernel for the given number of rows in float32 (narrow) or float64, with the share of these
// rows that belongs to this process.
func (k *momentsKernel) over(rows int, narrow bool) (*momentsKernel, error) {
	own := *k
	own.grid = gridOf(rowsAre(k.problem, rows), nil).own(k.backend.Team)
	own.grid.narrow = narrow
	var err error
	own.grid, err = own.grid.placed(own.columnBytes(), k.backend.memory())
	return &own, err
}

// Share implements engine.Share. A share consists of whole chunks. With persons, every rank needs all records,
// because the chunks depend on the private number of rows.
func (k *momentsKernel) Share(rank int) (from, to int) {
	if k.problem.ByPerson() {
		return 0, k.problem.N
	}
	from, to = engine.ShareOf(k.backend.Team, rank, k.grid.chunks())
	return min(from*k.grid.chunkRows(), k.problem.N), min(to*k.grid.chunkRows(), k.problem.N)
}

// momentsKernel sums moments on a GPU. It is immutable. The grid of an evaluator is the grid of its rows, in
// float32 if the records are kept in float32. The grid of a plan covers the largest possible number of rows in
// float64, and the plan's bounds on errors and memory refer to this grid.
type momentsKernel struct {
	backend Backend
	problem engine.Problem
	grid    grid
}

// Problem implements engine.Kernel.
func (k *momentsKernel) Problem() engine.Problem { return k.problem }

// Method implements engine.Kernel.
func (*momentsKernel) Method() string { return "moments" }

func (k *momentsKernel) on() Backend { return k.backend }

func (k *momentsKernel) programs() []string { return []string{"rows", "clipped"} }

// work counts every read of a number, and counts products of two entries as pairs.
func (k *momentsKernel) work() (work, string) {
	n, d := float64(k.problem.N), k.problem.D
	jobs, _ := k.jobs()
	reads, products := 1, 16*jobs
	if !k.small() {
		side := chunksOf(d+1, gramFeatures)
		reads, products = 2+side+1, side*(side+1)/2*gramFeatures*gramFeatures
	}
	return work{records: n, numbers: n * float64(d*reads), pairs: n * float64(products)}, k.Method()
}

func (k *momentsKernel) bytes() uint64 {
	return k.grid.bytes(k.columnBytes())
}

// small reports whether X is read only once, by blocks that hold whole records. It is false for persons,
// because only the other kernels support the weights of rows.
func (k *momentsKernel) small() bool { return k.problem.D < smallWidth && !k.problem.ByPerson() }

// jobs returns the number of 4 x 4 blocks of the symmetric matrix of products of entries of (x~, a), and the
// number of threads (lanes) for each block.
func (k *momentsKernel) jobs() (jobs, lanes int) {
	blocks := (k.problem.D + 4) / 4
	jobs = blocks * (blocks + 1) / 2
	return jobs, min(blockThreads/jobs, stageRows)
}

// length returns the number of sums of a chunk.
func (k *momentsKernel) length(second engine.SecondMoments) int {
	switch wide := k.problem.D + 1; {
	case k.small():
		jobs, _ := k.jobs()
		return 16 * jobs
	case second == engine.FullSecond:
		return wide * wide
	}
	return 2 * k.problem.D
}

// columnBytes returns the number of bytes that an evaluator allocates in addition to the features. These bytes
// hold the labels, scales and weights of records, the roots of the weights of rows of persons, and the sums.
func (k *momentsKernel) columnBytes() uint64 {
	column, chunks := 24, k.grid.chunks()
	if k.problem.ByPerson() {
		column, chunks = 32, maxChunks // fewer rows may have more chunks
	}
	return uint64(column*k.grid.n) + uint64(8*k.length(engine.FullSecond))*uint64(chunks+1) + 64<<20
}

// weightRoundings bounds the number of additional roundings of a term of a sum due to the weight fl(1/m) of its
// row. Each of the two factors has half of the roundings of the weight, one rounding of its root r, and further
// roundings. For a, the product of a and r has one further rounding. For an entry of z, s r and its product
// with x - c have one rounding each, and one rounding of x~ is counted, too. The total is 9 for a product of
// two entries (docs/theory.md#person-moments).
const weightRoundings = 10

// depth bounds the depth of every sum over the rows: the sum of a thread, of the threads of a block, and of the
// chunks. For persons the bound also holds for any smaller number of rows, because chunks do not get shorter if
// there are more rows.
func (k *momentsKernel) depth() int {
	chunk := min(k.grid.chunkRows(), (k.grid.all+tileRows-1)/tileRows*tileRows)
	depth := chunk // depth of clipped_gram, which is larger than the depth of clipped_sums
	if k.small() {
		_, lanes := k.jobs()
		depth = chunksOf(chunk, stageRows)*chunksOf(stageRows, lanes) + lanes
	} else {
		depth = max(depth, chunksOf(chunk, 32)+32)
	}
	if k.problem.ByPerson() {
		return depth + combineDepth(maxChunks) + weightRoundings
	}
	return depth + combineDepth(k.grid.chunks())
}

// positivesDepth returns the depth of the sum of t on the host. It adds the depths of the sums over a block,
// over the blocks of a chunk, and over the chunks.
func (k *momentsKernel) positivesDepth() int {
	chunk, chunks := k.grid.chunkRows(), k.grid.chunks()
	if k.problem.ByPerson() {
		chunks = maxChunks + weightRoundings
	}
	return min(chunk, positivesRows) + chunksOf(chunk, positivesRows) + chunks
}

// Bind implements engine.Kernel. It copies the records to the GPU. If the records do not fit into the memory of
// the GPU, they stay on the host and are copied in panels.
func (k *momentsKernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	fits := k.problem.Fits
	if k.backend.Team != nil {
		fits = k.problem.FitsShard
	}
	if err := fits(r); err != nil {
		return nil, err
	}
	rows := k.problem.N
	if r.ByPerson() {
		rows = r.Len()
	}
	own, err := k.over(rows, r.IsNarrow())
	if err != nil {
		return nil, err
	}
	roots := weightsOf(r)
	if r, roots, err = own.grid.rowsIn(r, roots); err != nil {
		return nil, err
	}
	e := &momentsEvaluator{momentsKernel: own, plan: k}
	shares := make([]float64, r.Len())
	for i, y := range r.Labels() {
		shares[i] = y / k.problem.Bounds.LabelAbs
	}
	if err := e.countPositives(shares, roots); err != nil {
		return nil, err
	}
	for i, w := range roots {
		roots[i] = math.Sqrt(w)
	}
	return e, e.fill(k.backend.Device, func(c *job) { e.load(c, r, shares, roots) })
}

// countPositives sets positives from shares, the labels divided by their bound, and the weights of rows. It
// sums chunk by chunk, and a team gathers the sums of the chunks.
func (e *momentsEvaluator) countPositives(shares, weights []float64) error {
	g := e.grid
	sums := make([]float64, g.chunks())
	for from := 0; from < len(shares); {
		end, sum := min((from/g.chunkRows()+1)*g.chunkRows(), len(shares), from+positivesRows), 0.0
		for i, y := range shares[from:end] {
			t := (1 + y) / 2
			if weights != nil {
				t *= weights[from+i]
			}
			sum += t
		}
		sums[(g.first+from)/g.chunkRows()] += sum
		from = end
	}
	err := engine.GatherJobs(context.Background(), e.backend.Team, sums, len(sums), 1)
	for _, sum := range sums {
		e.positives += sum
	}
	return err
}

// momentsEvaluator holds records on a GPU.
type momentsEvaluator struct {
	*momentsKernel
	held
	plan      *momentsKernel
	positives float64 // sum of t
	rows      *rows
	module    *module
	// y holds the labels divided by their bound. scale and weight hold s and a of every record, unless small is
	// true. root holds the roots of the weights of rows of persons.
	y, scale, weight, root, pass, part, sum driver.Pointer
}

func (e *momentsEvaluator) load(c *job, r *engine.Records, y, roots []float64) {
	module := e.device.load(c, kernels.PTX("rows"))
	e.module = e.device.load(c, kernels.PTX("clipped"))
	n, d, length := e.grid.n, e.problem.D, e.length(engine.FullSecond)
	blocks := []block{{&e.y, 8 * n}, {&e.pass, 8 * (passScalars + 2*d)}, {&e.part, 8 * length * e.grid.chunks()},
		{&e.sum, 8 * length}}
	if !e.small() {
		blocks = append(blocks, block{&e.scale, 8 * n}, block{&e.weight, 8 * n})
	}
	if roots != nil {
		blocks = append(blocks, block{&e.root, 8 * n})
	}
	e.alloc(c, blocks)
	c.copyIn(e.y, y)
	c.copyIn(e.root, roots)
	e.rows = bindRows(c, &e.held, e.grid, module, r, nil)
}

// Kernel implements engine.Evaluator.
func (e *momentsEvaluator) Kernel() engine.Kernel { return e.plan }

// passOf returns the numbers of a pass in the layout of kernels/cuda/clipped.cu, and the kind of a.
//
// Proof that ||x~|| <= R: the proof of package cpu (momentPass.clip) applies. Here z is the computed x - c, and
// q is the sum of its squares, added in d fused steps with a depth of at most d + 8. R is rounded down in the
// same way, since division and root are correctly rounded. So x~ is a function of x, c and R alone. Proof that
// |a| <= 1: rounding keeps the order of |y - b| and 1 + |b|. A sigmoid is 1/(1 + e) or e/(1 + e) with a
// computed e >= 0, so both the sigmoid and t are in [0, 1]. QED
func (e *momentsEvaluator) passOf(m engine.Query) (numbers []float64, kind uint64) {
	d := e.problem.D
	numbers = make([]float64, passScalars+2*d)
	copy(numbers, []float64{m.Radius * (1 - (float64(d)+24)*0x1p-51), m.Class, m.Offset,
		1 + math.Abs(m.Offset), m.Intercept})
	copy(numbers[passScalars:], m.Centre)
	copy(numbers[passScalars+d:], m.W)
	switch {
	case m.W != nil:
		kind = 2
	case m.Signed:
		kind = 1
	}
	return numbers, kind
}

// Sum implements engine.Evaluator.
func (e *momentsEvaluator) Sum(ctx context.Context, all []float64, m engine.Query) error {
	dst, err := e.problem.CheckMoments(ctx, all, m)
	if err != nil {
		return err
	}
	if err := e.open("Sum"); err != nil {
		return err
	}
	numbers, kind := e.passOf(m)
	sums := make([]float64, e.length(m.Second))
	own := func(c *job) {
		c.copyIn(e.pass, numbers)
		e.rows.pass(ctx, c, func(at driver.Pointer, tile, tiles int) {
			if c.goesOn(ctx) {
				e.add(c, at, tile, tiles, kind, m.Second)
			}
		})
	}
	total := func(c *job) {
		e.rows.combine(c, e.sum, e.part, len(sums))
		c.copyOut(sums, e.sum)
	}
	err = e.backend.halves(ctx, own, total, gather{e.part, len(sums), e.grid.shares(e.backend.Team)})
	if err != nil {
		return err
	}
	all[0] = e.positives
	e.unpack(dst, sums, m.Second)
	return nil
}

// add computes the partial sums of the chunks of a panel.
func (e *momentsEvaluator) add(c *job, x driver.Pointer, tile, tiles int, kind uint64, second engine.SecondMoments) {
	from, n, d, chunk := tile*tileRows, uint64(e.rows.rowsOf(tile, tiles)), uint64(e.problem.D), e.grid.chunkRows()
	part := uint64(e.part + driver.Pointer(8*e.length(second)*((e.grid.first+from)/chunk)))
	at := func(p driver.Pointer) uint64 { return uint64(p + driver.Pointer(8*from)) }
	blocks := chunksOf(int(n), chunk)
	launch := func(name string, x, y int, args ...uint64) {
		if e.grid.narrow {
			name += "_narrow"
		}
		c.launch(e.module, name, x, y, args...)
	}
	if e.small() {
		jobs, lanes := e.jobs()
		launch("clipped_small", blocks, 1, part, uint64(x), at(e.y), uint64(e.pass), n, d, uint64(chunk), kind,
			uint64(jobs), uint64(lanes))
		return
	}
	launch("clip_rows", tiles, 1, at(e.scale), at(e.weight), uint64(x), at(e.y), uint64(e.pass), n, d, kind)
	if e.problem.ByPerson() {
		c.launch(e.module, "weigh_rows", tiles, 1, at(e.scale), at(e.weight), at(e.root), n)
	}
	name, height := "clipped_sums", chunksOf(int(d), weighColumns)
	if second == engine.FullSecond {
		side := chunksOf(int(d)+1, gramFeatures)
		name, height = "clipped_gram", side*(side+1)/2
	}
	launch(name, blocks, height, part, uint64(x), at(e.scale), at(e.weight), uint64(e.pass), n, d, uint64(chunk))
}

// unpack extracts the sums of x~ and of x~ x~^T from the sums of a pass.
func (e *momentsEvaluator) unpack(dst engine.Moments, sums []float64, second engine.SecondMoments) {
	d := e.problem.D
	if !e.small() && second != engine.FullSecond {
		copy(dst.Sum, sums[:d])
		copy(dst.Second, sums[d:]) // for DiagonalSecond
		return
	}
	entry := func(p, q int) float64 { return sums[p*(d+1)+q] } // p <= q
	if e.small() {
		blocks := (d + 4) / 4
		entry = func(p, q int) float64 {
			bi, bj := p/4, q/4
			job := bi*blocks - bi*(bi-1)/2 + bj - bi
			return sums[16*job+4*(p%4)+q%4]
		}
	}
	for p := range d {
		dst.Sum[p] = entry(p, d)
	}
	switch second {
	case engine.DiagonalSecond:
		for p := range d {
			dst.Second[p] = entry(p, p)
		}
	case engine.FullSecond:
		at := 0
		for p := range d {
			dst.Second[at] = entry(p, p)
			for q := p + 1; q < d; q++ {
				at++
				dst.Second[at] = entry(p, q) * math.Sqrt2
			}
			at++
		}
	}
}
