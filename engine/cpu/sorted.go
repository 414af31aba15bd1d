package cpu

import (
	"context"
	"math"

	"dyad/engine"
	"dyad/kernels"
)

// planPieces reports whether the slope is piecewise linear on the public range, and
// keeps it as a sum of steps: phi'(u) is the sum of Slope + Rise u over the steps with
// From <= u.
func (k *kernel) planPieces() bool {
	form, ok := k.loss.(engine.ScalarLoss)
	if !ok {
		return false
	}
	scalar, ok := form.Scalar().(engine.PiecewiseScalar)
	if !ok {
		return false
	}
	pieces, ok := scalar.Pieces(-k.scores.Margin, k.scores.Margin)
	if !ok || len(pieces) == 0 {
		return false
	}
	k.steps = make([]engine.Piece, len(pieces))
	for i, p := range pieces {
		if p.From = max(p.From, -k.scores.Margin); i == 0 {
			p.From = math.Inf(-1)
		} else {
			p.Slope -= pieces[i-1].Slope
			p.Rise -= pieces[i-1].Rise
		}
		k.steps[i] = p
	}
	return true
}

// sortedCost is the cost of c by the sorted method for q labels: each record meets those
// of every other label.
func (k *kernel) sortedCost() float64 {
	n, q := float64(k.problem.N), float64(k.problem.LabelLimit())
	return n*(nsSorted+nsStep*float64(len(k.steps))*(q-1)) + nsSortedCall
}

// sortedError is E of the sorted method: see Roundoff.
func (k *kernel) sortedError() float64 {
	s := k.scores
	var size, rise float64
	for _, p := range k.steps {
		size += math.Abs(p.Slope) + math.Abs(p.Rise)*s.Margin
		rise += math.Abs(p.Rise)
	}
	e := (14*size + 4*s.Slope + 8*rise*s.Margin) * u
	if s.Smooth() {
		e += s.Curvature*(2*s.LabelSpan*s.ScoreErr+2*u*s.Margin) + s.SlopeErr
	}
	return e
}

// sorted computes c for a piecewise linear slope from the sorted scores of each label.
//
// For records i, j with y_i > y_j, D = y_i - y_j, the pair's steps are those with
// s_j <= fl(s_i - fl(From/D)). That depends on the two records only, and because
// rounding is monotone it is the same for row sums and column sums.
type sorted struct {
	e        *evaluator
	values   []float64 // the distinct labels in increasing order
	start    []int     // of the records of each label, in the order of index
	score    []float64 // by label, then increasing
	index    []int32   // record of each score
	place    []int32   // record -> its place before sorting
	sum      []float64 // prefix sums of score, len(values) more numbers
	c, low   []float64 // by place in score
	byRow    []float64 // c by record
	scratch  []float64
	scratch2 []int32
}

func newSorted(e *evaluator) *sorted {
	n := len(e.y)
	m := &sorted{e: e,
		score: make([]float64, n), index: make([]int32, n), place: make([]int32, n),
		c: make([]float64, n), low: make([]float64, n), byRow: make([]float64, n),
		scratch: make([]float64, n), scratch2: make([]int32, n),
	}
	// Records by label: a stable sort, so that places are fixed.
	labels := append([]float64(nil), e.y...)
	for i := range labels {
		m.index[i] = int32(i)
		labels[i] += 0 // -0 becomes 0
	}
	kernels.SortPairs(labels, m.index, m.scratch, m.scratch2, nil)
	for at, i := range m.index {
		m.place[i] = int32(at)
		if at == 0 || labels[at] != labels[at-1] {
			m.values, m.start = append(m.values, labels[at]), append(m.start, at)
		}
	}
	m.start = append(m.start, n)
	m.sum = make([]float64, n+len(m.values))
	return m
}

// class is a label's part of a slice by place.
func (m *sorted) class(x []float64, a int) []float64 { return x[m.start[a]:m.start[a+1]] }

// sums are the prefix sums of a label's scores.
func (m *sorted) sums(a int) []float64 { return m.sum[m.start[a]+a : m.start[a+1]+a+1] }

// prepare computes and sorts the scores and sums the steps of all pairs of labels.
func (m *sorted) prepare(ctx context.Context, w []float64) error {
	e := m.e
	err := forEach(ctx, e.kernel.workers, e.chunks(), func(worker, chunk int) {
		from, to := e.chunk(chunk)
		for ; from < to; from += e.blockRows {
			end := min(from+e.blockRows, to)
			s := e.rowWork[worker].c[:end-from]
			e.x.dots(s, w, from)
			for i, at := range m.place[from:end] {
				m.score[at], m.index[at] = s[i], int32(from+i)
			}
		}
	})
	if err != nil {
		return err
	}
	q := len(m.values)
	stop := func() bool { return ctx.Err() != nil }
	err = forEach(ctx, e.kernel.workers, q, func(_, a int) {
		i, j := m.start[a], m.start[a+1]
		if kernels.SortPairs(m.score[i:j], m.index[i:j], m.scratch[i:j], m.scratch2[i:j], stop) {
			kernels.PrefixSums(m.sums(a), m.score[i:j])
		}
	})
	if err != nil {
		return err
	}
	clear(m.c)
	clear(m.low)
	for a := range q {
		for b := range a {
			if err := m.labels(ctx, a, b); err != nil {
				return err
			}
		}
	}
	return forEach(ctx, e.kernel.workers, e.chunks(), func(_, chunk int) {
		from, to := e.chunk(chunk) // of places, not records
		for at, i := range m.index[from:to] {
			m.byRow[i] = 2 * (m.c[from+at] + m.low[from+at])
		}
	})
}

// labels adds the pairs of labels a > b: rows and columns are two jobs.
func (m *sorted) labels(ctx context.Context, a, b int) error {
	d := m.values[a] - m.values[b]
	rows, columns := m.class(m.score, a), m.class(m.score, b)
	for _, p := range m.e.steps {
		err := forEach(ctx, m.e.kernel.workers, 2, func(_, job int) {
			if job == 0 {
				kernels.StepRows(m.class(m.c, a), m.class(m.low, a), rows, columns, m.sums(b), p.From/d, d, p.Slope, p.Rise)
			} else {
				kernels.StepColumns(m.class(m.c, b), m.class(m.low, b), rows, columns, m.sums(a), p.From/d, d, p.Slope, p.Rise)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// block implements coefficients.
func (m *sorted) block(_ int, c []float64, from int) { copy(c, m.byRow[from:]) }
