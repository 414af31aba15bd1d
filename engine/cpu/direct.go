package cpu

import (
	"context"
	"math"

	"dyad/engine"
	"dyad/kernels"
)

// The direct method has a fixed grid. A tile stays in the first-level cache. Stripes of
// rows are the jobs. A panel of columns bounds the partial sums.
const (
	tileRows   = 256
	tileCols   = 512
	minStripe  = 64 // rows
	maxStripes = 64
	panelCols  = 8192
)

// side is one of the two sets of records whose pairs are summed.
type side struct {
	s   []float64 // scores, or their exponentials for LogisticTile
	y   []float64 // labels, not for LogisticTile
	sum []float64
}

// direct computes c by visiting every pair of different labels once.
type direct struct {
	e *evaluator
	// If slot[i] >= 0, it is the place of record i among the rows. Otherwise -1-slot[i]
	// is its place among the columns. slot is nil if each side has all records.
	slot       []int32
	rows, cols side
	factored   bool
	stripe     int       // rows per stripe
	partial    []float64 // stripes * panel
	panel      int       // columns per panel
	tile       [][]float64
}

func newDirect(e *evaluator) *direct {
	n := len(e.y)
	m := &direct{e: e}
	if len(e.values) == 2 && e.persons == nil {
		// The larger label is on the rows, so D = l > 0 for every pair.
		m.slot = make([]int32, n)
		for i, c := range e.class {
			if c == 1 {
				m.slot[i] = int32(len(m.rows.y))
				m.rows.y = append(m.rows.y, e.y[i])
			} else {
				m.slot[i] = -1 - int32(len(m.cols.y))
				m.cols.y = append(m.cols.y, e.y[i])
			}
		}
		m.factored = e.factored
		for _, side := range []*side{&m.rows, &m.cols} {
			side.s = make([]float64, len(side.y))
			side.sum = make([]float64, len(side.y))
		}
	} else {
		s := make([]float64, n)
		m.rows, m.cols = side{s: s, y: e.y, sum: make([]float64, n)}, side{s: s, y: e.y, sum: make([]float64, n)}
	}
	m.stripe = max(minStripe, (len(m.rows.sum)+maxStripes-1)/maxStripes)
	m.stripe = (m.stripe + 3) &^ 3
	m.panel = min(panelCols, len(m.cols.sum))
	m.partial = make([]float64, m.stripes()*m.panel)
	m.tile = make([][]float64, min(e.kernel.workers, m.stripes()))
	for i := range m.tile {
		m.tile[i] = make([]float64, 2*tileCols) // column sums, margins
	}
	return m
}

func (m *direct) stripes() int { return (len(m.rows.sum) + m.stripe - 1) / m.stripe }

// prepare computes the scores, and the sums over rows and over columns.
func (m *direct) prepare(ctx context.Context, w []float64) error {
	e := m.e
	err := forEach(ctx, e.kernel.workers, e.chunks(), func(worker, chunk int) {
		from, to := e.chunk(chunk)
		for ; from < to; from += e.blockRows {
			end := min(from+e.blockRows, to)
			if m.slot == nil {
				e.x.dots(m.rows.s[from:end], w, from)
				continue
			}
			s := e.rowWork[worker].c[:end-from]
			e.x.dots(s, w, from)
			m.place(s, m.slot[from:end])
		}
	})
	if err != nil {
		return err
	}
	clear(m.rows.sum)
	clear(m.cols.sum)
	for p0 := 0; p0 < len(m.cols.sum); p0 += m.panel {
		p1 := min(p0+m.panel, len(m.cols.sum))
		first, last := engine.OwnShare(e.team, m.stripes())
		err := forEach(ctx, e.kernel.workers, last-first, func(worker, job int) {
			m.stripeSums(ctx, m.tile[worker], first+job, p0, p1)
		})
		if err == nil {
			err = engine.GatherJobs(ctx, e.team, m.partial, m.stripes(), m.panel)
		}
		if err != nil {
			return err
		}
		for job := range m.stripes() {
			addTo(m.cols.sum[p0:p1], m.partial[job*m.panel:][:p1-p0])
		}
	}
	return engine.GatherJobs(ctx, e.team, m.rows.sum, m.stripes(), m.stripe)
}

