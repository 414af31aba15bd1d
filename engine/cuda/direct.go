package cuda

import (
	"context"
	"math"

	"dyad/engine/cuda/driver"
)

// Sizes of kernels/cuda/score.cu.
const (
	factoredRows = 128
	factoredCols = 2048
	pairRows     = 64
	pairCols     = 1024
)

const (
	// padding is a in logistic_tiles for a record that is not there.
	padding = 0x1p120
	// launchWork is how many instructions of a thread a multiprocessor runs in one
	// launch. A cancelled context is seen between launches: 50 ms at 64 instructions in
	// a cycle of 1.4 GHz, the slowest GPUs that the kernels run on.
	launchWork = 1 << 32
	// factoredWork and pairWork are instructions of a pair; pairWork without those of
	// the code for phi', of which each counts slopeWork, as a special function does.
	factoredWork = 8
	pairWork     = 40
	slopeWork    = 8
)

// direct holds what both methods that visit every pair have on the GPU: the module, the
// integer sums of terms, and two numbers of every record.
type direct struct {
	e           *evaluator
	module      *module
	sums        driver.Pointer
	left, right driver.Pointer
	limit       int // pairs of a launch; 0: as many as take 50 ms
}

func (m *direct) bind(c driver.Context, e *evaluator, left, right int) (err error) {
	m.e = e
	if m.module, err = e.backend.Device.load(c, e.ptx); err != nil {
		return err
	}
	return e.memory.alloc(c, []block{{&m.sums, 8 * e.problem.N}, {&m.left, left}, {&m.right, right}})
}

// scaled sets c to unit times the sums of count rows.
func (m *direct) scaled(c driver.Context, from, count int, unit float64) error {
	at := driver.Pointer(8 * from)
	return m.module.launch(c, "coefficients", blocksFor(count), 1, uint64(m.e.c+at), uint64(m.sums+at), uint64(count), math.Float64bits(unit))
}

// blocksFor is the number of blocks with a thread for each of n records.
func blocksFor(n int) int { return chunksOf(n, blockThreads) }

// slice is a part of a matrix of pairs.
type slice struct{ row, rows, col, cols int }

// slicesOf cuts rows x cols pairs into launches of at most that many pairs, or one block,
// in whole blocks of blockRows x blockCols.
func slicesOf(rows, cols, blockRows, blockCols, pairs int) (all []slice) {
	const maxGrid = 65535 // blocks of columns
	height := max(min(rows, pairs/blockCols/blockRows*blockRows), blockRows)
	width := max(min(pairs/height/blockCols, maxGrid), 1) * blockCols
	for c0 := 0; c0 < cols; c0 += width {
		for r0 := 0; r0 < rows; r0 += height {
			all = append(all, slice{r0, min(height, rows-r0), c0, min(width, cols-c0)})
		}
	}
	return all
}

