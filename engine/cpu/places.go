package cpu

import (
	"dyad/internal/pages"
	"dyad/kernels"
)

// places holds the places of the positions of a block.
type places struct {
	start []int32  // start of each group's positions, which are padded with zeros to a multiple of 8
	count []int32  // records of each group
	of    []uint16 // place of each record, unless bits determine the labels
}

// group returns the part of x for a group.
func (p *places) group(x []float64, g int) []float64 { return x[p.start[g]:][:(p.count[g]+7)&^7] }

// put writes the positions of records to their places.
func (p *places) put(x, positions []float64) {
	clear(x[:p.start[len(p.count)]])
	kernels.Put(x, positions, p.of[:len(positions)])
}

// group returns the positions of a block, ordered by group, in s.x or m.kept. Scores that are
// not kept are written to score.
func (m *nearLinear) group(s *nearScratch, score []float64, from int, again bool) ([]float64, *places) {
	e := m.e
	switch {
	case m.second != nil:
		score, at := m.positions(score, from, again), &s.places
		zeros := e.set.Split(s.x, score, m.second[from/8:])
		ones := len(score) - zeros
		at.count[0], at.count[1] = int32(zeros), int32(ones)
		at.start[1] = int32(len(s.x) - (ones+7)&^7)
		return s.x, at
	case e.bins == 1:
		at := &m.places[m.blockAt(from)]
		at.put(s.x, m.positions(score, from, again))
		return s.x, at
	case m.kept == nil:
		m.locate(s, s.x, &s.places, m.positions(score, from, again), from)
		return s.x, &s.places
	}
	block := m.blockAt(from)
	x, at := m.kept[block*len(s.x):][:len(s.x)], &m.places[block]
	if !again {
		m.locate(s, x, at, m.positions(score, from, false), from)
	}
	return x, at
}

// locate groups the positions of a block by label and bin.
func (m *nearLinear) locate(s *nearScratch, x []float64, at *places, score []float64, from int) {
	pos, key := s.pos[:len(score)], s.key[:len(score)]
	m.e.set.Locate(pos, key, score, m.e.class[from:], m.e.bins)
	at.set(key)
	at.put(x, pos)
}

// ungroup writes the values of s.x to c in the order of the records.
func (m *nearLinear) ungroup(s *nearScratch, c []float64, from int, at *places) {
	if m.second != nil {
		m.e.set.Join(c, s.x, m.second[from/8:])
		return
	}
	kernels.Take(c, s.x, at.of[:len(c)])
}

// blockAt returns the number of the block that starts at a record.
func (m *nearLinear) blockAt(from int) int {
	from += m.e.base - m.e.first*m.e.chunkRows // relative to the first chunk of this process
	chunk := from / m.e.chunkRows
	return chunk*m.blocks() + (from-chunk*m.e.chunkRows)/coefRows
}

// blocks returns the number of blocks of a chunk.
func (m *nearLinear) blocks() int { return (m.e.chunkRows + coefRows - 1) / coefRows }

// markSecond sets second. Blocks begin at multiples of 8.
func (m *nearLinear) markSecond() {
	m.second = make([]uint8, (len(m.e.class)+7)/8)
	for i, c := range m.e.class {
		m.second[i/8] |= c << (i % 8)
	}
}

// fixPlaces groups all blocks by label.
func (m *nearLinear) fixPlaces() {
	e := m.e
	m.places = make([]places, (e.last-e.first)*m.blocks())
	key := make([]int32, coefRows)
	for chunk := e.first; chunk < e.last; chunk++ {
		for from, to := e.chunk(chunk); from < to; from += coefRows {
			class := e.class[from:min(from+coefRows, to)]
			for i, c := range class {
				key[i] = int32(c)
			}
			at := newPlaces(m.q, len(class))
			at.set(key[:len(class)])
			m.places[m.blockAt(from)] = at
		}
	}
}

// keepPlaces allocates memory for the places of all blocks with at most the given number
// of rows, and for their positions.
func (m *nearLinear) keepPlaces(rows, room int) {
	m.places = make([]places, (m.e.last-m.e.first)*m.blocks())
	for i := range m.places {
		m.places[i] = newPlaces(m.q*m.e.bins, rows)
	}
	m.kept = pages.Make[float64](len(m.places) * room)
}

func newPlaces(groups, rows int) places {
	return places{start: make([]int32, groups+1), count: make([]int32, groups), of: make([]uint16, rows)}
}

// set computes the places of the records of a block, ordered by group.
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

// nearLinear computes c by Chebyshev interpolation in each of the two scores of a pair.
//
// The score range [-S, S] has B bins of half-width S/B. Each bin has p nodes. A record
// has a position y in [-1, 1] in its bin. The interpolant of phi' between a node and a
// bin is a polynomial in y. So the sum over all records of a label in the bin depends
// only on the sums of their y^i. For each label and bin, the sums of phi' at the p nodes
// of the bin are interpolated in turn, and the interpolant is evaluated at all records.
//
// Records are processed in blocks of coefRows. The label and the bin of a record determine
// its group. The positions of a block are ordered by group, so sums and polynomials run
// over contiguous numbers. If there is only one bin, the group of a record is its label,
// and its place in the block never changes. If there are only two labels, vector kernels
// need one bit for each record.
type nearLinear struct {
	e      *evaluator
	q      int       // labels
	scaled []float64 // w / S, whose products with records are in [-1, 1]
	scores []float64 // n such products, nil if they are computed twice or not needed again
	second []uint8   // bit i%8 of number i/8 is 1 if record i has the second of two labels
	places []places  // places of all blocks, unless bits determine them or there are too many groups
	kept   []float64 // positions by place of all blocks, if places depend on w
	sums   []float64 // chunks * sumsLen(q): of powers 0 to p - 1 for each group
	work   []nearScratch

	toCoefs  []float64 // p * p: Chebyshev coefficient, node
	toPowers []float64 // p * p: exponent, Chebyshev coefficient
	// between[a*q+b], for a > b, holds polynomials of phi' for every node m of a bin. The
	// argument of phi' is (y_a - y_b) times the score difference between the node and the
	// bins at distance B-1-t, t = 0 ... 2B-2. Coefficient i is float m*(2B-1)*p + t*p +
	// i. So the polynomials for one bin and all other bins are a contiguous run of B p
	// floats.
	between [][]float64

	reversed []float64 // sums for negated scores, of each label
	coefs    []float64 // sumsLen(q): the polynomials of all groups
}

// nearScratch is the scratch space of one worker.
type nearScratch struct {
	score, pos []float64 // numbers of a block, in the order of records
	x          []float64 // positions, then values, by place
	weight     []float64 // weights of positions, for persons only
	places     places
	key        []int32
	lanes      []float64 // partial sums of each group
	pending    []int     // positions in lanes, and 8 for each run of them
	g, cheb    []float64 // p
}

// positions returns w.x / S for the records of a block. If the positions are not kept, the result is in score.
func (m *nearLinear) positions(score []float64, from int, again bool) []float64 {
	if m.scores != nil {
		if score = m.scores[from:][:len(score)]; again {
			return score
		}
	}
	m.e.x.dots(score, m.scaled, from)
	return score
}

// weights puts the weights of the rows of a block in their places. It returns nil without persons.
func (m *nearLinear) weights(s *nearScratch, at *places, from, count int) []float64 {
	if m.e.persons == nil {
		return nil
	}
	at.put(s.weight, m.e.persons.weight[from:][:count])
	return s.weight
}
