package cuda

import (
	"context"
	"runtime"
	"slices"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/internal/tasks"
)

// rowsAre returns the problem whose records are n single rows. The rows of persons have the layout of this
// problem on the GPU.
func rowsAre(p engine.Problem, n int) engine.Problem {
	p.N, p.PersonRows = n, 0
	return p
}

// personRoom returns the additional bytes that a plan reserves for persons. Fewer rows than planned may have
// more chunks and so need more memory. With this reserve, the number of rows, which is private, never decides
// whether the data fit.
func personRoom(p engine.Problem) uint64 {
	if !p.ByPerson() {
		return 0
	}
	return uint64(8 * p.D * maxChunks)
}

// splicedName returns the name of the program that visits every pair of rows.
func (k *kernel) splicedName() string {
	if k.problem.ByPerson() {
		return "spliced_persons"
	}
	return "spliced"
}

// ofPersons returns the kernel for the rows of r.
func (k *kernel) ofPersons(r *engine.Records) (*kernel, error) {
	own := *k
	own.problem = rowsAre(k.problem, r.Len())
	own.grid = gridOf(own.problem, nil).own(k.rowTeam())
	var err error
	own.grid, err = own.grid.placed(k.columnBytes(), k.backend.memory())
	return &own, err
}

func (e *evaluator) bindPersons(c *job, r *engine.Records) {
	n, rows, first := r.Len(), e.grid.n, e.grid.first
	e.persons = &persons{records: r, weights: weightsOf(r), s: make([]float64, n), sums: make([]float64, n)}
	e.alloc(c, []block{{&e.persons.weight, 8 * rows}, {&e.persons.own, 8 * rows}})
	weight := slices.Clone(e.persons.weights)
	for i, at := range e.slot {
		weight[at] = e.persons.weights[i]
	}
	c.copyIn(e.persons.weight, weight[first:first+rows])
	e.persons.weight -= driver.Pointer(8 * first) // where the weight of row 0 would be
}

// ownScores sets s to the scores of the rows on this GPU.
func (e *evaluator) ownScores(c *job) {
	c.copyOut(e.persons.s[e.grid.first:][:e.grid.n], e.s+driver.Pointer(8*e.grid.first))
}

// personJob is the number of persons per job in weigh.
const personJob = 256

// weigh subtracts the pairs within persons from c and multiplies c by the weights of the rows. The host must
// have the scores of all rows.
func (e *evaluator) weigh(ctx context.Context, c *job) {
	if c.err != nil {
		return
	}
	p, rows, first := e.persons, e.grid.n, driver.Pointer(8*e.grid.first)
	clear(p.sums)
	units := p.records.Units()
	c.err = tasks.Each(ctx, runtime.GOMAXPROCS(0), chunksOf(units, personJob), func(_, job int) {
		for k := job * personJob; k < min((job+1)*personJob, units); k++ {
			from, to := p.records.UnitRows(k)
			e.ownPairs(ctx, from, to)
		}
	})
	if rows > 0 {
		c.copyIn(p.own, p.sums[e.grid.first:][:rows])
		c.launch(e.near.module, "weigh", blocksFor(rows), 1, uint64(e.c+first), uint64(p.own),
			uint64(p.weight+first), uint64(rows))
	}
}

// ownPairs adds up, for each row of a person, the slopes of its pairs with the person's other rows, times twice
// the weight of a row. All rows of a person have the same weight.
func (e *evaluator) ownPairs(ctx context.Context, from, to int) {
	p := e.persons
	for i := from; i < to && ctx.Err() == nil; i++ {
		for j := i + 1; j < to; j++ {
			if d := e.y[i] - e.y[j]; d != 0 {
				v := e.loss.DPhi(d*(p.s[e.slot[i]]-p.s[e.slot[j]])) * d
				p.sums[e.slot[i]] += v
				p.sums[e.slot[j]] -= v
			}
		}
	}
	for i := from; i < to; i++ {
		p.sums[e.slot[i]] *= 2 * p.weights[i]
	}
}

// nextOf returns, for each row, the number of the first row of the next person.
func nextOf(r *engine.Records) []uint32 {
	next := make([]uint32, 0, r.Len())
	for k := range r.Units() {
		for i, to := r.UnitRows(k); i < to; i++ {
			next = append(next, uint32(to))
		}
	}
	return next
}

// weightWords returns the weights of rows times 2^32, in float32.
func weightWords(r *engine.Records) []float32 {
	words := make([]float32, 0, r.Len())
	for _, w := range weightsOf(r) {
		words = append(words, float32(w*0x1p32))
	}
	return words
}

// weightsOf returns the weight 1/m for each row of a person with m rows. It returns nil if each row is a record.
func weightsOf(r *engine.Records) (weights []float64) {
	if !r.ByPerson() {
		return nil
	}
	for p := range r.Units() {
		from, to := r.UnitRows(p)
		weights = append(weights, slices.Repeat([]float64{1 / float64(to-from)}, to-from)...)
	}
	return weights
}
