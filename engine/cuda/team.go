package cuda

import (
	"context"
	"fmt"

	"dyad/engine"
	"dyad/engine/cuda/driver"
)

// In a team every rank has its own GPU. If the team shares pairs, whose terms are integers, every GPU has all rows.
// Otherwise a GPU has whole chunks of a common grid, which depends on the number of all rows. A kernel writes the sums
// of its chunks to the same places as on a single GPU. Then the ranks exchange these sums, and every rank runs the
// kernels that add up all sums in the order of a single GPU. So a sum has the bits of a single GPU, and the proved
// bound for a single GPU applies.

// sharers returns engine.QueryBounds.Make for a team that shares pairs, and "" without a team. Approximate
// instructions and the sizes of launches depend on the make of a GPU.
func (b Backend) sharers() string {
	if b.Team == nil {
		return ""
	}
	g := b.Device.Info()
	return fmt.Sprintf("%s, %d.%d, %d multiprocessors", g.Name, g.Major, g.Minor, g.Multiprocessors)
}

func (k *kernel) sharers() string {
	if !k.direct {
		return ""
	}
	return k.backend.sharers()
}

func (k *metricKernel) sharers() string { return k.backend.sharers() }

// teamLaunches is the approximate number of launches per rank for a sum over pairs.
const teamLaunches = 8

// perLaunch returns the number of units of work of one launch, which is at most most. all is the number of
// units of the whole sum. In a team, launches are so small that all ranks have about the same work.
func (b Backend) perLaunch(most, all int) int {
	if b.Team == nil {
		return most
	}
	return max(1, min(most, all/(teamLaunches*b.Team.Size())))
}

// ownTurn reports whether this rank does the given launch. The ranks take turns.
func (b Backend) ownTurn(launch int) bool {
	return b.Team == nil || launch%b.Team.Size() == b.Team.Rank()
}

// ownTurns returns the launches of this rank.
func ownTurns[T any](b Backend, all []T) (own []T) {
	for i, part := range all {
		if b.ownTurn(i) {
			own = append(own, part)
		}
	}
	return own
}

// addNumbers is the number of integers that the ranks add up in one exchange.
const addNumbers = 1 << 18

// addUp adds up the n integers that each rank has at a place on its GPU. The ranks exchange the upper and lower
// halves of the integers as float64, so the sums are exact and the same as on a single GPU.
func (b Backend) addUp(ctx context.Context, at driver.Pointer, n int) error {
	if b.Team == nil {
		return nil
	}
	for ; n > 0; n, at = n-addNumbers, at+8*addNumbers {
		own := make([]int64, min(n, addNumbers))
		if err := b.Device.do(ctx, func(c *job) { c.copyBack(own, at) }); err != nil {
			return err
		}
		length := 2 * len(own)
		all := make([]float64, b.Team.Size()*length)
		for i, v := range own {
			at := b.Team.Rank()*length + 2*i
			all[at], all[at+1] = float64(v>>32), float64(uint32(v))
		}
		if err := engine.GatherJobs(ctx, b.Team, all, b.Team.Size(), length); err != nil {
			return err
		}
		for i := range own {
			own[i] = 0
			for at := 2 * i; at < len(all); at += length {
				own[i] += int64(all[at])<<32 + int64(all[at+1])
			}
		}
		if err := b.Device.do(ctx, func(c *job) { c.copyWords(at, own) }); err != nil {
			return err
		}
	}
	return nil
}

// pairSum sets dst to the sum over all pairs. Each rank has the scores of all rows and visits a part of the pairs.
func (e *evaluator) pairSum(ctx context.Context, dst, w []float64) error {
	err := e.device.do(ctx, func(c *job) {
		c.copyIn(e.rows.w, w)
		e.rows.scores(ctx, c, e.s)
		e.pairs.terms(ctx, c)
	})
	if err == nil {
		at, places := e.pairs.places()
		err = e.backend.addUp(ctx, at, places)
	}
	if err != nil {
		return err
	}
	return e.device.do(ctx, func(c *job) {
		e.pairs.finish(c)
		if e.near != nil {
			e.near.coefficients(ctx, c)
		}
		e.rows.weightedSums(ctx, c, e.c)
		c.copyOut(dst, e.rows.sum)
	})
}

// inTeam returns the kernel with the rows of this rank.
func (k *kernel) inTeam() (*kernel, error) {
	own := *k
	own.grid = k.grid.own(k.rowTeam())
	var err error
	own.grid, err = own.grid.placed(own.columnBytes(), k.backend.memory())
	return &own, err
}

