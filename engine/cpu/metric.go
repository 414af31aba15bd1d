package cpu

import (
	"context"

	"dyad/engine"
	"dyad/kernels"
)

// metricEvaluator holds the records and all scratch space of a metricKernel. The scratch
// space has O(n + d^2) floats, tiles of O(d) floats for each worker, and partialFloats
// floats of partial sums. It also holds X W if this product has at most productFloats
// floats.
type metricEvaluator struct {
	*metricKernel
	planned *metricKernel
	x       matrix
	y       []float64
	persons *rowsOfPersons // nil if each row is a record

	w     []float64 // W, d x d
	total []float64 // d x d

	rowSum, colSum []float64 // n: sums of c_ij over j > i, and over i < j
	own            []float64 // n: x_i^T W x_i
	narrow         *narrow   // the records in float32; nil for pairs in float64
	products       []float64 // X W, nil if too large
	panelSum       []float64 // d x d
	partial        []float64 // slots * d * d
	partialCol     []float64 // slots * panel

	work []metricScratch
}

// metricScratch is the scratch space of one worker. m is the minimum of metricRows and n.
type metricScratch struct {
	x, xw    []float64 // m x d: rows of X, or differences of rows, and their product with W
	xt       []float64 // d x m: the transpose of x
	weighted []float64 // d x m: xt with weighted columns, or the transpose of c X
	row, c   []float64 // m

	// For AllPairs only.
	block   kernels.MetricBlock
	persons *kernels.MetricPersonBlock // block, of persons
	right   []float64                  // metricCols x d: the columns of a tile
	col     []float64                  // metricCols
	block32 kernels.MetricBlock32
	right32 []float32

	failed bool // PrefixPairs.Order has an entry out of range
}

// scratch allocates the scratch space of the given number of workers.
func (e *metricEvaluator) scratch(workers int, tiles bool) {
	d, m := e.x.d, min(metricRows, e.rows)
	for len(e.work) < workers {
		e.work = append(e.work, metricScratch{
			x: make([]float64, m*d), xw: make([]float64, m*d),
			xt: make([]float64, m*d), weighted: make([]float64, m*d),
			row: make([]float64, m), c: make([]float64, m),
		})
	}
	for i := range e.work {
		s := &e.work[i]
		if !tiles || s.col != nil {
			continue
		}
		s.col = make([]float64, metricCols)
		switch {
		case e.persons != nil:
			s.persons = kernels.NewMetricPersonBlock(m, d,
				kernels.MetricPersons{Weight: e.persons.weight, Next: e.persons.next}, e.slopes)
			s.block, s.right = s.persons, make([]float64, metricCols*d)
		case e.single:
			s.block32 = e.set.NewMetricBlock32(m, d)
			s.right32 = make([]float32, metricCols*d)
		default:
			s.block = e.set.NewMetricBlock(m, d, e.tiles)
			s.right = make([]float64, metricCols*d)
		}
	}
}

// Kernel implements engine.Evaluator.
func (e *metricEvaluator) Kernel() engine.Kernel { return e.planned }

// Close implements engine.Evaluator. It drops the scratch space.
func (e *metricEvaluator) Close() error {
	e.own, e.products, e.panelSum, e.partial, e.partialCol, e.work = nil, nil, nil, nil, nil, nil
	return nil
}

