package cpu

import (
	"context"
	"math"
	"slices"

	"dyad/engine"
	"dyad/internal/pages"
	"dyad/kernels"
)

// planPieces reports whether the slope is piecewise linear on the public range. It stores
// the slope as a sum of steps: phi'(u) is the sum of Slope + Rise u over the steps with
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

// sorted computes c for a piecewise linear slope from the sorted scores of each label.
//
// Let records i and j have y_i > y_j, and let D = y_i - y_j. A step applies to the pair
// if s_j <= fl(s_i - fl(From/D)). This condition depends only on the two records and is
// the same for row sums and column sums.
//
// Scores are distributed to groups by label and by place in the range of all scores, and
// each group is sorted. The sums are then written back in the order of the records.
type sorted struct {
	e      *evaluator
	values []float64 // the distinct labels in increasing order
	// value holds the scores and c holds half of c, for one label after the other, and
	// for each label in the order of scores.
	ordered       []kernels.Ordered
	sums          []kernels.Sums
	value, c, low []float64
	weight        []float64 // weights of persons in the order of value; nil without persons

	group   []int32         // group of each record
	labels  []kernels.Label // label of each group
	stripes int             // parts of the records
	next    []int32         // stripes * groups: place of the records of a stripe in a group
	start   []int32         // start of each group
	jobs    []int32         // first group of each job
	from    []int32         // place of each number in its group before sorting

	score  []float64 // scores by record, then half of c
	work   []float64 // unsorted scores by group, then half of c
	lo, hi []float64 // least and greatest score of each chunk
	sorter []kernels.Sorter
	merge  []kernels.Merge
}

// The sorted method has a fixed grid.
const (
	sortStripes = 32   // largest number of stripes
	stripeRows  = 4096 // least number of records of a stripe
	groupRows   = 2048 // least number of records in the groups of a job
	plainSums   = 4    // largest number of steps of a record that are added without a low part
)

func newSorted(e *evaluator) *sorted {
	n := len(e.y)
	m := &sorted{e: e, group: pages.Make[int32](n), from: pages.Make[int32](n), score: pages.Make[float64](n),
		work: pages.Make[float64](n)}
	labels := slices.Clone(e.y)
	for i := range labels {
		labels[i] += 0 // -0 becomes 0
	}
	slices.Sort(labels)
	var first []int // number of records with each label
	for i, v := range labels {
		if i == 0 || v != labels[i-1] {
			m.values, first = append(m.values, v), append(first, i)
		}
	}
	first = append(first, n)
	m.value, m.c = labels, pages.Make[float64](n)
	if e.persons != nil {
		m.weight = pages.Make[float64](n)
	}
	if len(e.steps)*(len(m.values)-1) > plainSums {
		m.low = pages.Make[float64](n)
	}
	rises := slices.ContainsFunc(e.steps, func(p engine.Piece) bool { return p.Rise != 0 })
	firstGroup := make([]int32, len(m.values))
	for a := range m.values {
		i, j := first[a], first[a+1]
		x, sum := kernels.Ordered{Value: m.value[i:j]}, kernels.Sums{High: m.c[i:j]}
		if rises {
			x.Before = make([]float64, j-i+1)
		}
		if m.low != nil {
			sum.Low = m.low[i:j]
		}
		if m.weight != nil {
			x.Weight, x.Count = m.weight[i:j], make([]float64, j-i+1)
		}
		m.ordered, m.sums = append(m.ordered, x), append(m.sums, sum)
		groups, shift := kernels.Groups(j - i)
		firstGroup[a] = int32(len(m.labels))
		for range groups {
			m.labels = append(m.labels, kernels.Label{First: firstGroup[a], Shift: shift})
		}
	}
	for i, y := range e.y {
		a, _ := slices.BinarySearch(m.values, y)
		m.group[i] = firstGroup[a]
	}
	groups := len(m.labels)
	m.stripes = max(min(n/stripeRows, n/(4*groups), sortStripes), 1)
	m.start, m.next = make([]int32, groups+1), make([]int32, m.stripes*groups)
	m.lo, m.hi = make([]float64, e.chunks()), make([]float64, e.chunks())
	m.sorter, m.merge = make([]kernels.Sorter, e.kernel.workers), make([]kernels.Merge, e.kernel.workers)
	return m
}

// prepare computes half of c for all records.
func (m *sorted) prepare(ctx context.Context, w []float64) error {
	places, err := m.scores(ctx, w)
	if err != nil {
		return err
	}
	if err := m.sort(ctx, places); err != nil {
		return err
	}
	if m.ordered[0].Before != nil || m.weight != nil {
		err = forEach(ctx, m.e.kernel.workers, len(m.values), func(_, a int) { m.ordered[a].AddBefore() })
		if err != nil {
			return err
		}
	}
	clear(m.c)
	clear(m.low)
	for a := range m.values {
		for b := range a {
			if err := m.add(ctx, a, b); err != nil {
				return err
			}
		}
	}
	return m.restore(ctx)
}

// scores computes the scores.
func (m *sorted) scores(ctx context.Context, w []float64) (kernels.Places, error) {
	err := forEach(ctx, m.e.kernel.workers, m.e.chunks(), func(_, chunk int) {
		from, to := m.e.chunk(chunk)
		s := m.score[from:to]
		m.e.x.dots(s, w, from)
		m.lo[chunk], m.hi[chunk] = extremes(s)
	})
	return kernels.NewPlaces(slices.Min(m.lo), slices.Max(m.hi)), err
}

