package cuda

import (
	"context"
	"math"
	"math/bits"

	"dyad/engine/cuda/driver"
)

// factored is the method for the logistic loss of two labels. Records of the smaller label are columns, and
// records of the larger label are rows. The numbers of a place are its record and its exponential.
type factored struct {
	direct
	records    driver.Pointer
	step       float64 // difference of the labels, 0 if there is only one label
	rows, cols int
}

func bindFactored(c *job, e *evaluator) *factored {
	cols, rows, step := sides(e.y)
	m := &factored{step: step, rows: len(rows), cols: len(cols)}
	// Each side is padded to tiles, and one row may have no partner. The sum of the padded sizes is public.
	places := e.problem.N + 2*factoredRows
	m.bind(c, e, places, 4, &m.records)
	at := make([]uint32, 0, places)
	for _, side := range [][]uint32{cols, rows} {
		for i := range paddedRows(len(side)) {
			record := uint32(none)
			if i < len(side) {
				record = side[i]
			}
			at = append(at, record)
		}
	}
	c.copyWords(m.records, at)
	return m
}

// sides returns the records of the smaller label, in order, as cols, and the records of the larger label as
// rows, where rows 2k and 2k + 1 are partners. step is the difference of the labels. If there is only one
// label, there are no rows.
func sides(y []float64) (cols, rows []uint32, step float64) {
	least, most := math.Inf(1), math.Inf(-1)
	for _, v := range y {
		least, most = min(least, v), max(most, v)
	}
	for i, v := range y {
		if v == least {
			cols = append(cols, uint32(i))
		}
	}
	return cols, partners(len(y), func(i int) bool { return y[i] != least }), most - least
}

// partners considers the records 0 <= i < n for which row(i) is true. It arranges these records in pairs 2k and
// 2k + 1. At most one of these records has the partner none.
//
// Claim. If row or the number of one record changes, at most partnersMoved(n) other records
// have another partner.
//
// Proof. Consider the binary tree of halves over the places of the records, 2^m >= n of them, m =
// partnersMoved(n). Every node hands at most one record without a partner up. If both halves of a node hand a
// record up, the two records become partners, and the node hands none up. So a node hands a record up if and
// only if the number of rows below the node is odd. Let row of record k change. Off the path from k to the root
// nothing changes. On the path, every node hands up none instead of a record, or a record instead of none,
// since its number of rows changes by one. Let L be this record; at first L is k. At the next node, if the
// other half hands up none, L goes on. If the other half hands up s, then s and L are partners in one of the
// data sets. In the other data set the node hands up s, so s takes the place of L. So only k and the records s
// of the m nodes ever have another partner. If row does not change, no partner changes, and only the partner of
// k has a partner with different numbers. QED
func partners(n int, row func(int) bool) []uint32 {
	var pairs []uint32
	var held [64]uint32 // records that the first halves of the nodes on the path handed up
	size := 1 << partnersMoved(n)
	for i := range size {
		up := uint32(none)
		if i < n && row(i) {
			up = uint32(i)
		}
		level := 0
		for ; i>>level&1 == 1; level++ { // the second half of a node
			switch first := held[level]; {
			case first == none:
			case up == none:
				up = first
			default:
				pairs, up = append(pairs, first, up), none
			}
		}
		held[level] = up
	}
	if last := held[partnersMoved(n)]; last != none {
		pairs = append(pairs, last, none)
	}
	return pairs
}

// partnersMoved returns the largest number of other records whose partner can change if one of n records changes.
func partnersMoved(n int) int { return bits.Len(uint(n - 1)) }

// paddedRows returns n rounded up to whole tiles.
func paddedRows(n int) int { return chunksOf(n, factoredRows) * factoredRows }

func (m *factored) places() (driver.Pointer, int) {
	if m.rows == 0 {
		return 0, 0
	}
	return m.sums, paddedRows(m.cols) + paddedRows(m.rows)
}

func (m *factored) terms(ctx context.Context, c *job) {
	e := m.e
	if m.rows == 0 {
		return
	}
	first := paddedRows(m.cols) // place of the first row
	places := first + paddedRows(m.rows)
	c.clear(m.sums, 8*places)
	limit := math.Float64bits(maxFactoredMargin / 2)
	for _, s := range m.sides() {
		c.launch(m.module, "exponentials", blocksFor(s.n), 1, at(m.numbers, 4, s.from), uint64(e.s), at(m.records, 4, s.from),
			uint64(s.n), math.Float64bits(s.scale), limit, math.Float64bits(s.factor), uint64(math.Float32bits(padding)))
	}
	slices := slicesOf(m.rows, m.cols, factoredRows, factoredCols, m.pairsPerLaunch(factoredWork))
	inTurn(ctx, c, ownTurns(e.backend, slices), func(s slice) {
		c.launch(m.module, "logistic_tiles", chunksOf(s.rows, factoredRows), chunksOf(s.cols, factoredCols),
			at(m.sums, 8, first+s.row), at(m.sums, 8, s.col), at(m.numbers, 4, first+s.row), at(m.numbers, 4, s.col),
			uint64(s.rows), uint64(s.cols))
	})
}

// side is one of the two sides: the first of its places, their number n, and the constants from which the
// kernels compute exponentials and coefficients.
type side struct {
	from, n             int
	scale, factor, unit float64
}

func (m *factored) sides() [2]side {
	first, unit := paddedRows(m.cols), 2*m.step*0x1p-23
	// the sums are sums of -phi'
	return [2]side{{0, first, -m.step, 1, unit}, {first, paddedRows(m.rows), m.step, 2, -unit}}
}

func at(of driver.Pointer, bytes, place int) uint64 { return uint64(of + driver.Pointer(bytes*place)) }

func (m *factored) finish(c *job) {
	e := m.e
	if m.rows == 0 {
		c.clear(e.c, 8*e.problem.N)
		return
	}
	for _, s := range m.sides() {
		c.launch(m.module, "coefficients", blocksFor(s.n), 1, uint64(e.c), at(m.sums, 8, s.from),
			at(m.records, 4, s.from), uint64(s.n), math.Float64bits(s.unit))
	}
}
