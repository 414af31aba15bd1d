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
	e      *evaluator
	values []float64          // the distinct labels in increasing order
	start  []int              // of the records of each label
	place  []int32            // of each record: by label, then as they come
	sort   []*kernels.Sorting // of the scores of each label
	score  []float64          // by place, then in order, then half of c by place
	work   []float64
	c, low []float64 // half of c in the order of scores, its low part for many labels
}

func newSorted(e *evaluator) *sorted {
	n := len(e.y)
	m := &sorted{e: e, place: make([]int32, n), score: make([]float64, n), work: make([]float64, n)}
	m.c = make([]float64, n)
	labels := append([]float64(nil), e.y...)
	for i := range labels {
		labels[i] += 0 // -0 becomes 0
	}
	s := kernels.NewSorting(n)
	s.Sort(labels, m.work, nil)
	for at := range m.score {
		m.score[at] = float64(at)
		if at == 0 || labels[at] != labels[at-1] {
			m.values, m.start = append(m.values, labels[at]), append(m.start, at)
		}
	}
	s.Restore(m.score, m.score, m.work)
	for i, at := range m.score {
		m.place[i] = int32(at)
	}
	m.start = append(m.start, n)
	if len(m.values) > 2 {
		m.low = make([]float64, n)
	}
	for a := range m.values {
		m.sort = append(m.sort, kernels.NewSorting(m.start[a+1]-m.start[a]))
	}
	return m
}

// class is a label's part of a slice by place.
func (m *sorted) class(x []float64, a int) []float64 { return x[m.start[a]:m.start[a+1]] }

// prepare computes and sorts the scores and sums the steps of all pairs of labels.
func (m *sorted) prepare(ctx context.Context, w []float64) error {
	e := m.e
	err := forEach(ctx, e.kernel.workers, e.chunks(), func(worker, chunk int) {
		from, to := e.chunk(chunk)
		for ; from < to; from += coefRows {
			s := e.rowWork[worker].c[:min(coefRows, to-from)]
			e.x.dots(s, w, from)
			for i, at := range m.place[from:][:len(s)] {
				m.score[at] = s[i]
			}
		}
	})
	if err != nil {
		return err
	}
	labels, workers := len(m.values), e.kernel.workers
	stop := func() bool { return ctx.Err() != nil }
	err = forEach(ctx, workers, labels, func(_, a int) {
		m.sort[a].Sort(m.class(m.score, a), m.class(m.work, a), stop)
	})
	if err != nil {
		return err
	}
	if len(m.values) != 2 { // those of two labels are set
		clear(m.c)
		clear(m.low)
	}
	for a := range labels {
		for b := range a {
			if err := m.labels(ctx, a, b); err != nil {
				return err
			}
		}
	}
	return forEach(ctx, workers, labels, func(_, a int) {
		c := m.class(m.c, a)
		if m.low != nil {
			addTo(c, m.class(m.low, a))
		}
		m.sort[a].Restore(m.class(m.score, a), c, m.class(m.work, a))
	})
}

// labels adds the pairs of labels a > b: rows and columns are two jobs.
func (m *sorted) labels(ctx context.Context, a, b int) error {
	d := m.values[a] - m.values[b]
	steps := make([]kernels.Step, len(m.e.steps))
	for k, p := range m.e.steps {
		steps[k] = kernels.Step{Shift: p.From / d, Slope: p.Slope, Rise: p.Rise}
	}
	rows, columns := m.class(m.score, a), m.class(m.score, b)
	low := func(a int) []float64 {
		if m.low == nil {
			return nil
		}
		return m.class(m.low, a)
	}
	return forEach(ctx, m.e.kernel.workers, 2, func(_, job int) {
		if job == 0 {
			kernels.StepRows(m.class(m.c, a), low(a), rows, columns, d, steps)
		} else {
			kernels.StepColumns(m.class(m.c, b), low(b), rows, columns, d, steps)
		}
	})
}

// block implements coefficients.
func (m *sorted) block(_ int, c []float64, from int) {
	for i, at := range m.place[from:][:len(c)] {
		c[i] = 2 * m.score[at]
	}
}
