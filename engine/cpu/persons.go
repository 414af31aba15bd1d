package cpu

import (
	"context"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/kernels"
)

// rowsOfPersons holds the numbers that sums over the rows of persons need besides the
// rows (docs/theory.md#person-sums).
type rowsOfPersons struct {
	first  []int     // first row of each person, and the number of rows
	weight []float64 // weight of each row: 1/m for a person with m rows
	next   []int32   // for each row, the first row of the next person
	most   int       // largest number of rows of a person
	own    []float64 // for each row, the part of c from pairs within its person; not for the direct method
}

// newRowsOfPersons returns nil if each row is a record.
func newRowsOfPersons(r *engine.Records) *rowsOfPersons {
	if !r.ByPerson() {
		return nil
	}
	p := &rowsOfPersons{first: make([]int, 1, r.Units()+1), weight: make([]float64, r.Len()), next: make([]int32, r.Len())}
	for k := range r.Units() {
		from, to := r.UnitRows(k)
		for i := from; i < to; i++ {
			p.weight[i], p.next[i] = 1/float64(to-from), int32(to)
		}
		p.first, p.most = append(p.first, to), max(p.most, to-from)
	}
	return p
}

// refuseForPersons returns an error for problems and methods that cannot sum with weights.
func (b Backend) refuseForPersons(p engine.Problem) error {
	if p.ByPerson() && b.Float32 {
		return fmt.Errorf("%w: pairs of persons in float32; leave out --precision, which is float64", engine.ErrUnsupported)
	}
	return nil
}

// personJob is the number of persons whose own pairs form one job.
const personJob = 256

// ownPairs sets own to twice the sums over the pairs of rows within a person, with the
// weight of the other row of each pair. The sums over all rows contain these terms, and
// they must be subtracted.
func (e *evaluator) ownPairs(ctx context.Context, w []float64) error {
	p := e.persons
	persons := len(p.first) - 1
	jobs := (persons + personJob - 1) / personJob
	score := make([]float64, min(e.kernel.workers, jobs)*p.most)
	clear(p.own)
	return forEach(ctx, e.kernel.workers, jobs, func(worker, job int) {
		for k := job * personJob; k < min((job+1)*personJob, persons) && ctx.Err() == nil; k++ {
			from, to := p.first[k], p.first[k+1]
			if to-from < 2 {
				continue
			}
			s, y, sum := score[worker*p.most:][:to-from], e.y[from:to], p.own[from:to]
			e.x.dots(s, w, from)
			for i := range s {
				if i%64 == 0 && ctx.Err() != nil {
					return
				}
				for j := i + 1; j < len(s); j++ {
					if d := y[i] - y[j]; d != 0 {
						v := e.pairSlope(d, s[i], s[j]) * d
						sum[i] += v
						sum[j] -= v
					}
				}
			}
			for i := range sum {
				sum[i] *= 2 * p.weight[from]
			}
		}
	})
}

// pairSlope returns phi'(d (s - t)) as the method of the kernel computes it.
func (k *kernel) pairSlope(d, s, t float64) float64 {
	if k.method != Sorted {
		return k.dphi(d * (s - t))
	}
	if d < 0 {
		d, s, t = -d, t, s
	}
	var sum float64
	for i, p := range k.steps {
		if i == 0 || t <= s-p.From/d {
			sum += p.Slope + p.Rise*d*(s-t)
		}
	}
	return sum
}

// ownError returns E' of docs/theory.md#person-sums. It is the error of a sum of up to
// PersonRows single slopes, which are added one after the other. For the sorted method, a
// slope is a sum over the steps. Each step adds one rounding to the roundings of
// sortedError.
func (k *kernel) ownError() float64 {
	depth := engine.Gamma(k.problem.PersonRows+8) * k.scores.Slope
	switch k.method {
	case NearLinear:
		return k.directError() + depth
	case Sorted:
		var size float64
		for _, p := range k.steps {
			size += math.Abs(p.Slope) + math.Abs(p.Rise)*k.scores.Margin
		}
		return k.sortedError() + engine.Gamma(len(k.steps)+8)*size + depth
	}
	return 0
}

// personTile is sumTile for the pairs of rows of different persons. Each side has all rows.
func (m *direct) personTile(col, work []float64, r0, r1, c0, c1 int) {
	p, s, y := m.e.persons, m.rows.s, m.e.y
	kernels.WeightedTile(m.rows.sum[r0:r1], col, s[r0:r1], y[r0:r1], p.weight[r0:r1], p.next[r0:r1], s[c0:c1], y[c0:c1],
		p.weight[c0:c1], c0, work, m.e.slopes)
}

// weights puts the weights of the rows of a block in their places. It returns nil without persons.
func (m *nearLinear) weights(s *nearScratch, at *places, from, count int) []float64 {
	if m.e.persons == nil {
		return nil
	}
	at.put(s.weight, m.e.persons.weight[from:][:count])
	return s.weight
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

// weigh subtracts the pairs within persons from c, and then multiplies c by the weights of
// the rows. The first number of c belongs to row from.
func (p *rowsOfPersons) weigh(c []float64, from int) {
	if p.own != nil {
		for i, v := range p.own[from:][:len(c)] {
			c[i] -= v
		}
	}
	for i, v := range p.weight[from:][:len(c)] {
		c[i] *= v
	}
}