// each launches slices one after the other, until the context is done.
func (m *direct) each(ctx context.Context, c driver.Context, all []slice, launch func(slice) error) error {
	for i, s := range all {
		if i > 0 {
			if err := c.SyncStream(0); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := launch(s); err != nil {
			return err
		}
	}
	return nil
}

// pairsPerLaunch is the number of pairs of that many instructions that the GPU visits in
// a launch.
func (m *direct) pairsPerLaunch(instructions int) int {
	if m.limit > 0 {
		return m.limit
	}
	return m.e.backend.Device.Info().Multiprocessors * (launchWork / instructions)
}

// factored is the logistic loss of two labels.
type factored struct {
	direct
	classes classes
}

func bindFactored(c driver.Context, e *evaluator, cl classes) (*factored, error) {
	m := &factored{classes: cl}
	return m, m.bind(c, e, 4*paddedRows(e.problem.N), 4*paddedRows(e.problem.N))
}

// paddedRows is n rounded up to whole tiles.
func paddedRows(n int) int { return chunksOf(n, factoredRows) * factoredRows }

// coefficients implements method.
func (m *factored) coefficients(ctx context.Context, c driver.Context) error {
	e, n := m.e, m.e.problem.N
	if len(m.classes.values) < 2 {
		return c.Clear(e.c, uint64(8*n), 0)
	}
	if err := c.Clear(m.sums, uint64(8*n), 0); err != nil {
		return err
	}
	cols := m.classes.start[1] // the smaller label; its records come first
	rows, step := n-cols, m.classes.values[1]-m.classes.values[0]
	limit := math.Float64bits(maxFactoredMargin / 2)
	for _, side := range []struct {
		to            driver.Pointer
		from, n       int
		scale, factor float64
	}{{m.left, cols, rows, step, 2}, {m.right, 0, cols, -step, 1}} {
		err := m.module.launch(c, "exponentials", blocksFor(paddedRows(side.n)), 1, uint64(side.to), uint64(e.s+driver.Pointer(8*side.from)), uint64(side.n),
			math.Float64bits(side.scale), limit, math.Float64bits(side.factor), uint64(math.Float32bits(padding)))
		if err != nil {
			return err
		}
	}
	err := m.each(ctx, c, slicesOf(rows, cols, factoredRows, factoredCols, m.pairsPerLaunch(factoredWork)), func(s slice) error {
		return m.module.launch(c, "logistic_tiles", chunksOf(s.rows, factoredRows), chunksOf(s.cols, factoredCols),
			uint64(m.sums+driver.Pointer(8*(cols+s.row))), uint64(m.sums+driver.Pointer(8*s.col)),
			uint64(m.left+driver.Pointer(4*s.row)), uint64(m.right+driver.Pointer(4*s.col)), uint64(s.rows), uint64(s.cols))
	})
	if err != nil {
		return err
	}
	// -phi' is summed, over pairs whose label difference is +-step.
	unit := 2 * step * 0x1p-23
	if err := m.scaled(c, cols, rows, -unit); err != nil {
		return err
	}
	return m.scaled(c, 0, cols, unit)
}

// spliced is any loss whose phi' has code, for any labels.
type spliced struct{ direct }

func bindDirect(c driver.Context, e *evaluator) (*spliced, error) {
	n := e.problem.N
	m := &spliced{}
	if err := m.bind(c, e, 8*n, 8*n); err != nil {
		return nil, err
	}
	// The labels take the place of scores to be split.
	if err := copyIn(c, e.s, e.y); err != nil {
		return nil, err
	}
	return m, m.split(c, m.right, e.problem.Bounds.LabelAbs)
}

// split splits the numbers in s, of size at most limit, into pairs of floats.
func (m *spliced) split(c driver.Context, to driver.Pointer, limit float64) error {
	n := m.e.problem.N
	return m.module.launch(c, "split", blocksFor(n), 1, uint64(to), uint64(m.e.s), uint64(n), uint64(n), math.Float64bits(1), math.Float64bits(limit))
}

// coefficients implements method: it visits the pairs i < j of all records.
func (m *spliced) coefficients(ctx context.Context, c driver.Context) error {
	e, n := m.e, m.e.problem.N
	if err := c.Clear(m.sums, uint64(8*n), 0); err != nil {
		return err
	}
	if err := m.split(c, m.left, e.scores.Score); err != nil {
		return err
	}
	at := func(p driver.Pointer, i, size int) uint64 { return uint64(p + driver.Pointer(size*i)) }
	unit := uint64(math.Float32bits(float32(1 / e.unit)))
	var upper []slice
	for _, s := range slicesOf(n, n, pairRows, pairCols, m.pairsPerLaunch(pairWork+slopeWork*e.instructions)) {
		if s.rows = min(s.rows, s.col+s.cols-s.row); s.rows > 0 { // i < j
			upper = append(upper, s)
		}
	}
	err := m.each(ctx, c, upper, func(s slice) error {
		return m.module.launch(c, "pair_tiles", chunksOf(s.rows, pairRows), chunksOf(s.cols, pairCols),
			at(m.sums, s.row, 8), at(m.sums, s.col, 8), at(m.left, s.row, 4), at(m.right, s.row, 4), at(m.left, s.col, 4), at(m.right, s.col, 4),
			uint64(s.rows), uint64(s.cols), uint64(n), unit, uint64(s.col-s.row))
	})
	if err != nil {
		return err
	}
	return m.scaled(c, 0, n, 2*e.unit*0x1p-22)
}