// stripe returns a part of the records and the places of this part in the groups.
func (m *sorted) stripe(i int) (from, to int, next []int32) {
	n, groups := int64(len(m.score)), len(m.labels)
	from, to = int(n*int64(i)/int64(m.stripes)), int(n*int64(i+1)/int64(m.stripes))
	return from, to, m.next[i*groups : (i+1)*groups]
}

// sort sorts the scores of each label.
func (m *sorted) sort(ctx context.Context, places kernels.Places) error {
	workers := m.e.kernel.workers
	err := forEach(ctx, workers, m.stripes, func(_, i int) {
		from, to, count := m.stripe(i)
		clear(count)
		places.Group(m.group[from:to], m.score[from:to], m.labels, count)
	})
	if err != nil {
		return err
	}
	m.placeGroups()
	var next []int32
	if m.weight != nil {
		next = slices.Clone(m.next)
	}
	err = forEach(ctx, workers, m.stripes, func(_, i int) {
		from, to, next := m.stripe(i)
		m.e.moves.Scatter(m.work, m.score[from:to], m.group[from:to], next)
	})
	if err != nil {
		return err
	}
	err = m.eachGroup(ctx, func(worker, g int) {
		i, j := m.start[g], m.start[g+1]
		m.sorter[worker].Sort(m.value[i:j], m.from[i:j], m.work[i:j], places, m.labels[g].Shift)
	})
	if err != nil || m.weight == nil {
		return err
	}
	return m.sortWeights(ctx, next)
}

// placeGroups replaces the counts of stripes by places in work.
func (m *sorted) placeGroups() {
	groups, at := len(m.labels), int32(0)
	m.jobs = append(m.jobs[:0], 0)
	for g := range groups {
		m.start[g] = at
		for i := range m.stripes {
			next := &m.next[i*groups+g]
			*next, at = at, at+*next
		}
		if at-m.start[m.jobs[len(m.jobs)-1]] >= groupRows || g == groups-1 {
			m.jobs = append(m.jobs, int32(g+1))
		}
	}
	m.start[groups] = at
}

// eachGroup calls work for every group.
func (m *sorted) eachGroup(ctx context.Context, work func(worker, g int)) error {
	return forEach(ctx, m.e.kernel.workers, len(m.jobs)-1, func(worker, job int) {
		for g := m.jobs[job]; g < m.jobs[job+1]; g++ {
			work(worker, int(g))
		}
	})
}

// add adds the pairs of records with labels a > b.
func (m *sorted) add(ctx context.Context, a, b int) error {
	d := m.values[a] - m.values[b]
	s, t := m.ordered[a], m.ordered[b]
	all := len(s.Value) + len(t.Value)
	jobs := (all + kernels.MergeSteps - 1) / kernels.MergeSteps
	for _, p := range m.e.steps {
		step := kernels.Step{Shift: p.From / d, Slope: p.Slope, Rise: p.Rise}
		err := forEach(ctx, m.e.kernel.workers, jobs, func(worker, job int) {
			k := job * kernels.MergeSteps
			if math.IsInf(p.From, -1) {
				kernels.AddAll(m.sums[a], m.sums[b], s, t, d, step, k)
			} else {
				m.merge[worker].AddSteps(m.sums[a], m.sums[b], s, t, d, step, k)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// restore writes half of c in the order of the records.
func (m *sorted) restore(ctx context.Context) error {
	err := m.eachGroup(ctx, func(_, g int) {
		i, j := m.start[g], m.start[g+1]
		if m.low != nil {
			addTo(m.c[i:j], m.low[i:j])
		}
		kernels.Restore(m.work[i:j], m.c[i:j], m.from[i:j])
	})
	if err != nil {
		return err
	}
	return forEach(ctx, m.e.kernel.workers, m.stripes, func(_, i int) {
		from, to, next := m.stripe(i)
		m.e.moves.Collect(m.score[from:to], m.work, m.group[from:to], next)
	})
}

// block implements coefficients.
func (m *sorted) block(_ int, c []float64, from int) {
	for i, v := range m.score[from:][:len(c)] {
		c[i] = 2 * v
	}
}

// extremes returns the least and the greatest number of x.
func extremes(x []float64) (lo, hi float64) {
	lo, hi = x[0], x[0]
	for _, v := range x {
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
	}
	return lo, hi
}

// sortWeights puts the weights of all rows in the order of the sorted scores. next holds
// the places of the rows of each stripe, from before the scores were put there.
func (m *sorted) sortWeights(ctx context.Context, next []int32) error {
	groups := len(m.labels)
	err := forEach(ctx, m.e.kernel.workers, m.stripes, func(_, i int) {
		from, to, _ := m.stripe(i)
		m.e.moves.Scatter(m.work, m.e.persons.weight[from:to], m.group[from:to], next[i*groups:(i+1)*groups])
	})
	if err != nil {
		return err
	}
	return m.eachGroup(ctx, func(_, g int) {
		i, j := m.start[g], m.start[g+1]
		for k, at := range m.from[i:j] {
			m.weight[int(i)+k] = m.work[i+at]
		}
	})
}
