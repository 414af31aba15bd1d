package cuda

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"sort"

	"dyad/engine"
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

// planNearLinear finds the expansion of phi' in the scores of one class. The error wraps engine.ErrUnsupported
// if there is no expansion. This is the case for a loss that is not an engine.AnalyticLoss, for margins that
// need more than 256 terms, and for many labels.
//
// The method uses one expansion for the whole range of scores. A record then adds to a few dozen sums that a
// thread holds in registers. Shorter expansions on parts of the range would make the choice of these sums
// depend on the record's score.
func (k *kernel) planNearLinear() error {
	loss, ok := k.loss.(engine.AnalyticLoss)
	// without smoothness a sum must be a sum of terms of pairs (engine.QueryBounds.Sum), and a sum of interpolants is not
	if !ok || !k.scores.Smooth() {
		return fmt.Errorf("%w: loss %q is not analytic, or the error of its slope has no bound, use Direct",
			engine.ErrUnsupported, k.loss.Name())
	}
	if k.problem.LabelLimit() > maxClasses {
		return fmt.Errorf("%w: up to %d different labels, the near-linear method takes %d; set Problem.LabelValues "+
			"or use Direct", engine.ErrUnsupported, k.problem.LabelLimit(), maxClasses)
	}
	size, q := loss.StripBound(k.scores.Margin, 0), k.problem.LabelLimit()
	if size < math.MaxFloat64 {
		e, ok := engine.Expand(loss, k.scores.Margin, k.scores.LabelSpan*k.scores.Score, size*tolerance, maxTerms, 1)
		if ok && q*(q-1)*e.Terms*e.Terms <= maxTable {
			k.expansion = e
			return nil
		}
	}
	return fmt.Errorf("%w: loss %q has no expansion of %d terms over margins up to %.3g, use Direct",
		engine.ErrUnsupported, k.loss.Name(), maxTerms, k.scores.Margin)
}

// logGroups returns the base-2 logarithm of the number of groups of terms, which is 1, 2, 4 or 8.
func (k *kernel) logGroups() uint { return uint(bits.Len(uint(k.expansion.Terms-1) / groupTerms)) }

// momentLen returns the number of moments of a class.
func (k *kernel) momentLen() int { return groupTerms << k.logGroups() }

// momentDepth returns the depth of the moments, which the kernels moments or score_moments and class_moments
// compute. A group of fewer records has chunks of at most the same length. The number of its chunks is at most
// maxChunks and at most the number of its tiles.
func (k *kernel) momentDepth() int {
	n := k.problem.MaxRows()
	return chunksOf(chunkOf(n), 2*tileRows>>max(k.logGroups(), 1)) + 9 + combineDepth(min(maxChunks,
		chunksOf(n, tileRows)))
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

// nearLinear computes c of the sorted groups by Chebyshev interpolation in both scores of
// a pair, one group after the other.
//
// Let M_b be the moments of the records of class b: sums of T_j at the positions of the records. Let G_ab[k] be
// the coefficients of 2 (y_a - y_b) phi'((y_a - y_b)(x_k - t)), as a function of the position t of a record of
// class b, at a node x_k of class a. The sum over b != a of G_ab[k] M_b is c at the node. The values at the
// nodes have a Chebyshev series, and the method evaluates the series at every record.
//
// All steps run on the GPU, so that a sum waits for the host only once. If all records form one group, the
// method needs neither the second pass over the scores nor c. The kernel that computes scores also adds up the
// moments, and the kernel that computes X^T c also evaluates the series.
type nearLinear struct {
	e       *evaluator
	module  *module
	classes classes
	scale   uint64
	groups  []sortedGroup
	covered int // number of rows in the groups

	part, moments, coefs, matrices, tables driver.Pointer
}

// sortedGroup is a group whose moments are summed. It consists of parts, and each part is a run of rows of one class.
type sortedGroup struct {
	parts              []uint32 // partWords numbers each, see kernels/cuda/nearlinear.cu
	at, first, classes driver.Pointer
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
