package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/privacy"
)

// online is an online algorithm with options.
type online struct {
	algorithms.Stream
	algorithms.StreamOptions
	mode    algorithms.Mode
	options string
}

// drawOnline draws the options of an online algorithm for a stream of t.n records.
func drawOnline(a algorithms.Stream, t *task, rng *rand.Rand) online {
	o := online{Stream: a}
	t.problem.Groups, t.problem.LabelValues = nil, 0
	if t.levels > 2 {
		t.levels = 2
	}
	t.n = max(t.n, 3)
	o.Horizon = t.n
	o.Batch = min(pick(rng, 1, 1, 2, 3, 5, 7, 16), t.n-1)
	o.Buffer = pick(rng, 0, 0, 1, 4, 6, 10)
	switch rng.IntN(5) {
	case 0:
		o.Reservoir = o.Buffer > 0
	case 1:
		o.PerClass = o.Buffer > 1 && o.Buffer%2 == 0
	}
	if rng.IntN(2) == 0 {
		o.BurnIn = min(pick(rng, 1, 2, 4, 9), t.n-o.Batch)
	}
	i := a.Info()
	if rng.IntN(5) == 0 { // the certificate of a recursion
		o.Stream, o.options = set(a, map[string]any{"Reading": algorithms.SecretState})
		if o.options != "" {
			o.StreamOptions = algorithms.StreamOptions{Horizon: t.n}
		}
	}
	if i.Supports(algorithms.Paper) && rng.IntN(8) == 0 {
		o.mode = algorithms.Paper
		o.Stream, o.options = set(a, map[string]any{"PaperAlpha": 200})
		o.StreamOptions = algorithms.StreamOptions{Horizon: t.n}
		t.l2 = 10
	}
	if i.NeedsL2 && t.l2 == 0 {
		t.l2 = pick(rng, 0.001, 0.1, 1)
	}
	o.describe(t)
	return o
}

func (o *online) describe(t *task) {
	t.describe()
	o.options = fmt.Sprintf("%s %s batch=%d buffer=%d reservoir=%t perclass=%t burnin=%d", o.mode, o.options, o.Batch,
		o.Buffer, o.Reservoir, o.PerClass, o.BurnIn)
}

// streamed attacks an online algorithm by whole streams, all releases together
// (attack.ReplayStream). Half of the instances choose every batch after the iterate
// that was published before it: the certificate is for whatever the other records are.
func streamed(o online, c candidate, t task, coins uint64) configuration {
	return configuration{
		area: "stream", algorithm: o.Info().Name, loss: c.name, options: o.options + " " + t.text, n: t.n, d: t.d,
		cost: float64(t.n*t.n) / 1000,
		plan: func() (hunt, error) {
			p, err := o.planFor(t)
			s := stream{task: t, plan: p, coins: coins, kinks: c.kinks}
			return climb(s.propose, func(a adaptive, rng *rand.Rand) adaptive {
				if a.kink != nil {
					if a.bits += rng.IntN(9) - 4; rng.IntN(3) == 0 {
						a.instance.k = rng.IntN(t.n)
					}
					return a
				}
				a.instance = t.change(a.instance, rng)
				return a
			}, s.try), err
		},
	}
}

// planFor plans the algorithm for a task.
func (o online) planFor(t task) (p *algorithms.Plan, err error) {
	spec, err := algorithms.NewStreamSpec(t.backend, t.problem, o.StreamOptions, t.l2, t.budget, o.mode)
	if err == nil {
		p, err = o.Plan(spec)
	}
	return p, planError(err)
}

// adaptive is an instance whose records follow the published iterates if there is
// a kink: they then lie so that the pairs of both classes meet it.
type adaptive struct {
	instance
	kink *float64
	bits int // how many last bits next to the kink
}

// stream is a planned stream under attack.
type stream struct {
	task
	plan  *algorithms.Plan
	coins uint64
	kinks []float64
	start func(privacy.Session) (attack.Stepper, error) // nil: the plan's own
}