// allPairs sets the upper triangle of total to 2 [X^T diag(C1) X - (M + M^T)].
func (e *metricEvaluator) allPairs(ctx context.Context) error {
	d, n := e.x.d, e.rows
	e.scratch(min(e.workers, e.stripes()), true)
	slots := e.slots(e.stripes())
	panel := e.panel
	if e.partialCol == nil {
		e.own, e.panelSum = make([]float64, n), make([]float64, d*d)
		e.partialCol = make([]float64, slots*panel)
		if n*d <= e.productFloats {
			e.products = make([]float64, n*d)
		}
	}
	if len(e.partial) < slots*d*d {
		e.partial = make([]float64, slots*d*d)
	}
	if err := forEach(ctx, e.workers, e.stripes(), e.ownProducts); err != nil {
		return err
	}
	if e.single {
		narrowTo(e.narrow.own, e.own)
	}
	clear(e.rowSum)
	clear(e.colSum)
	for p0 := 0; p0 < n; p0 += panel {
		p1 := min(p0+panel, n)
		clear(e.panelSum)
		// Stripes from p1 on have no pair i < j < p1.
		jobs := (p1 + e.stripe - 1) / e.stripe
		err := e.reduce(ctx, e.panelSum, jobs, slots, func(worker, job, slot int) {
			e.stripePairs(ctx, &e.work[worker], e.partial[slot*d*d:][:d*d], e.partialCol[slot*panel:][:p1-p0], job, p0)
		}, panel, e.colSum[p0:p1])
		if err != nil {
			return err
		}
		addTo(e.total, e.panelSum)
	}
	if err := engine.GatherJobs(ctx, e.team, e.rowSum, e.stripes(), e.stripe); err != nil {
		return err
	}
	// e.total is M. The diagonal term takes the place of panelSum.
	clear(e.panelSum)
	addTo(e.rowSum, e.colSum)
	err := e.reduce(ctx, e.panelSum, e.stripes(), slots, func(worker, job, slot int) {
		e.diagonal(ctx, &e.work[worker], e.partial[slot*d*d:][:d*d], job)
	}, 0, nil)
	if err != nil {
		return err
	}
	for a := range d {
		for b := a; b < d; b++ {
			e.total[a*d+b] = 2 * (e.panelSum[a*d+b] - (e.total[a*d+b] + e.total[b*d+a]))
		}
	}
	return nil
}

// reduce runs jobs. Each job fills one slot of partial and, if panel is not 0, one slot of
// partialCol. reduce adds the slots to sum and to the columns in the order of the jobs, so the
// result does not depend on the number of slots. In a team, a rank runs the jobs of its share of
// the stripes.
func (e *metricEvaluator) reduce(ctx context.Context, sum []float64, jobs, slots int, run func(worker, job, slot int),
	panel int, columns []float64) error {
	size := len(sum)
	mine, end := engine.OwnShare(e.team, max(jobs, e.stripes()))
	for first := 0; first < jobs; first += slots {
		count := min(slots, jobs-first)
		from, to := min(max(mine-first, 0), count), min(max(end-first, 0), count)
		err := forEach(ctx, min(e.workers, len(e.work)), to-from, func(worker, job int) {
			slot := from + job
			clear(e.partial[slot*size:][:size])
			run(worker, first+slot, slot)
		})
		if err == nil {
			err = e.gatherSlots(ctx, e.partial[:count*size], first, count, size)
		}
		if err == nil && panel > 0 {
			err = e.gatherSlots(ctx, e.partialCol[:count*panel], first, count, panel)
		}
		if err != nil {
			return err
		}
		for slot := range count {
			addTo(sum, e.partial[slot*size:][:size])
			if panel > 0 {
				addTo(columns, e.partialCol[slot*panel:][:len(columns)])
			}
		}
	}
	return nil
}

// gatherSlots completes the slots of count jobs, beginning with job first, from all ranks. The slot
// of a job is a row of length numbers.
func (e *metricEvaluator) gatherSlots(ctx context.Context, m []float64, first, count, length int) error {
	if e.team == nil {
		return nil
	}
	counts, at := make([]int, e.team.Size()), make([]int, e.team.Size())
	for r := range counts {
		from, to := engine.ShareOf(e.team, r, e.stripes()) // the number of jobs of all pairs is at most the number of stripes
		at[r] = min(max(from-first, 0), count) * length
		counts[r] = min(max(to-first, 0), count)*length - at[r]
	}
	return e.team.AllGather(ctx, m, counts, at)
}

// ownProducts computes x_i^T W x_i for the rows of a stripe. It stores X W if memory for
// X W was allocated.
func (e *metricEvaluator) ownProducts(worker, job int) {
	s, d := &e.work[worker], e.x.d
	for i0 := job * e.stripe; i0 < min((job+1)*e.stripe, e.rows); i0 += metricRows {
		m := min(metricRows, e.rows-i0)
		x := e.x.rows(s.x, i0, m)
		xw := s.xw[:m*d]
		if e.products != nil {
			xw = e.products[i0*d:][:m*d]
		}
		e.timesW(xw, x, m)
		for i := range m {
			e.own[i0+i] = e.set.Dot(x[i*d:][:d], xw[i*d:][:d])
		}
	}
}

