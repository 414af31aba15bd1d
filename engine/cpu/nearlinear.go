package cpu

import (
	"context"
	"math"

	"dyad/kernels"
)

const (
	// maxTable is the largest node matrix, in floats (64 MB).
	maxTable = 8 << 20
	// runRows is the number of positions that are summed before the sums are flushed.
	runRows = 512
	// maxGroups bounds the labels times bins, so that places of positions have 16 bits.
	maxGroups = 4096
	// keptRow is the number of stored features from which scores are kept, not computed
	// twice.
	keptRow = 32
)

// nearLinear computes c by Chebyshev interpolation in both scores of a pair.
//
// The score range [-S, S] has B bins of half-width S/B with p nodes each. In its bin, a
// record has a position y in [-1, 1]. The interpolant of phi' between a node and a bin is
// a polynomial in y, so the sum over all records of a label in the bin needs the sums
// of their y^i alone. The sums at the p nodes of a bin, one for each label and bin, are
// interpolated in turn and evaluated at all records.
//
// Records are taken in blocks of coefRows whose positions are grouped by label and bin, the
// group of a record: sums and polynomials then run over contiguous numbers. With one bin,
// a record's group is its label, and its place in the block never changes.
type nearLinear struct {
	e      *evaluator
	q      int       // labels
	scaled []float64 // w / S, whose products with records are in [-1, 1]
	scores []float64 // n such products, nil if they are computed twice
	places []places  // of all blocks, if bins == 1
	sums   []float64 // chunks * sumsLen(q): of powers 0 to p - 1 for each group
	work   []nearScratch

	toCoefs  []float64 // p * p: Chebyshev coefficient, node
	toPowers []float64 // p * p: exponent, Chebyshev coefficient
	// between[a*q+b], a > b, holds for every node m of a bin the polynomials of phi' at
	// (y_a - y_b) times the score difference of that node and the bins at distance
	// B-1-t, t = 0 ... 2B-2: float m*(2B-1)*p + t*p + i. The bins seen from one are then
	// one run of B p floats.
	between [][]float64

	reversed []float64 // sums for negated scores, of each label
	coefs    []float64 // sumsLen(q): the polynomials of all groups
}

// places say where the positions of a block are.
type places struct {
	// start of the positions of each group, and the end. Groups begin at multiples of 8 and
	// are filled up with zeros.
	start []int32
	count []int32  // records of each group
	of    []uint16 // place of each record
	// record at each place; the number of records stands for a zero.
	record []uint16
}

// nearScratch is what one worker needs.
type nearScratch struct {
	score, pos []float64 // of a block, in the order of records; score ends with a zero
	x, value   []float64 // by place
	places     places
	key        []int32
	lanes      []float64 // partial sums of each group
	pending    []int     // positions in lanes, and 8 for each run of them
	g, cheb    []float64 // p
}

func newNearLinear(e *evaluator) *nearLinear {
	q, p := len(e.values), e.terms()
	groups, length := q*e.bins, e.sumsLen(q)
	m := &nearLinear{
		e: e, q: q, scaled: make([]float64, e.x.d),
		sums:     make([]float64, e.chunks()*length),
		reversed: make([]float64, length), coefs: make([]float64, length),
	}
	if e.rowLen >= keptRow {
		m.scores = make([]float64, len(e.y))
	}
	m.work = make([]nearScratch, min(e.kernel.workers, max(e.chunks(), groups)))
	for i := range m.work {
		m.work[i] = nearScratch{
			score: make([]float64, coefRows+1), pos: make([]float64, coefRows),
			x: make([]float64, coefRows+8*groups), value: make([]float64, coefRows+8*groups),
			places: newPlaces(groups, coefRows), key: make([]int32, coefRows),
			lanes: make([]float64, groups*8*(p-1)), pending: make([]int, groups),
			g: make([]float64, p), cheb: make([]float64, p),
		}
	}
	if e.bins == 1 {
		m.fixPlaces()
	}
	m.tables(p)
	return m
}

// positions computes w.x / S for the records of a block into s.score.
func (m *nearLinear) positions(s *nearScratch, from, to int, again bool) []float64 {
	x := s.score[:to-from]
	switch {
	case m.scores == nil:
		m.e.x.dots(x, m.scaled, from)
	case again:
		copy(x, m.scores[from:to])
	default:
		m.e.x.dots(x, m.scaled, from)
		copy(m.scores[from:to], x)
	}
	return x
}

