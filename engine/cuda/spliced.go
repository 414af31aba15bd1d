package cuda

import (
	"context"
	"math"

	"dyad/engine/cuda/driver"
)

// spliced is the method for any labels and any loss with code for phi'. It visits the pairs i < j < end[i] of
// rows, where end[i] is the end of the group of row i.
type spliced struct {
	direct
	tiles *module
	end   []uint32
	// end, or for rows of persons the first row of the next person; weight holds the weights of such rows
	ends   driver.Pointer
	weight driver.Pointer
}

func bindSpliced(c *job, e *evaluator) *spliced {
	n := e.problem.N
	m := &spliced{end: endsOf(e.groups(), e.nearFrom), tiles: e.backend.Device.load(c, e.ptx)}
	m.bind(c, e, n, 16, &m.ends)
	ends := m.end
	if p := e.persons; p != nil {
		ends = nextOf(p.records)
		e.alloc(c, []block{{&m.weight, 4 * n}})
		c.copyWords(m.weight, weightWords(p.records))
	}
	c.copyWords(m.ends, ends)
	// The labels are stored in place of the scores, so that split can process them.
	y := e.y
	if e.slot != nil {
		y = make([]float64, n)
		for i, at := range e.slot {
			y[at] = e.y[i]
		}
	}
	c.copyIn(e.s, y)
	m.split(c, m.numbers+8, e.problem.Bounds.LabelAbs, 0.25/e.unit)
	return m
}

// split splits scale times the numbers in s into pairs of floats. The absolute values of the numbers must be at
// most limit. A record has four floats, and the pair is the first two or the last two of them.
func (m *spliced) split(c *job, to driver.Pointer, limit, scale float64) {
	n := m.e.problem.N
	c.launch(m.module, "split", blocksFor(n), 1, uint64(to), uint64(m.e.s), uint64(n), math.Float64bits(limit),
		math.Float64bits(scale))
}

func (m *spliced) places() (driver.Pointer, int) { return m.sums, m.e.problem.N }

func (m *spliced) terms(ctx context.Context, c *job) {
	e := m.e
	c.clear(m.sums, 8*e.problem.N)
	m.split(c, m.numbers, e.scores.Score, 4*e.unit)
	blocks := m.pairsPerLaunch(pairWork+slopeWork*e.instructions) / (pairRows * pairCols)
	inTurn(ctx, c, ownTurns(e.backend, bandsOf(m.end, blocks)), func(b band) { m.launch(c, b) })
}

func (m *spliced) finish(c *job) {
	e, n := m.e, m.e.problem.N
	if e.persons != nil {
		c.launch(m.tiles, "person_coefficients", blocksFor(n), 1, uint64(e.c), uint64(m.sums),
			uint64(e.persons.weight), uint64(n), math.Float64bits(2*e.unit*personFixed))
		return
	}
	c.launch(m.module, "coefficients", blocksFor(n), 1, uint64(e.c), uint64(m.sums), 0, uint64(n),
		math.Float64bits(2*e.unit*0x1p-22))
}

// launch adds up the terms of a band.
func (m *spliced) launch(c *job, b band) {
	single := func(v float32) uint64 { return uint64(math.Float32bits(v)) }
	e := m.e
	name, args := "pair_tiles", []uint64{uint64(m.sums), uint64(m.numbers)}
	if e.persons != nil {
		name, args = "person_tiles", append(args, uint64(m.weight))
	}
	args = append(args, uint64(m.ends), uint64(e.problem.N), single(e.clamps.reach), single(e.clamps.least),
		single(e.clamps.most), uint64(b.tile), uint64(b.strip))
	c.launch(m.tiles, name, b.tiles, b.strips, args...)
}

// endsOf returns the end of the group of every row. In groups of size alone or more, every row is a group of its own.
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

// band is a launch of pair_tiles. It has tiles of rows and, for each tile, strips of columns counted from the diagonal.
type band struct{ tile, tiles, strip, strips int }

// idleBlocks is the number of blocks without pairs that take as long as one launch.
const idleBlocks = 4096

// bandsOf cuts the pairs i < j < end[i] into launches. A launch has at most blocks blocks, but at least one
// block. A launch has the same number of strips for all of its tiles, so some of its blocks may have no pair.
// The number of such blocks is at most the number of blocks with pairs plus idleBlocks. As a result, small
// groups share launches, and large groups have their own launches.
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

// stripsOf returns the number of strips that contain pairs of the rows of a tile.
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
