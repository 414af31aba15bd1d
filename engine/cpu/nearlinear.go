package cpu

import (
	"context"
	"math"

	"dyad/engine"
	"dyad/internal/pages"
	"dyad/kernels"
)

const (
	// maxTable is the largest node matrix, in floats (64 MB).
	maxTable = 8 << 20
	// runRows is the number of positions that are summed before the sums are flushed.
	runRows = 1024
	// maxGroups bounds the labels times bins, so that places of positions have 16 bits.
	maxGroups = 4096
	// keptRow is the least number of stored features for which scores are kept and not
	// computed twice.
	keptRow = 3
	// keptGroups is the largest number of groups for which positions in several bins are kept.
	keptGroups = coefRows / 8
)

func newNearLinear(e *evaluator) *nearLinear {
	q, p := len(e.values), e.terms()
	groups, length := q*e.bins, e.sumsLen(q)
	m := &nearLinear{
		e: e, q: q, scaled: make([]float64, e.x.d),
		sums:     make([]float64, e.chunks()*length),
		reversed: make([]float64, length), coefs: make([]float64, length),
	}
	rows := min(coefRows, e.chunkRows)
	// Plain Go is faster with places than with bits.
	bits := e.bins == 1 && q == 2 && e.persons == nil && e.set.Variant() != kernels.Generic
	room := rows + 8*groups
	m.work = make([]nearScratch, min(e.kernel.workers, max(e.chunks(), groups)))
	for i := range m.work {
		m.work[i] = nearScratch{
			score: make([]float64, rows), pos: make([]float64, rows), x: make([]float64, room),
			places: newPlaces(groups, rows), key: make([]int32, rows),
			lanes: make([]float64, groups*8*(p-1)), pending: make([]int, groups),
			g: make([]float64, p), cheb: make([]float64, p),
		}
		if e.persons != nil {
			m.work[i].weight = make([]float64, room)
		}
	}
	switch {
	case bits:
		m.markSecond()
	case e.bins == 1:
		m.fixPlaces()
	case groups <= keptGroups:
		m.keepPlaces(rows, room)
	}
	if m.kept == nil && e.rowLen >= keptRow {
		m.scores = pages.Make[float64](len(e.y))
	}
	m.tables(p)
	return m
}

// sum adds the powers of all positions to the sums of a chunk, which are zero before.
func (m *nearLinear) sum(s *nearScratch, chunk int) {
	e, p := m.e, m.e.terms()
	length, lanes := e.sumsLen(m.q), 8*(p-1)
	sums := m.sums[chunk*length : (chunk+1)*length]
	clear(sums)
	from, to := e.chunk(chunk)
	for ; from < to; from += coefRows {
		rows := min(coefRows, to-from)
		x, at := m.group(s, s.score[:rows], from, false)
		weight := m.weights(s, at, from, rows)
		for g, count := range at.count {
			if count == 0 {
				continue
			}
			part, left, heavy := s.lanes[g*lanes:(g+1)*lanes], at.group(x, g), []float64(nil)
			if weight == nil {
				sums[g*p] += float64(count)
			} else {
				heavy = at.group(weight, g)
			}
			for len(left) > 0 {
				run := left[:min(len(left), runRows)]
				left = left[len(run):]
				if s.pending[g]+len(run) > runRows {
					e.set.SumLanes(sums[g*p+1:(g+1)*p], part)
					s.pending[g] = 0
				}
				if weight == nil {
					e.set.PowerSums(part, run)
				} else {
					sums[g*p] += kernels.WeightedPowerSums(part, run, heavy[:len(run)])
					heavy = heavy[len(run):]
				}
				s.pending[g] += len(run) + 8
			}
		}
	}
	for g := range s.pending {
		if s.pending[g] > 0 {
			e.set.SumLanes(sums[g*p+1:(g+1)*p], s.lanes[g*lanes:(g+1)*lanes])
			s.pending[g] = 0
		}
	}
}

// prepare computes the sums of powers and, from these, the polynomials.
func (m *nearLinear) prepare(ctx context.Context, w []float64) error {
	e, p := m.e, m.e.terms()
	for k, v := range w {
		m.scaled[k] = v / e.scores.Score
	}
	err := e.eachChunk(ctx, func(worker, chunk int) { m.sum(&m.work[worker], chunk) })
	if err == nil {
		err = engine.GatherJobs(ctx, e.team, m.sums, e.chunks(), e.sumsLen(m.q))
	}
	if err != nil {
		return err
	}
	sumRows(m.sums, e.sumsLen(m.q))
	// Negated scores have the bins in reverse order and negated odd powers.
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
// For y_a < y_b, the matrix equals the matrix of (b, a) with negated scores, so nodes and
// bins are in reverse order.
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
	x, at := m.group(s, c, from, true)
	for g, count := range at.count {
		if count > 0 {
			m.e.set.Polynomial(at.group(s.x, g), m.coefs[g*p:(g+1)*p], at.group(x, g))
		}
	}
	m.ungroup(s, c, from, at)
}

// tables computes the tables that do not depend on w.
func (m *nearLinear) tables(p int) {
	nodes, t := kernels.ChebyshevNodes(p)
	powers := kernels.ChebyshevPowers(p)
	m.toCoefs, m.toPowers = make([]float64, p*p), make([]float64, p*p)
	for k := range p {
		for a := range p {
			m.toCoefs[a*p+k] = 2 / float64(p) * t[k*p+a]
			m.toPowers[k*p+a] = 2 * powers[a*p+k] // includes the factor 2 of c
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
	cheb := [2][]float64{make([]float64, (p+1)/2), make([]float64, p/2)} // coefficients of even and of odd polynomials
	for v := table; len(v) > 0; v = v[p:] {
		for a := range p {
			cheb[a%2][a/2] = compensatedDot(m.toCoefs[a*p:(a+1)*p], v[:p], 1)
		}
		for i := range p { // the polynomial a has powers up to a, all even or all odd
			v[i] = compensatedDot(powers[i*p+i:], cheb[i%2][i/2:], 2*p)
		}
	}
	return table
}

// compensatedDot returns the sum of x[k*stride] y[k]. With n = len(y), its error is at
// most u times the sum plus (2 n u)^2 times the sum of the absolute values (Ogita, Rump
// and Oishi 2005, Dot2).
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