// timesW sets xw to m rows x times W.
func (e *metricEvaluator) timesW(xw, x []float64, m int) {
	clear(xw)
	e.set.AddProducts(xw, e.x.d, x, e.w, m, e.x.d, e.x.d)
}

// stripePairs adds to sum the part of M = X^T U X that belongs to a stripe of rows and
// the panel of columns from p0 on. It sets part to the column sums of this part of U, and
// adds the row sums to rowSum. It returns early when ctx is done.
func (e *metricEvaluator) stripePairs(ctx context.Context, s *metricScratch, sum, part []float64, job, p0 int) {
	d, p1 := e.x.d, p0+len(part)
	clear(part)
	for i0 := job * e.stripe; i0 < min((job+1)*e.stripe, e.rows, p1); i0 += metricRows {
		m := min(metricRows, e.rows-i0)
		x := e.x.rows(s.x, i0, m)
		xw := s.xw[:m*d]
		if e.products != nil {
			xw = e.products[i0*d:][:m*d]
		} else {
			e.timesW(xw, x, m)
		}
		block := e.start(s, xw, i0, m)
		for c0 := max(p0, i0); c0 < p1 && ctx.Err() == nil; c0 += metricCols {
			c1 := min(c0+metricCols, p1)
			col := s.col[:c1-c0]
			clear(col)
			e.addColumns(s, col, c0, c1, i0-c0+1)
			addTo(part[c0-p0:c1-p0], col)
		}
		row, cx := s.row[:m], s.weighted[:d*m] // cx is the transpose of c X
		clear(row)
		clear(cx)
		block.Sums(cx, row)
		kernels.Transpose(s.xt[:d*m], x, m, d)
		e.set.AddProducts(sum, d, s.xt[:d*m], cx, d, d, m)
		addTo(e.rowSum[i0:i0+m], row)
	}
}

// start returns the sums of a block of m rows from i0 on.
func (e *metricEvaluator) start(s *metricScratch, xw []float64, i0, m int) interface{ Sums(cx, row []float64) } {
	own, y := e.own[i0:i0+m], e.y[i0:i0+m]
	if e.single {
		s.block32.Start(xw, own, y)
		return s.block32
	}
	if s.persons != nil {
		s.persons.At(i0, i0)
	}
	s.block.Start(xw, own, y)
	return s.block
}

// addColumns adds the pairs of the current block with the columns [c0, c1).
func (e *metricEvaluator) addColumns(s *metricScratch, col []float64, c0, c1, skip int) {
	if e.single {
		r := e.narrow
		s.block32.Add(col, r.rows(s.right32, c0, c1-c0), r.own[c0:c1], r.y[c0:c1], skip)
		return
	}
	if s.persons != nil {
		s.persons.At(c0+skip-1, c0)
	}
	s.block.Add(col, e.x.rows(s.right, c0, c1-c0), e.own[c0:c1], e.y[c0:c1], skip)
}

// diagonal adds the upper triangle of X^T diag(C1) X over a stripe to sum. C1 is in
// rowSum.
func (e *metricEvaluator) diagonal(ctx context.Context, s *metricScratch, sum []float64, job int) {
	d := e.x.d
	for i0 := job * e.stripe; i0 < min((job+1)*e.stripe, e.rows) && ctx.Err() == nil; i0 += metricRows {
		m := min(metricRows, e.rows-i0)
		kernels.Transpose(s.xt[:d*m], e.x.rows(s.x, i0, m), m, d)
		s.addWeighted(e.set.AddProducts, sum, e.rowSum[i0:i0+m], d)
	}
}

// triangleBand is the number of rows of a d x d sum that are computed from a common first
// column on.
const triangleBand = 24

// addWeighted adds sum_i c_i x_i x_i^T to the upper triangle of sum. The columns of xt
// are the x_i. The numbers that it writes below the diagonal have no meaning.
func (s *metricScratch) addWeighted(add func(dst []float64, stride int, a, b []float64, m, n, k int),
	sum, c []float64, d int) {
	m := len(c)
	xt, weighted := s.xt[:d*m], s.weighted[:d*m]
	kernels.ScaleColumns(weighted, c, xt, d)
	for a := 0; a < d; a += triangleBand {
		add(sum[a*d+a:], d, weighted[a*m:], xt[a*m:], min(triangleBand, d-a), d-a, m)
	}
}