// rowsIn returns the rows of r that are in the grid, and their weights (nil if there are no weights).
func (g grid) rowsIn(r *engine.Records, weights []float64) (*engine.Records, []float64, error) {
	first, end := g.first, g.first+g.n
	if !r.ByPerson() { // a rank has only its shard of the records
		var err error
		if first, end, err = r.Within(first, end); err != nil {
			return nil, nil, err
		}
	}
	if weights != nil {
		weights = weights[first:end]
	}
	return r.Range(first, end), weights, nil
}

// teamSum sets dst to the sum over all pairs. The ranks exchange the moments of their scores and, with persons,
// the scores. Then the ranks exchange the sums over their rows.
func (e *evaluator) teamSum(ctx context.Context, dst, w []float64) error {
	m, t := e.near, e.backend.Team
	g := m.groups[0]
	shares := e.grid.shares(t)
	parts := make([]int, len(shares))
	for i, chunk := range shares {
		parts[i] = g.partAt(chunk * e.grid.chunkRows())
	}
	err := e.device.do(ctx, func(c *job) {
		c.copyIn(e.rows.w, w)
		if e.persons == nil {
			m.momentsOfScores(ctx, c)
			return
		}
		e.rows.scores(ctx, c, e.s)
		e.ownScores(c)
		m.fromScores(c, g)
	})
	if err == nil {
		err = e.backend.exchange(ctx, gather{m.part, e.momentLen(), parts})
	}
	if err == nil && e.persons != nil {
		err = engine.GatherJobs(ctx, t, e.persons.s, e.grid.chunks(), e.grid.chunkRows())
	}
	if err != nil {
		return err
	}
	own := func(c *job) {
		if e.persons == nil {
			m.sumOfSeries(ctx, c)
			return
		}
		m.expand(c, g)
		m.series(c, g)
		e.weigh(ctx, c)
		e.rows.weightedSums(ctx, c, e.c)
	}
	total := func(c *job) {
		e.rows.combine(c, e.rows.sum, e.rows.part, e.problem.D)
		c.copyOut(dst, e.rows.sum)
	}
	return e.backend.halves(ctx, own, total, gather{e.rows.part, e.problem.D, shares})
}

// shares returns the number of the first chunk of each rank, followed by the total number of chunks.
func (g grid) shares(t engine.Team) (starts []int) {
	if t == nil {
		return nil
	}
	for rank := range t.Size() {
		from, _ := engine.ShareOf(t, rank, g.chunks())
		starts = append(starts, from)
	}
	return append(starts, g.chunks())
}

// gather describes the vectors on the GPU that the ranks exchange. Each vector has length numbers. The vectors
// of a rank are those from starts[rank] to starts[rank+1].
type gather struct {
	at     driver.Pointer
	length int
	starts []int
}

// exchange gathers the vectors of all ranks on every rank.
func (b Backend) exchange(ctx context.Context, g gather) error {
	size, rank := b.Team.Size(), b.Team.Rank()
	if len(g.starts) != size+1 {
		return fmt.Errorf("cuda: %d shares for %d ranks", len(g.starts)-1, size)
	}
	counts, at := make([]int, size), make([]int, size)
	for r := range counts {
		at[r], counts[r] = g.starts[r]*g.length, (g.starts[r+1]-g.starts[r])*g.length
	}
	all := make([]float64, g.starts[size]*g.length)
	err := b.Device.do(ctx, func(c *job) {
		c.copyOut(all[at[rank]:][:counts[rank]], g.at+driver.Pointer(8*at[rank]))
	})
	if err == nil {
		err = b.Team.AllGather(ctx, all, counts, at) // not in a job, because other callers may wait for this GPU
	}
	if err == nil {
		err = b.Device.do(ctx, func(c *job) { c.copyIn(g.at, all) })
	}
	return err
}

// halves runs the two parts of a sum, own and total, on the GPU. Between the two parts a team exchanges the
// vectors of g.
func (b Backend) halves(ctx context.Context, own, total func(c *job), g gather) error {
	if b.Team == nil {
		return b.Device.do(ctx, func(c *job) {
			own(c)
			total(c)
		})
	}
	err := b.Device.do(ctx, own)
	if err == nil {
		err = b.exchange(ctx, g)
	}
	if err == nil {
		err = b.Device.do(ctx, total)
	}
	return err
}
