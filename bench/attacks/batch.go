package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
)

// trained attacks a batch algorithm by whole runs: recorded on a data set and replayed on
// a neighbour, with the releases of the first run as the past of both (attack.Replay).
func trained(a algorithms.Algorithm, c candidate, t task, rng *rand.Rand) configuration {
	values := map[string]any{"Steps": 1 + rng.IntN(6), "BatchRecords": 2 + rng.IntN(max(1, t.n-2))}
	switch rng.IntN(4) {
	case 0:
		values["StepSize"] = pick(rng, 1e-4, 0.013, 0.3)
	case 1:
		values["TotalStep"] = pick(rng, 0.01, 0.7, 5)
	}
	mode, coins := algorithms.Certified, rng.Uint64()
	i := a.Info()
	if i.Supports(algorithms.Paper) && rng.IntN(8) == 0 {
		mode = algorithms.Paper
	}
	if i.NeedsL2 && t.l2 == 0 {
		t.l2 = pick(rng, 0.001, 0.1, 1)
	}
	for _, m := range i.PureModes {
		if m == mode && rng.IntN(3) == 0 {
			t.budget.Delta = 0
		}
	}
	a, options := set(a, values)
	return trainedWith(a, c, t, mode, options, coins)
}

// trainedWith is trained with options that are set.
func trainedWith(a algorithms.Algorithm, c candidate, t task, mode algorithms.Mode, options string,
	coins uint64) configuration {
	t.describe()
	return configuration{
		area: "batch", algorithm: a.Info().Name, loss: c.name, options: fmt.Sprintf("%s %s %s", mode, options, t.text),
		n: t.n, d: t.d, cost: float64(t.n*t.n) / 2000,
		plan: func() (hunt, error) {
			p, err := t.plan(a, mode)
			return t.replays(a, p, coins, t.propose), err
		},
	}
}

// plan plans an algorithm for a task.
func (t task) plan(a algorithms.Algorithm, mode algorithms.Mode) (p *algorithms.Plan, err error) {
	spec, err := algorithms.NewSpec(t.engine(), t.problem, t.l2, t.budget, mode)
	if err == nil {
		p, err = a.Plan(spec)
	}
	return p, planError(err)
}

// replays searches the instances of a task by whole runs.
func (t task) replays(a algorithms.Algorithm, p *algorithms.Plan, coins uint64,
	propose func(i int, rng *rand.Rand) instance) hunt {
	return climb(propose, t.change, func(_ context.Context, i instance) (attempt, error) {
		data, neighbour, err := t.records(i)
		if err != nil {
			return attempt{}, err
		}
		return verdict(attack.Replay(a, p, data, []*engine.Records{neighbour}, coins))
	})
}

// batchJobs are one job for every private algorithm of the catalogue and every loss.
func batchJobs(all []candidate, round int) []job {
	var jobs []job
	for _, a := range algorithms.Catalog() {
		if ofMoments(a) || !a.Info().Supports(algorithms.Certified) {
			continue // moments have an area of their own
		}
		for _, c := range all {
			if c.kinked && a.Info().NeedsSmooth {
				continue
			}
			jobs = append(jobs, planned(func(rng *rand.Rand) configuration { return trained(a, c, draw(c, true, rng), rng) },
				"batch|%s|%s|%d", a.Info().Name, c.name, round))
		}
	}
	return jobs
}
