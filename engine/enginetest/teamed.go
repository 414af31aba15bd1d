package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"dyad/engine"
	"dyad/engine/team"
)

// Teamed returns a backend in which every evaluator is a team in this process. The team has `size`
// members, and the function `of` returns the backend of one member.
func Teamed(size int, of func(engine.Team) engine.Backend) engine.Backend {
	return teamed{size, of}
}

type teamed struct {
	size int
	of   func(engine.Team) engine.Backend
}

// Name implements engine.Backend.
func (b teamed) Name() string { return fmt.Sprintf("%s, team of %d", b.of(nil).Name(), b.size) }

// Plan implements engine.Backend.
func (b teamed) Plan(p engine.Problem) (engine.Kernel, error) {
	return planTeam(b.size, func(t engine.Team) (engine.Kernel, error) { return b.of(t).Plan(p) })
}

// PlanMoments implements engine.Backend.
func (b teamed) PlanMoments(p engine.Problem) (engine.Kernel, error) {
	return planTeam(b.size, func(t engine.Team) (engine.Kernel, error) { return b.of(t).PlanMoments(p) })
}

// planTeam returns the kernel of a team. plan makes the kernel of a member.
func planTeam(size int, plan func(engine.Team) (engine.Kernel, error)) (engine.Kernel, error) {
	k, err := plan(Members(size)[0])
	if err != nil {
		return nil, err
	}
	return teamKernel{Kernel: k, size: size, plan: plan}, nil
}

type teamKernel struct {
	engine.Kernel
	size int
	plan func(engine.Team) (engine.Kernel, error)
}

// Bind implements engine.Kernel. Every rank gets its share of r.
func (k teamKernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	if err := k.Problem().Fits(r); err != nil {
		return nil, err
	}
	e := &teamEvaluator{kernel: k}
	agreed := make([]error, k.size)
	var asked sync.WaitGroup
	for rank, t := range slices.Backward(Members(k.size)) {
		mine, err := k.plan(t)
		if err != nil {
			return nil, err
		}
		own := r.Shard(engine.Share(mine, rank))
		asked.Add(1)
		run := func() {
			defer asked.Done()
			agreed[rank] = team.Agree(context.Background(), t, mine, own,
				[]team.Statement{{Name: "the plan", Text: mine.Method()}})
		}
		if rank == 0 {
			run()
			e.lead = team.Lead(t, mine, own)
			continue
		}
		e.others.Go(func() {
			if run(); agreed[rank] != nil {
				return
			}
			if err := team.Serve(context.Background(), t, mine, own, nil); err != nil {
				t.(*member).End(err)
			}
		})
	}
	asked.Wait()
	if err := errors.Join(agreed...); err != nil {
		return nil, err
	}
	bound, err := e.lead.Bind(context.Background())
	if err != nil {
		return nil, errors.Join(err, e.lead.Stop())
	}
	e.Evaluator = bound
	return e, nil
}

type teamEvaluator struct {
	engine.Evaluator
	kernel engine.Kernel
	lead   *team.Leader
	others sync.WaitGroup
}

// Kernel implements engine.Evaluator.
func (e *teamEvaluator) Kernel() engine.Kernel { return e.kernel }

// Close implements engine.Evaluator.
func (e *teamEvaluator) Close() error {
	err := errors.Join(e.Evaluator.Close(), e.lead.Stop())
	e.others.Wait()
	return err
}