// group fills s.x with the positions of a block, by group.
func (m *nearLinear) group(s *nearScratch, from, to int, again bool) *places {
	e, x := m.e, m.positions(s, from, to, again)
	if e.bins == 1 {
		at := &m.places[m.blockAt(from)]
		s.score[to-from] = 0
		kernels.Take(s.x, s.score[:to-from+1], at.record)
		return at
	}
	pos, key, at := s.pos[:len(x)], s.key[:len(x)], &s.places
	e.set.Locate(pos, key, x, e.class[from:to], e.bins)
	at.set(key)
	clear(s.x[:at.start[len(at.count)]])
	for i, k := range at.of[:len(x)] {
		s.x[k] = pos[i]
	}
	return at
}

// sum adds the powers of all positions to the sums of a chunk, which are zero.
func (m *nearLinear) sum(s *nearScratch, chunk int) {
	e, p := m.e, m.e.terms()
	length, lanes := e.sumsLen(m.q), 8*(p-1)
	sums := m.sums[chunk*length : (chunk+1)*length]
	clear(sums)
	from, to := e.chunk(chunk)
	for ; from < to; from += coefRows {
		at := m.group(s, from, min(from+coefRows, to), false)
		for g, count := range at.count {
			if count == 0 {
				continue
			}
			sums[g*p] += float64(count)
			part := s.lanes[g*lanes : (g+1)*lanes]
			for x := s.x[at.start[g]:at.start[g+1]]; len(x) > 0; {
				run := x[:min(len(x), runRows)]
				x = x[len(run):]
				e.set.PowerSums(part, run)
				if s.pending[g] += len(run) + 8; s.pending[g] >= runRows {
					flush(sums[g*p+1:(g+1)*p], part)
					s.pending[g] = 0
				}
			}
		}
	}
	for g := range s.pending {
		if s.pending[g] > 0 {
			flush(sums[g*p+1:(g+1)*p], s.lanes[g*lanes:(g+1)*lanes])
			s.pending[g] = 0
		}
	}
}

// flush adds the total of every eight partial sums to sum and clears them.
func flush(sum, lanes []float64) {
	for i := range sum {
		l := lanes[8*i : 8*i+8]
		sum[i] += ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]))
	}
	clear(lanes)
}

// prepare computes the sums of powers and, from these, the polynomials.
func (m *nearLinear) prepare(ctx context.Context, w []float64) error {
	e, p := m.e, m.e.terms()
	for k, v := range w {
		m.scaled[k] = v / e.scores.Score
	}
	err := forEach(ctx, e.kernel.workers, e.chunks(), func(worker, chunk int) {
		m.sum(&m.work[worker], chunk)
	})
	if err != nil {
		return err
	}
	sumRows(m.sums, e.sumsLen(m.q))
	// Negated scores: the bins in reverse, odd powers negated.
	for a := range m.q {
		for bin := range e.bins {
			to := m.reversed[(a*e.bins+e.bins-1-bin)*p:][:p]
			for i, v := range m.sums[(a*e.bins+bin)*p:][:p] {
				if i%2 == 1 {
					v = -v
				}
				to[i] = v
			}
		}
	}
	workers := e.kernel.workers
	if m.q*m.q*e.bins*e.bins*p*p < 1<<18 {
		workers = 1 // too little work for goroutines
	}
	return forEach(ctx, workers, m.q*e.bins, func(worker, job int) {
		m.nodeSums(&m.work[worker], job/e.bins, job%e.bins)
	})
}

// nodeSums sets the polynomial of label a in a bin from its values at the nodes,
//
//	g_k = sum_(b != a) (y_a - y_b) sum_(all records j of b) phi'((y_a - y_b)(x_k - s_j))
//
// For y_a < y_b the matrix is that of (b, a) with both scores negated: nodes and
// bins reversed.
func (m *nearLinear) nodeSums(s *nearScratch, a, bin int) {
	p, bins, q := m.e.terms(), m.e.bins, m.q
	row, g := (2*bins-1)*p, s.g
	clear(g)
	for b := range q {
		if b == a {
			continue
		}
		diff := m.e.values[a] - m.e.values[b]
		table, sums, at := m.between[max(a, b)*q+min(a, b)], m.sums, bins-1-bin
		if a < b {
			sums, at = m.reversed, bin
		}
		sums = sums[b*bins*p : (b+1)*bins*p]
		for k := range g {
			node := k
			if a < b {
				node = p - 1 - k
			}
			g[k] += diff * m.e.set.Dot(sums, table[node*row+at*p:])
		}
	}
	m.e.set.Dots(s.cheb, m.toCoefs, g)
	m.e.set.Dots(m.coefs[(a*bins+bin)*p:][:p], m.toPowers, s.cheb)
}

