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
	pairCols     = 1024 // of a strip
)

const (
	// padding is a in logistic_tiles for a record that is not there.
	padding = 0x1p120
	// launchWork is how many instructions of a thread a multiprocessor runs in one
	// launch. A cancelled context is seen between launches: 50 ms at 64 instructions in
	// a cycle of 1.4 GHz, the slowest GPUs that the kernels run on.
	launchWork = 1 << 32
	// factoredWork and pairWork are instructions of a pair; pairWork without the code for
	// phi'. Each instruction of that code counts slopeWork, as a special function does.
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

// slicesOf cuts rows x cols pairs into launches of at most pairs pairs, or one block,
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

// inTurn launches parts one after the other, until the context is done.
func inTurn[T any](ctx context.Context, c driver.Context, all []T, launch func(T) error) error {
	for i, part := range all {
		if i > 0 {
			if err := c.SyncStream(0); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := launch(part); err != nil {
			return err
		}
	}
	return nil
}

// pairsPerLaunch is the number of pairs that the GPU visits in a launch if each takes this
// number of instructions.
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
	cols := m.classes.groups[0][1] // the smaller label; its records come first
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
	err := inTurn(ctx, c, slicesOf(rows, cols, factoredRows, factoredCols, m.pairsPerLaunch(factoredWork)), func(s slice) error {
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
