package cuda

import (
	"context"
	"math"
	"math/bits"
	"sort"

	"dyad/engine/cuda/driver"
	"dyad/kernels"
)

// Sizes of kernels/cuda/nearlinear.cu, and limits of the method.
const (
	groupTerms   = 32             // terms of a group of threads
	maxTerms     = 8 * groupTerms // terms of an expansion
	maxClasses   = 16             // largest number of labels
	maxTable     = 8 << 20        // numbers in the matrices of all ordered pairs of labels
	maxMomentDim = 2048           // largest number of columns for score_moments
	partWords    = 3              // words of a part: first row, end and class
	// tolerance is the truncation error, in units of sup |phi\'|. It is 64 units of roundoff, a small part of
	// nearError. Every further digit needs more terms for every record.
	tolerance = 0x1p-47
)

// logGroups returns the base-2 logarithm of the number of groups of terms, which is 1, 2, 4 or 8.
func (k *kernel) logGroups() uint { return uint(bits.Len(uint(k.expansion.Terms-1) / groupTerms)) }

// momentLen returns the number of moments of a class.
func (k *kernel) momentLen() int { return groupTerms << k.logGroups() }

// momentDepth returns the depth of the moments, which the kernels moments or score_moments and class_moments
// compute. A group of fewer records has chunks of at most the same length. The number of its chunks is at most
// maxChunks and at most the number of its tiles.
func (k *kernel) momentDepth() int {
	n := k.problem.MaxRows()
	return chunksOf(chunkOf(n), 2*tileRows>>max(k.logGroups(), 1)) + 9 +
		combineDepth(min(maxChunks, chunksOf(n, tileRows)))
}

// chunkOf returns the number of rows of a partial sum over n rows.
func chunkOf(n int) int {
	spans, span := cut(n)
	return spans * span * tileRows
}

// expandDepth returns the depths of the two products of the kernel expand.
func (k *kernel) expandDepth() (values, coefficients int) {
	eighth := chunksOf(k.expansion.Terms, 8)
	return (k.problem.LabelLimit()-1)*eighth + 8, eighth + 8
}

// partsOf cuts the rows of classes into parts. start holds the first row of every class. Parts end at multiples
// of chunk, counted from the first row. partsOf returns the parts and the number of the first part of every
// class.
func partsOf(start []int, chunk int) (parts, first []uint32) {
	for a, from := range start[:len(start)-1] {
		first = append(first, uint32(len(parts)/partWords))
		for from < start[a+1] {
			to := min(start[a+1], start[0]+((from-start[0])/chunk+1)*chunk)
			parts = append(parts, uint32(from), uint32(to), uint32(a))
			from = to
		}
	}
	return parts, append(first, uint32(len(parts)/partWords))
}

func bindNearLinear(c *job, e *evaluator, cl classes) *nearLinear {
	m := &nearLinear{e: e, classes: cl, scale: math.Float64bits(1 / e.scores.Score),
		module: e.device.load(c, kernels.PTX("nearlinear"))}
	var table []uint32 // holds offsets until the address of the table is known
	most := 0
	for _, start := range cl.groups {
		size := start[len(start)-1] - start[0]
		parts, first := partsOf(start, chunkOf(size))
		g := sortedGroup{parts: parts}
		put := func(at *driver.Pointer, v []uint32) {
			*at = driver.Pointer(4 * len(table))
			table = append(table, v...)
		}
		rows := make([]uint32, len(start))
		for a, r := range start {
			rows[a] = uint32(r)
		}
		put(&g.at, parts)
		put(&g.first, first)
		put(&g.classes, rows)
		m.groups, m.covered, most = append(m.groups, g), m.covered+size, max(most, len(parts)/partWords)
	}
	length, q, p := e.momentLen(), len(cl.values), e.expansion.Terms
	matrices := m.products()
	e.alloc(c, []block{{&m.part, 8 * most * length}, {&m.moments, 8 * q * length},
		{&m.coefs, 8 * q * maxTerms}, {&m.matrices, 8 * (1 + q*(q-1)/2) * p * p}, {&m.tables, 4 * len(table)}})
	for i := range m.groups {
		g := &m.groups[i]
		g.at, g.first, g.classes = m.tables+g.at, m.tables+g.first, m.tables+g.classes
	}
	c.copyWords(m.tables, table)
	c.copyIn(m.matrices, matrices)
	return m
}

// products returns the matrices of the kernel expand by columns. The first matrix converts values at the nodes
// to coefficients. The matrices G_ab for a > b follow, ordered by a and then by b.
func (m *nearLinear) products() []float64 {
	p, q := m.e.expansion.Terms, len(m.classes.values)
	nodes, t := kernels.ChebyshevNodes(p)
	cosines := make([]float64, p*p) // for each coefficient, its values at the nodes
	all := make([]float64, p*p, (1+q*(q-1)/2)*p*p)
	for k := range p {
		for a := range p {
			v := 2 / float64(p) * t[k*p+a]
			if a == 0 {
				v = 1 / float64(p)
			}
			cosines[a*p+k], all[k*p+a] = v, v
		}
	}
	values := make([]float64, p*p)
	for a, y := range m.classes.values {
		for _, z := range m.classes.values[:a] {
			width := (y - z) * m.e.scores.Score
			for k, s := range nodes {
				for l, t := range nodes {
					values[k*p+l] = m.e.loss.DPhi(width * (s - t))
				}
			}
			for j := range p {
				for k := range p {
					all = append(all, 2*(y-z)*kernels.Dot(values[k*p:(k+1)*p], cosines[j*p:(j+1)*p]))
				}
			}
		}
	}
	return all
}

