package cpu

import (
	"context"

	"dyad/kernels"
)

// maxTable is the largest node matrix, in floats (64 MB).
const maxTable = 8 << 20

// nearLinear computes c by Chebyshev interpolation in both scores of a pair.
//
// The score range [-S, S] has B bins of half-width S/B with p nodes each. The
// records of a label in a bin act, up to the truncation error, like weights at
// the nodes: W = (2/p) sum_a' T_a(node) M_a with moments M_a = sum_j T_a(pos_j).
// Node matrices give the sums at the nodes, a discrete cosine transform turns
// these into coefficients, and Clenshaw's recurrence evaluates them.
type nearLinear struct {
	e       *evaluator
	q       int // labels
	nodes   int // B p, per label
	lo      float64
	scale   float64
	pos     []float64 // n positions in [-1, 1]
	off     []int32   // n offsets of (label, bin)
	moments []float64 // chunks * momentLen(q)
	work    []nearScratch

	toWeights []float64 // p * p: node, moment
	toCoefs   []float64 // p * p: coefficient, node
	// between[a*q+b], a > b, holds for every node m of a bin phi' at
	// (y_a - y_b) times the score difference of that node and all nodes k of the
	// bins at distance B-1-t, t = 0 ... 2B-2: float m*(2B-1)*p + t*p + k. The
	// nodes seen from one bin are then one run of B p floats.
	between [][]float64

	weights  []float64 // q * nodes
	reversed []float64 // the weights of each label, last first
	coefs    []float64 // momentLen(q)
}

// nearScratch is what one worker needs.
type nearScratch struct{ s, moments, g []float64 }

func newNearLinear(e *evaluator) *nearLinear {
	q, p, n := len(e.values), e.terms(), len(e.y)
	m := &nearLinear{
		e: e, q: q, nodes: e.bins * p,
		lo:    -e.scores.Score,
		scale: float64(e.bins) / (2 * e.scores.Score),
		pos:   make([]float64, n),
		off:   make([]int32, n),
	}
	length := e.momentLen(q)
	m.moments, m.coefs = make([]float64, e.chunks()*length), make([]float64, length)
	m.weights, m.reversed = make([]float64, q*m.nodes), make([]float64, q*m.nodes)
	m.work = make([]nearScratch, min(e.kernel.workers, max(e.chunks(), q*e.bins)))
	for i := range m.work {
		m.work[i] = nearScratch{make([]float64, minBlockRows), make([]float64, length), make([]float64, p)}
	}
	nodes := m.transforms(p)
	m.between = make([][]float64, q*q)
	for a := range q {
		for b := range a {
			m.between[a*q+b] = m.table(e.values[a]-e.values[b], nodes)
		}
	}
	return m
}

// transforms fills the two cosine transforms. toCoefs carries the factor 2 of c.
func (m *nearLinear) transforms(p int) (nodes []float64) {
	nodes, t := kernels.ChebyshevNodes(p)
	m.toWeights, m.toCoefs = make([]float64, p*p), make([]float64, p*p)
	for k := range p {
		for a := range p {
			v := 2 / float64(p) * t[k*p+a]
			if a == 0 {
				v = 1 / float64(p)
			}
			m.toWeights[k*p+a] = v
			m.toCoefs[a*p+k] = 2 * v
		}
	}
	return nodes
}

func (m *nearLinear) table(label float64, nodes []float64) []float64 {
	p, bins := len(nodes), m.e.bins
	width := label * (m.e.scores.Score / float64(bins))
	t := make([]float64, 0, p*p*(2*bins-1))
	for _, x := range nodes {
		for dist := bins - 1; dist > -bins; dist-- {
			for _, y := range nodes {
				t = append(t, width*(2*float64(dist)+(x-y)))
			}
		}
	}
	m.e.slopes(t)
	return t
}

// prepare computes positions, moments and, from these, coefficients.
func (m *nearLinear) prepare(ctx context.Context, w []float64) error {
	e, p, length := m.e, m.e.terms(), m.e.momentLen(m.q)
	one := []float64{1}
	err := forEach(ctx, e.kernel.workers, e.chunks(), func(worker, chunk int) {
		s := m.work[worker]
		sum := m.moments[chunk*length : (chunk+1)*length]
		clear(sum)
		from, to := e.chunk(chunk)
		for ; from < to; from += minBlockRows {
			end := min(from+minBlockRows, to)
			scores, pos, off := s.s[:end-from], m.pos[from:end], m.off[from:end]
			e.x.dots(scores, w, from)
			e.set.Locate(pos, off, scores, e.class[from:end], m.lo, m.scale, e.bins, e.row())
			clear(s.moments)
			e.set.ChebyshevMoments(s.moments, p, pos, off)
			e.set.AddRows(sum, one, s.moments) // as addTo, but with vectors
		}
	})
	if err != nil {
		return err
	}
	sumRows(m.moments, length)
	for a := range m.q {
		for bin := range e.bins {
			i, moments := a*m.nodes+bin*p, m.moments[(a*e.bins+bin)*e.row():]
			for k := range p {
				w := e.set.Dot(m.toWeights[k*p:(k+1)*p], moments)
				m.weights[i+k] = w
				m.reversed[(2*a+1)*m.nodes-1-(i+k)] = w
			}
		}
	}
	workers := e.kernel.workers
	if m.q*m.nodes*m.nodes < 1<<18 {
		workers = 1 // too little work for goroutines
	}
	return forEach(ctx, workers, m.q*e.bins, func(worker, job int) {
		m.nodeSums(m.work[worker].g, job/e.bins, job%e.bins)
	})
}

// nodeSums sets the coefficients of label a in a bin:
//
//	g_k = sum_(b != a) (y_a - y_b) sum_(all nodes j of b) phi'((y_a - y_b)(x_k - x_j)) W_j
//
// For y_a < y_b the matrix is that of (b, a) with both scores negated: nodes and
// bins reversed.
func (m *nearLinear) nodeSums(g []float64, a, bin int) {
	p, bins, q := len(g), m.e.bins, m.q
	row := (2*bins - 1) * p
	clear(g)
	for b := range q {
		if b == a {
			continue
		}
		diff := m.e.values[a] - m.e.values[b]
		table, w, at := m.between[max(a, b)*q+min(a, b)], m.weights, bins-1-bin
		if a < b {
			w, at = m.reversed, bin
		}
		w = w[b*m.nodes : (b+1)*m.nodes]
		for k := range g {
			node := k
			if a < b {
				node = p - 1 - k
			}
			g[k] += diff * m.e.set.Dot(w, table[node*row+at*p:])
		}
	}
	c := m.coefs[(a*bins+bin)*m.e.row():][:p]
	for k := range c {
		c[k] = m.e.set.Dot(m.toCoefs[k*p:(k+1)*p], g)
	}
}

// block implements coefficients.
func (m *nearLinear) block(c []float64, from int) {
	to := from + len(c)
	m.e.set.Clenshaw(c, m.coefs, m.e.terms(), m.pos[from:to], m.off[from:to])
}
