package cuda

import (
	"context"
	"encoding/binary"
	"math"

	"dyad/engine/cuda/driver"
)

// spliced is any loss whose phi' has code, for any labels: the pairs i < j < end[i] of rows,
// end[i] the end of the group of row i.
type spliced struct {
	direct
	end  []uint32
	ends driver.Pointer
}

func bindSpliced(c driver.Context, e *evaluator) (*spliced, error) {
	n := e.problem.N
	m := &spliced{end: endsOf(e.groups(), e.nearFrom)}
	if err := m.bind(c, e, n, 8, 8); err != nil {
		return nil, err
	}
	if err := e.memory.alloc(c, []block{{&m.ends, 4 * n}}); err != nil {
		return nil, err
	}
	ends := make([]byte, 4*n)
	for i, v := range m.end {
		binary.LittleEndian.PutUint32(ends[4*i:], v)
	}
	if err := c.CopyIn(m.ends, ends); err != nil {
		return nil, err
	}
	// The labels take the place of scores to be split.
	y := e.y
	if e.slot != nil {
		y = make([]float64, n)
		for i, at := range e.slot {
			y[at] = e.y[i]
		}
	}
	if err := copyIn(c, e.s, y); err != nil {
		return nil, err
	}
	return m, m.split(c, m.right, e.problem.Bounds.LabelAbs)
}

// split splits the numbers in s, of size at most limit, into pairs of floats.
func (m *spliced) split(c driver.Context, to driver.Pointer, limit float64) error {
	n := m.e.problem.N
	return m.module.launch(c, "split", blocksFor(n), 1, uint64(to), uint64(m.e.s), uint64(n), uint64(n), math.Float64bits(1), math.Float64bits(limit))
}

// coefficients implements method.
func (m *spliced) coefficients(ctx context.Context, c driver.Context) error {
	e, n := m.e, m.e.problem.N
	if err := c.Clear(m.sums, uint64(8*n), 0); err != nil {
		return err
	}
	if err := m.split(c, m.left, e.scores.Score); err != nil {
		return err
	}
	unit := uint64(math.Float32bits(float32(1 / e.unit)))
	blocks := m.pairsPerLaunch(pairWork+slopeWork*e.instructions) / (pairRows * pairCols)
	err := inTurn(ctx, c, bandsOf(m.end, blocks), func(b band) error {
		return m.module.launch(c, "pair_tiles", b.tiles, b.strips,
			uint64(m.sums), uint64(m.left), uint64(m.right), uint64(m.ends), uint64(n), unit, uint64(b.tile), uint64(b.strip))
	})
	if err != nil {
		return err
	}
	return m.module.launch(c, "coefficients", blocksFor(n), 1, uint64(e.c), uint64(m.sums), 0, uint64(n), math.Float64bits(2*e.unit*0x1p-22))
}

// endsOf returns the end of the group of every row; the rows of groups of the given size
// and more are alone.
func endsOf(sizes []int, alone int) []uint32 {
	var end []uint32
	for _, size := range sizes {
		to := len(end) + size
		for i := len(end); i < to; i++ {
			if size < alone {
				end = append(end, uint32(to))
			} else {
				end = append(end, uint32(i+1))
			}
		}
	}
	return end
}

// band is a launch of pair_tiles: strips of columns, counted from the diagonal, of tiles of
// rows.
type band struct{ tile, tiles, strip, strips int }

// idleBlocks is how many blocks without pairs take as long as a launch.
const idleBlocks = 4096

// bandsOf cuts the pairs i < j < end[i] into launches of at most blocks blocks, or one.
// A launch has equally many strips for all of its tiles, so that blocks may have no pair:
// not many more than have one, or than a launch is worth. So small groups share launches,
// and large ones have their own.
func bandsOf(end []uint32, blocks int) (all []band) {
	const maxGrid = 65535 // strips
	blocks = max(blocks, 1)
	tiles := chunksOf(len(end), pairRows)
	for from := 0; from < tiles; {
		strips := stripsOf(end, from)
		if strips == 0 {
			from++
			continue
		}
		to, useful := from+1, strips
		for ; to < tiles; to++ {
			next := stripsOf(end, to)
			most := max(strips, next)
			if size := (to + 1 - from) * most; size > blocks || size > 2*(useful+next)+idleBlocks {
				break
			}
			strips, useful = most, useful+next
		}
		for strip := 0; strip < strips; strip += min(blocks, maxGrid) {
			all = append(all, band{from, to - from, strip, min(strips-strip, blocks, maxGrid)})
		}
		from = to
	}
	return all
}

// stripsOf is the number of strips with pairs of the rows of a tile.
func stripsOf(end []uint32, tile int) int {
	first := tile * pairRows
	last := min(first+pairRows, len(end))
	for i := first; i < last; i++ {
		if int(end[i]) > i+1 {
			return chunksOf(int(end[last-1])-first, pairCols)
		}
	}
	return 0
}