// whole reports whether all records form one group. The sum then does not need c of every record.
func (m *nearLinear) whole() bool { return len(m.groups) == 1 && m.covered == m.e.problem.N }

// coefficients sets the coefficients c of all groups.
func (m *nearLinear) coefficients(ctx context.Context, c *job) {
	inTurn(ctx, c, m.groups, func(g sortedGroup) {
		m.fromScores(c, g)
		m.expand(c, g)
		m.series(c, g)
	})
}

// fromScores computes the partial sums of the moments of a group from the group's scores.
func (m *nearLinear) fromScores(c *job, g sortedGroup) {
	e := m.e
	first, parts, at := m.ownParts(g)
	name, args := "moments", []uint64{uint64(m.part + driver.Pointer(8*first*e.momentLen())), uint64(e.s), at, m.scale,
		uint64(e.logGroups())}
	if e.persons != nil {
		name, args = "weighted_moments", append(args, uint64(e.persons.weight))
	}
	if parts > 0 {
		c.launch(m.module, name, parts, 1, args...)
	}
}

// ownParts returns the parts of a group in the rows of this GPU: the number of the first part, the number of parts, and
// their address.
func (m *nearLinear) ownParts(g sortedGroup) (first, parts int, at uint64) {
	first = g.partAt(m.e.grid.first)
	return first, g.partAt(m.e.grid.first+m.e.grid.n) - first, uint64(g.at + driver.Pointer(4*partWords*first))
}

// expand computes the series of a group from the partial sums of the group's moments. The series depends only
// on the records of the group.
func (m *nearLinear) expand(c *job, g sortedGroup) {
	e, q := m.e, len(m.classes.values)
	length, p := e.momentLen(), e.expansion.Terms
	c.launch(m.module, "class_moments", length/8, q, uint64(m.moments), uint64(m.part), uint64(g.first), uint64(length))
	c.launch(m.module, "expand", 1, q, uint64(m.coefs), uint64(m.moments), uint64(m.matrices), uint64(p), uint64(q),
		uint64(e.logGroups()))
}

// series sets the coefficients c of a group.
func (m *nearLinear) series(c *job, g sortedGroup) {
	e := m.e
	if _, parts, at := m.ownParts(g); parts > 0 {
		c.launch(m.module, "series", parts, 1, uint64(e.c), uint64(e.s), uint64(m.coefs), at,
			uint64(e.expansion.Terms), m.scale)
	}
}

// sums sets rows.sum to the sum over all pairs. All records must form one group.
func (m *nearLinear) sums(ctx context.Context, c *job) {
	m.momentsOfScores(ctx, c)
	if !m.e.prompt() { // the context is checked again after the first half
		c.sync(0)
	}
	m.sumOfSeries(ctx, c)
}

// momentsOfScores computes the scores, and the partial sums of moments from the scores.
//
// One kernel computes the scores and adds up their moments while the scores are in registers. If there are more
// than 32 moments or the weights do not fit into shared memory, two kernels are used.
func (m *nearLinear) momentsOfScores(ctx context.Context, c *job) {
	e, g := m.e, m.groups[0]
	if e.logGroups() == 0 && e.problem.D <= maxMomentDim {
		e.rows.pass(ctx, c, func(at driver.Pointer, tile, tiles int) {
			tile += e.grid.first / tileRows
			from, to := g.partAt(tile*tileRows), g.partAt((tile+tiles)*tileRows)
			c.launch(m.module, "score_moments", to-from, 1, uint64(m.part+driver.Pointer(8*from*groupTerms)), uint64(e.s),
				uint64(at), uint64(e.rows.w),
				uint64(g.at+driver.Pointer(4*partWords*from)), uint64(e.problem.D), uint64(tile), m.scale)
		})
		return
	}
	e.rows.scores(ctx, c, e.s)
	m.fromScores(c, g)
}

// sumOfSeries sets rows.sum from the partial sums of moments. If one block has all columns, the kernel that
// uses c also computes c. Otherwise c is computed once and stored, because every further block of 64 columns
// would compute the p = 31 terms of c again. For each record such a block reads 512 bytes of X, which takes 25
// cycles of a multiprocessor of an H200. The terms would take another cycle of the float64 units, whereas
// writing and reading c takes one cycle for all blocks together.
func (m *nearLinear) sumOfSeries(ctx context.Context, c *job) {
	e, g := m.e, m.groups[0]
	m.expand(c, g)
	if e.problem.D > e.grid.columns() {
		m.series(c, g)
		e.rows.weightedSums(ctx, c, e.c)
		return
	}
	e.rows.sumsOf(ctx, c, func(part, at driver.Pointer, from, n int) {
		c.launch(m.module, "weighted_series", chunksOf(n, e.grid.chunkRows()), 1, uint64(part), uint64(at),
			uint64(e.s+driver.Pointer(8*from)), uint64(m.coefs), uint64(g.classes),
			uint64(n), uint64(from), uint64(e.problem.D), uint64(e.grid.spans), uint64(e.grid.span), uint64(e.grid.logParts),
			uint64(len(m.classes.values)), uint64(e.expansion.Terms), m.scale)
	})
}

// partAt returns the number of parts that begin before a row.
func (g sortedGroup) partAt(row int) int {
	return sort.Search(len(g.parts)/partWords, func(i int) bool { return int(g.parts[partWords*i]) >= row })
}