func (s stream) propose(i int, rng *rand.Rand) adaptive {
	a := adaptive{instance: s.task.propose(i, rng)}
	if rng.IntN(2) == 0 { // another record, often around the first update
		a.k = min(s.n-1, max(0, s.plan.Spec.BurnIn+rng.IntN(4)-1))
		if rng.IntN(3) == 0 {
			a.k = rng.IntN(s.n)
		}
		copy(a.row, a.x[a.k*s.d:(a.k+1)*s.d])
		a.label = -a.y[a.k]
		if rng.IntN(2) == 0 {
			for j := range a.row {
				a.row[j] = -a.row[j]
			}
		}
	}
	if _, metric := s.problem.Loss.(engine.MetricLoss); !metric && len(s.kinks) > 0 && i%2 == 1 {
		if kink := &s.kinks[rng.IntN(len(s.kinks))]; *kink != 0 || s.d > 1 {
			a.kink = kink
			a.bits = rng.IntN(9) - 4
		}
	}
	return a
}

func (s stream) begin(session privacy.Session) (attack.Stepper, error) {
	if s.start != nil {
		return s.start(session)
	}
	return algorithms.NewStream(s.plan, session)
}

func (s stream) try(ctx context.Context, a adaptive) (attempt, error) {
	if a.kink != nil {
		if err := s.follow(ctx, &a.instance, *a.kink*(1+float64(a.bits)*0x1p-53)); err != nil {
			return attempt{}, err
		}
	}
	data, neighbour, err := s.records(a.instance)
	if err != nil {
		return attempt{}, err
	}
	return verdict(attack.ReplayStream(s.plan, s.begin, data, []*engine.Records{neighbour}, s.coins))
}

// follow places the records while the stream runs with the coins of the attack, so that a
// replay publishes the same iterates: after each, those to come lie at -c v and c v, v the
// direction of the iterate, with u = (y - y') w.(x - x') at the kink for labels -b and b; for
// a kink at 0 v is orthogonal to the iterate and c = R.
// The replaced record keeps its features and gets the other label.
func (s stream) follow(ctx context.Context, i *instance, kink float64) error {
	session, err := privacy.NewPublicSession(privacy.NewSeededSource(s.coins), s.plan.Events())
	if err != nil {
		return err
	}
	online, err := s.begin(session)
	if err != nil {
		return err
	}
	w := make([]float64, s.d)
	for r := range s.n {
		row := i.x[r*s.d : (r+1)*s.d]
		size := norm(w)
		side := math.Copysign(1, i.y[r])
		clear(row)
		switch {
		case size > 0 && kink == 0:
			row[0], row[1] = -side*s.bounds.FeatureNorm*w[1], side*s.bounds.FeatureNorm*w[0]
			if length := math.Hypot(w[0], w[1]); length > 0 {
				row[0], row[1] = row[0]/length, row[1]/length
			}
		case size > 0:
			c := min(s.bounds.FeatureNorm, max(-s.bounds.FeatureNorm, kink/(4*s.bounds.LabelAbs*size)))
			for j, v := range w {
				row[j] = side * c * v / size
			}
		default:
			row[0] = side * s.bounds.FeatureNorm
		}
		i.y[r] = side * s.bounds.LabelAbs
		out, err := online.Step(ctx, slices.Clone(row), i.y[r])
		if err != nil {
			return err
		}
		if out != nil {
			w = out
		}
	}
	copy(i.row, i.x[i.k*s.d:(i.k+1)*s.d])
	i.label = -i.y[i.k]
	return nil
}

// streamJobs are one job for every private online algorithm and every loss.
func streamJobs(all []candidate, round int) []job {
	var jobs []job
	for _, a := range algorithms.StreamCatalog() {
		if !a.Info().Supports(algorithms.Certified) {
			continue
		}
		for _, c := range all {
			jobs = append(jobs, planned(func(rng *rand.Rand) configuration {
				t := draw(c, false, rng)
				o := drawOnline(a, &t, rng)
				return streamed(o, c, t, rng.Uint64())
			}, "stream|%s|%s|%d", a.Info().Name, c.name, round))
		}
	}
	return jobs
}