// block implements coefficients.
func (m *nearLinear) block(worker int, c []float64, from int) {
	s, p := &m.work[worker], m.e.terms()
	at := m.group(s, from, from+len(c), true)
	for g, count := range at.count {
		if count > 0 {
			i, j := at.start[g], at.start[g+1]
			m.e.set.Polynomial(s.value[i:j], m.coefs[g*p:(g+1)*p], s.x[i:j])
		}
	}
	kernels.Take(c, s.value, at.of[:len(c)])
}

// blockAt is the number of the block that starts at a record.
func (m *nearLinear) blockAt(from int) int {
	chunk := from / m.e.chunkRows
	return chunk*m.blocks() + (from-chunk*m.e.chunkRows)/coefRows
}

// blocks is the number of blocks of a chunk.
func (m *nearLinear) blocks() int { return (m.e.chunkRows + coefRows - 1) / coefRows }

// fixPlaces groups all blocks by label.
func (m *nearLinear) fixPlaces() {
	e := m.e
	m.places = make([]places, e.chunks()*m.blocks())
	key := make([]int32, coefRows)
	for chunk := range e.chunks() {
		for from, to := e.chunk(chunk); from < to; from += coefRows {
			class := e.class[from:min(from+coefRows, to)]
			for i, c := range class {
				key[i] = int32(c)
			}
			at := newPlaces(m.q, len(class))
			at.set(key[:len(class)])
			at.record = make([]uint16, at.start[m.q])
			for k := range at.record {
				at.record[k] = uint16(len(class)) // a zero
			}
			for i, k := range at.of {
				at.record[k] = uint16(i)
			}
			m.places[m.blockAt(from)] = at
		}
	}
}

func newPlaces(groups, rows int) places {
	return places{start: make([]int32, groups+1), count: make([]int32, groups), of: make([]uint16, rows)}
}

// set sorts the records of a block by their group.
func (p *places) set(group []int32) {
	clear(p.count)
	for _, g := range group {
		p.count[g]++
	}
	var at int32
	for g, count := range p.count {
		p.start[g] = at
		at += (count + 7) &^ 7
	}
	next := p.count // counted again
	clear(next)
	of := p.of[:len(group)]
	for i, g := range group {
		of[i] = uint16(p.start[g] + next[g])
		next[g]++
	}
	p.start[len(p.count)] = at
}

// tables computes what does not depend on w.
func (m *nearLinear) tables(p int) {
	nodes, t := kernels.ChebyshevNodes(p)
	powers := kernels.ChebyshevPowers(p)
	m.toCoefs, m.toPowers = make([]float64, p*p), make([]float64, p*p)
	for k := range p {
		for a := range p {
			m.toCoefs[a*p+k] = 2 / float64(p) * t[k*p+a]
			m.toPowers[k*p+a] = 2 * powers[a*p+k] // with the factor 2 of c
		}
		m.toCoefs[k] = 1 / float64(p)
	}
	m.between = make([][]float64, m.q*m.q)
	for a := range m.q {
		for b := range a {
			m.between[a*m.q+b] = m.table(m.e.values[a]-m.e.values[b], nodes, powers)
		}
	}
}

func (m *nearLinear) table(label float64, nodes, powers []float64) []float64 {
	p, bins := len(nodes), m.e.bins
	width := label * (m.e.scores.Score / float64(bins))
	table := make([]float64, 0, p*p*(2*bins-1))
	for _, x := range nodes {
		for dist := bins - 1; dist > -bins; dist-- {
			for _, y := range nodes {
				table = append(table, width*(2*float64(dist)+(x-y)))
			}
		}
	}
	m.e.slopes(table)
	cheb := make([]float64, p)
	for v := table; len(v) > 0; v = v[p:] {
		for a := range cheb {
			cheb[a] = compensatedDot(m.toCoefs[a*p:(a+1)*p], v[:p], 1)
		}
		for i := range p {
			v[i] = compensatedDot(powers[i:], cheb, p)
		}
	}
	return table
}

// compensatedDot returns the sum of x[k*stride] y[k] with an error of u of the sum and
// (2 n u)^2 of the absolute values, n = len(y) (Ogita, Rump and Oishi 2005, Dot2).
func compensatedDot(x, y []float64, stride int) float64 {
	var hi, lo float64
	for k, v := range y {
		p := x[k*stride] * v
		s := hi + p
		t := s - hi
		lo += math.FMA(x[k*stride], v, -p) + ((hi - (s - t)) + (p - t))
		hi = s
	}
	return hi + lo
}
