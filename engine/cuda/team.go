package cuda

import (
	"context"
	"fmt"

	"dyad/engine"
	"dyad/engine/cuda/driver"
)

// In a team every rank has a GPU of its own, with whole chunks of the one grid that the number of all
// rows decides. A kernel writes the sums of its chunks where one GPU would; then the ranks exchange
// them, and each runs the kernels that add them up on all, in the order of one GPU. So a sum has
// the bits of one GPU, and its bound is the one proved for that.

// planTeam refuses what a team does not share.
func (k *kernel) planTeam() error {
	what := ""
	switch {
	case k.backend.Team == nil:
		return nil
	case len(k.problem.Groups) > 0:
		what = "sums within query groups"
	case k.direct:
		what = "sums pair by pair (" + k.Method() + ")"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s with loss %q on the GPUs of a team, which share moments and near-linear sums", engine.ErrUnsupported, what, k.loss.Name())
}

// inTeam is the kernel with the rows of this rank.
func (k *kernel) inTeam() (*kernel, error) {
	own := *k
	own.grid = k.grid.own(k.backend.Team)
	var err error
	own.grid, err = own.grid.placed(own.columnBytes(), k.backend.memory())
	return &own, err
}

// fitsRecords is Problem.Fits; in a team also for a shard.
func (b Backend) fitsRecords(p engine.Problem, r *engine.Records) error {
	if b.Team == nil {
		return p.Fits(r)
	}
	return p.FitsShard(r)
}

// rowsIn returns the rows of the grid, and of their weights (nil for none), from r.
func (g grid) rowsIn(r *engine.Records, weights []float64) (*engine.Records, []float64, error) {
	first, end := g.first, g.first+g.n
	if !r.ByPerson() { // of these a rank has its shard
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

// teamSum sets dst to the sum over all pairs. The ranks exchange the moments of their scores, with persons
// the scores, too, and then the sums over their rows.
func (e *evaluator) teamSum(ctx context.Context, dst, w []float64) error {
	m, t := e.near, e.backend.Team
	g := m.groups[0]
	shares := e.grid.shares(t)
	parts := make([]int, len(shares))
	for i, chunk := range shares {
		parts[i] = g.partAt(chunk * e.grid.chunkRows())
	}
	total := func(c driver.Context) error {
		if err := e.rows.combine(c, e.rows.sum, e.rows.part, e.problem.D); err != nil {
			return err
		}
		return copyOut(c, dst, e.rows.sum)
	}
	err := e.backend.Device.do(ctx, func(c driver.Context) error {
		if err := copyIn(c, e.rows.w, w); err != nil {
			return err
		}
		if e.persons == nil {
			return m.momentsOfScores(ctx, c)
		}
		if err := e.rows.scores(ctx, c, e.s); err != nil {
			return err
		}
		if err := e.ownScores(c); err != nil {
			return err
		}
		return m.fromScores(c, g)
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
	own := func(c driver.Context) error {
		if e.persons == nil {
			return m.sumOfSeries(ctx, c)
		}
		if err := m.expand(c, g); err != nil {
			return err
		}
		if err := m.series(c, g); err != nil {
			return err
		}
		if err := e.weigh(ctx, c); err != nil {
			return err
		}
		return e.rows.weightedSums(ctx, c, e.c)
	}
	return e.backend.halves(ctx, own, total, gather{e.rows.part, e.problem.D, shares})
}

// shares are the numbers of the first chunk of each rank, and of all chunks.
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

// gather names the vectors on the GPU that the ranks exchange: from starts[rank] on each has its own, of length
// numbers.
type gather struct {
	at     driver.Pointer
	length int
	starts []int
}

// exchange has the ranks exchange vectors.
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
	err := b.Device.do(ctx, func(c driver.Context) error {
		return copyOut(c, all[at[rank]:][:counts[rank]], g.at+driver.Pointer(8*at[rank]))
	})
	if err == nil {
		err = b.Team.AllGather(ctx, all, counts, at) // not in a job: others may wait for this GPU
	}
	if err == nil {
		err = b.Device.do(ctx, func(c driver.Context) error { return copyIn(c, g.at, all) })
	}
	return err
}

// halves runs two parts of a sum on the GPU; between them a team exchanges vectors.
func (b Backend) halves(ctx context.Context, own, total func(c driver.Context) error, g gather) error {
	if b.Team == nil {
		return b.Device.do(ctx, func(c driver.Context) error {
			if err := own(c); err != nil {
				return err
			}
			return total(c)
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