// place puts scores, or their exponentials, in their slots.
func (m *direct) place(s []float64, slot []int32) {
	l := 0.0
	if m.factored {
		l = m.e.values[1] - m.e.values[0]
	}
	for i, at := range slot {
		v := s[i]
		switch {
		case !m.factored && at >= 0:
			m.rows.s[at] = v
		case !m.factored:
			m.cols.s[-1-at] = v
		case at >= 0:
			m.rows.s[at] = math.Exp(l * v)
		default:
			m.cols.s[-1-at] = math.Exp(-(l * v))
		}
	}
}

// stripeSums adds the pairs of one stripe of rows with one panel of columns. It returns
// early when ctx is done.
func (m *direct) stripeSums(ctx context.Context, tile []float64, job, p0, p1 int) {
	part := m.partial[job*m.panel:][:p1-p0]
	clear(part)
	first, last := job*m.stripe, min((job+1)*m.stripe, len(m.rows.sum))
	for c0 := p0; c0 < p1; c0 += tileCols {
		c1 := min(c0+tileCols, p1)
		for r0 := first; r0 < last && ctx.Err() == nil; r0 += tileRows {
			r1 := min(r0+tileRows, last)
			if m.slot == nil && c1 <= r0+1 {
				break // below the diagonal
			}
			col := tile[:c1-c0]
			clear(col)
			m.sumTile(col, tile[tileCols:], r0, r1, c0, c1)
			addTo(part[c0-p0:c1-p0], col)
		}
	}
}

func (m *direct) sumTile(col, work []float64, r0, r1, c0, c1 int) {
	if m.e.persons != nil {
		m.personTile(col, work, r0, r1, c0, c1)
		return
	}
	r, c := m.rows, m.cols
	if m.factored {
		m.e.set.LogisticTile(r.sum[r0:r1], col, r.s[r0:r1], c.s[c0:c1])
		return
	}
	skip := r0 - r1 // all pairs
	if m.slot == nil {
		skip = r0 - c0 + 1 // j > i
	}
	if m.e.logistic {
		m.e.set.LogisticPairTile(r.sum[r0:r1], col, r.s[r0:r1], r.y[r0:r1], c.s[c0:c1], c.y[c0:c1], skip)
		return
	}
	if m.e.block != nil {
		kernels.SlopeTile(r.sum[r0:r1], col, r.s[r0:r1], r.y[r0:r1], c.s[c0:c1], c.y[c0:c1], skip, work, m.e.block)
		return
	}
	kernels.PairTile(r.sum[r0:r1], col, r.s[r0:r1], r.y[r0:r1], c.s[c0:c1], c.y[c0:c1], skip, m.e.dphi)
}

// block implements coefficients. The sums of LogisticTile are sums of sigma = -phi' and
// must be multiplied by the label difference. The sums of PairTile include the label
// difference.
func (m *direct) block(_ int, c []float64, from int) {
	row, col := 2.0, 2.0
	if m.factored {
		l := m.e.values[1] - m.e.values[0]
		row, col = -2*l, 2*l
	}
	for i := range c {
		switch {
		case m.slot == nil:
			c[i] = 2 * (m.rows.sum[from+i] + m.cols.sum[from+i])
		case m.slot[from+i] >= 0:
			c[i] = row * m.rows.sum[m.slot[from+i]]
		default:
			c[i] = col * m.cols.sum[-1-m.slot[from+i]]
		}
	}
}

// personTile is sumTile for the pairs of rows of different persons. Each side has all rows.
func (m *direct) personTile(col, work []float64, r0, r1, c0, c1 int) {
	p, s, y := m.e.persons, m.rows.s, m.e.y
	kernels.WeightedTile(m.rows.sum[r0:r1], col, s[r0:r1], y[r0:r1], p.weight[r0:r1], p.next[r0:r1], s[c0:c1], y[c0:c1],
		p.weight[c0:c1], c0, work, m.e.slopes)
}
