package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"dyad/algorithms"
	"dyad/engine"
)

// query is an instance and the point at which its gradient is asked for.
type query struct {
	instance
	w []float64
}

// gradient attacks single mean gradients at any w of the domain, which is what the
// certificate of every method that releases gradients rests on: the certificate is that
// of the plan of one step, the gradient that of the plan's kernel. Every w is that of a
// possible past.
func gradient(c candidate, t task) configuration {
	return configuration{
		area: "gradient", algorithm: "mean gradient", loss: c.name, options: t.text, n: t.n, d: t.d,
		cost: float64(t.n*t.n) / 4000,
		plan: func() (hunt, error) {
			p, err := t.plan(algorithms.GradientPerturbation{Steps: 1}, algorithms.Certified)
			return climb(func(i int, rng *rand.Rand) query { return t.query(i, c.kinks, rng) },
				func(q query, rng *rand.Rand) query {
					q.instance = t.change(q.instance, rng)
					if rng.IntN(3) == 0 {
						q.w = t.point(rng)
					}
					return q
				},
				func(ctx context.Context, q query) (attempt, error) { return t.moved(ctx, p, q) }), err
		},
	}
}

// planError sorts errors of NewSpec and Plan. A loss without constants is refused by an
// error of its own.
func planError(err error) error {
	if err = refusal(err); err == nil || errors.Is(err, errRefused) {
		return err
	}
	return fmt.Errorf("%w: %w", errRefused, err)
}

// query draws an instance and a point: w = 0, where all descents of scores start, a random
// one, or one at which a pair at the range meets a kink.
func (t task) query(i int, kinks []float64, rng *rand.Rand) query {
	q := query{instance: t.propose(i, rng), w: t.point(rng)}
	_, metric := t.problem.Loss.(engine.MetricLoss)
	if metric || len(kinks) == 0 || rng.IntN(2) == 0 {
		return q
	}
	// All records lie on one line at distance R on both sides, so that u = (y - y') 2 R |w|
	// has one value for all pairs of different ends and labels.
	kink := kinks[rng.IntN(len(kinks))] * (1 + float64(rng.IntN(9)-4)*0x1p-53)
	clear(q.w)
	q.w[0] = min(t.problem.Radius, max(-t.problem.Radius, kink/(4*t.bounds.FeatureNorm*t.bounds.LabelAbs)))
	return q
}

// point is a point of the domain: its start, or a random one, often at the boundary.
func (t task) point(rng *rand.Rand) []float64 {
	domain := t.problem.Domain()
	w := domain.Start()
	if rng.IntN(3) == 0 {
		return w
	}
	square := 0.0
	for k := range w {
		w[k] = rng.NormFloat64()
		square += w[k] * w[k]
	}
	length := t.problem.Radius
	if rng.IntN(2) == 0 {
		length *= rng.Float64()
	}
	for k := range w {
		w[k] *= length / math.Sqrt(square)
	}
	if err := domain.Project(w, 2*length); err != nil {
		return domain.Start()
	}
	return w
}

// moved is how far the mean gradient of the plan's kernel moves.
func (t task) moved(ctx context.Context, p *algorithms.Plan, q query) (attempt, error) {
	data, neighbour, err := t.records(q.instance)
	if err != nil {
		return attempt{}, err
	}
	pairs := t.problem.Pairs()
	var sums [2][]float64
	for side, records := range []*engine.Records{data, neighbour} {
		ev, err := p.Spec.Kernel.Bind(records)
		if err != nil {
			return attempt{}, err
		}
		sums[side] = make([]float64, len(q.w))
		err = ev.Sum(ctx, sums[side], engine.Gradient(slices.Clone(q.w), pairs))
		if err = errors.Join(err, ev.Close()); err != nil {
			return attempt{}, err
		}
	}
	square := 0.0
	for k, v := range sums[0] {
		square += (v - sums[1][k]) * (v - sums[1][k])
	}
	return attempt{ratio: math.Sqrt(square) / float64(pairs.Len()) / p.Certificate().Sensitivity()}, nil
}

// gradientJobs are one job for every loss.
func gradientJobs(all []candidate, round int) []job {
	var jobs []job
	for _, c := range all {
		jobs = append(jobs, planned(func(rng *rand.Rand) configuration { return gradient(c, draw(c, true, rng)) },
			"gradient|%s|%d", c.name, round))
	}
	return jobs
}
