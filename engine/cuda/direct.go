package cuda

import (
	"math"

	"dyad/engine/cuda/driver"
	"dyad/kernels"
)

// Sizes of kernels/cuda/score.cu and spliced.cu.
const (
	factoredRows = 128
	factoredCols = 2048
	pairRows     = 64
	pairCols     = 1024
)

const (
	// padding is the value of 2 a and of b in logistic_tiles for a missing record. The constant none marks a
	// missing record.
	padding = 0x1p62
	none    = math.MaxUint32
	// launchWork is the number of instructions, summed over threads, that a multiprocessor runs in one launch.
	// A cancelled context is noticed between launches. At 64 instructions per cycle and 1.4 GHz, the slowest
	// GPUs that the kernels run on, a launch takes 50 ms.
	launchWork = 1 << 32
	// factoredWork and pairWork are the numbers of instructions per pair. pairWork excludes the code of phi'.
	// Each instruction of that code counts as slopeWork instructions, the cost of a special function.
	factoredWork = 6
	pairWork     = 16
	slopeWork    = 8
)

// direct holds the data on the GPU that the factored and the spliced method share: the module, the integer sums
// of terms, and the numbers of every record.
type direct struct {
	e       *evaluator
	module  *module
	sums    driver.Pointer
	numbers driver.Pointer
	limit   int // pairs per launch; 0 for as many as take 50 ms
}

// bind allocates memory for the given number of places: 8 bytes each for sums, the given number of bytes each
// for numbers, and a 4-byte word each at more.
func (m *direct) bind(c *job, e *evaluator, places, bytes int, more *driver.Pointer) {
	m.e, m.module = e, e.backend.Device.load(c, kernels.PTX("score"))
	e.alloc(c, []block{{&m.sums, 8 * places}, {&m.numbers, bytes * places}, {more, 4 * places}})
}

// slice is a rectangular part of a matrix of pairs.
type slice struct{ row, rows, col, cols int }

// slicesOf cuts rows x cols pairs into launches of whole blocks of blockRows x blockCols. A launch has at most
// pairs pairs, but at least one block.
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

// pairsPerLaunch returns the number of pairs that the GPU visits in one launch if each pair takes the given
// number of instructions.
func (m *direct) pairsPerLaunch(instructions int) int {
	if m.limit > 0 {
		return m.limit
	}
	n := m.e.problem.N
	return m.e.backend.perLaunch(m.e.backend.Device.Info().Multiprocessors*(launchWork/instructions), n*n/2)
}
