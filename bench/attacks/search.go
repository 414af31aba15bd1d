package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"sync"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/local"
	"dyad/algorithms/pairs"
	"dyad/engine"
	"dyad/internal/tasks"
)

// job is a cell of the table to fill: an area, an algorithm and a loss. Its options are
// drawn on the workers.
type job struct {
	key  string
	make func(rng *rand.Rand) configuration
}

// seedOf makes the random numbers of a job a function of the seed and of what the job is,
// so that rows do not depend on which others were run.
func (j job) seedOf(seed uint64) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d|%s", seed, j.key)
	return h.Sum64()
}

// hunt tries about so many neighbours.
type hunt func(ctx context.Context, tries int, rng *rand.Rand) (finding, error)

// configuration is one thing to attack: an algorithm, or a part of one, with a loss and
// options.
type configuration struct {
	area, algorithm, loss, options string
	n, d                           int
	// cost is about that of one neighbour, in units of a small one; 0 means 1. Expensive
	// configurations try fewer.
	cost float64
	// plan prepares the attack. If the library refuses the configuration, the error
	// wraps errRefused. Any other error ends the run.
	plan func() (hunt, error)
}

// planned is a job that draws until the library plans a configuration, at most a few times.
func planned(draw func(rng *rand.Rand) configuration, key string, of ...any) job {
	return job{fmt.Sprintf(key, of...), func(rng *rand.Rand) (c configuration) {
		for range 4 {
			c = draw(rng)
			ready, err := c.plan()
			c.plan = func() (hunt, error) { return ready, err }
			if !errors.Is(err, errRefused) {
				break
			}
		}
		return c
	}}
}

// failed is a configuration that ends the run.
func failed(err error) configuration {
	return configuration{plan: func() (hunt, error) { return nil, err }}
}

// finding is what an attack found.
type finding struct {
	neighbours int
	// ratio is the largest one seen of what moved over what is certified.
	ratio float64
	// violation says what is wrong besides a ratio above 1, e.g. that what is returned
	// depends on a value that was not released.
	violation string
}

// add notes one attempt.
func (f *finding) add(a attempt) {
	f.neighbours++
	if a.ratio > f.ratio || math.IsNaN(a.ratio) {
		f.ratio = a.ratio
	}
	if f.violation == "" && a.violation != "" {
		f.violation = a.violation
	}
}

// attempt is the outcome of one neighbour.
type attempt struct {
	ratio     float64
	violation string
}

// errRefused is wrapped by the error of a configuration that the library refuses to plan.
var errRefused = errors.New("refused")

// refusal sorts errors of plans: what the library refuses is a row, anything else ends
// the run.
func refusal(err error) error {
	for _, refused := range []error{algorithms.ErrAssumption, engine.ErrUnsupported, pairs.ErrPlan, local.ErrProtocol} {
		if errors.Is(err, refused) {
			return fmt.Errorf("%w: %w", errRefused, err)
		}
	}
	return err
}

// slack is the relative error of the evaluation of a ratio in float64. A certificate is
// an upper bound in exact arithmetic for what is computed in float64, rounding errors of
// training included; what is left is the evaluation of the move: a subtraction, a square
// and a sum for each of d coordinates and the root and quotient, together below
// (d + 6) 2^-53 of the ratio; d <= slackCoordinates in every configuration.
const (
	slackCoordinates = 1 << 12
	slack            = (slackCoordinates + 6) * 0x1p-53
)

// refuted reports whether a ratio is above 1 by more than the error of its evaluation, or is not a number.
func refuted(ratio float64) bool { return !(ratio <= 1+slack) }

// verdict is the outcome of a replay as a ratio and a violation. A move above its
// certificate shows in the ratio alone.
func verdict(ratio float64, err error) (attempt, error) {
	var v attack.Violation
	switch {
	case err == nil:
		return attempt{ratio: ratio}, nil
	case !errors.As(err, &v):
		return attempt{}, err
	case ratio > 1:
		return attempt{ratio: ratio}, nil
	}
	return attempt{ratio: ratio, violation: v.Reason}, nil
}

// climb searches: the first half of the tries are fresh proposals, the others changes of
// the best one so far; the better ones stay.
func climb[T any](propose func(i int, rng *rand.Rand) T, change func(T, *rand.Rand) T,
	try func(context.Context, T) (attempt, error)) hunt {
	return func(ctx context.Context, tries int, rng *rand.Rand) (found finding, err error) {
		var best T
		highest := math.Inf(-1)
		for i := range tries {
			if ctx.Err() != nil {
				return found, ctx.Err()
			}
			var at T
			if i <= tries/2 {
				at = propose(i, rng)
			} else {
				at = change(best, rng)
			}
			a, err := try(ctx, at)
			if err != nil {
				return found, err
			}
			found.add(a)
			if a.ratio >= highest {
				highest, best = a.ratio, at
			}
		}
		return found, nil
	}
}

// each draws so many settings for each try, where there is nothing to climb. Settings that are refused are passed
// over, unless all are.
func each(times int, try func(ctx context.Context, rng *rand.Rand) (attempt, error)) hunt {
	return func(ctx context.Context, tries int, rng *rand.Rand) (found finding, refused error) {
		for range times * tries {
			if ctx.Err() != nil {
				return found, ctx.Err()
			}
			switch a, err := try(ctx, rng); {
			case errors.Is(err, errRefused):
				refused = err
			case err != nil:
				return found, err
			default:
				found.add(a)
			}
		}
		if found.neighbours > 0 {
			refused = nil
		}
		return found, refused
	}
}

// once tries one thing, with an effort of so many tries.
func once(try func(ctx context.Context, tries int, rng *rand.Rand) (ratio float64, err error)) hunt {
	return func(ctx context.Context, tries int, rng *rand.Rand) (found finding, err error) {
		ratio, err := try(ctx, tries, rng)
		found.add(attempt{ratio: ratio})
		return found, err
	}
}

// result is a finished configuration.
type result struct {
	configuration
	finding
	seed    uint64
	refused string
	done    bool
}

// refutes reports whether the result is a defect.
func (r result) refutes() bool {
	return r.done && r.refused == "" && (refuted(r.ratio) || r.violation != "")
}

// run attacks all configurations with that number of workers. A context that ends leaves
// the results that are there.
func run(ctx context.Context, all []job, neighbours, workers int, seed uint64,
	progress func(result)) ([]result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([]result, len(all))
	var lock sync.Mutex // of progress

	// the cause of ctx says more than the error
	_ = tasks.Each(ctx, workers, len(all), func(_, i int) {
		r := result{seed: all[i].seedOf(seed)}
		rng := rand.New(rand.NewPCG(r.seed, 1))
		r.configuration = all[i].make(rng)
		try, err := r.plan()
		if err == nil {
			tries := max(4, int(float64(neighbours)/max(1, r.cost)))
			if r.area == "regression" {
				tries = max(tries, 30)
			}
			r.finding, err = try(ctx, tries, rng)
		}
		switch {
		case errors.Is(err, errRefused):
			r.refused = err.Error()
		case ctx.Err() != nil:
			return // unfinished, unless another ended the run
		case err != nil:
			cancel(fmt.Errorf("%s, %s, loss %s, %s, n = %d, d = %d: %w",
				r.area, r.algorithm, r.loss, r.options, r.n, r.d, err))
			return
		}
		r.done = true
		lock.Lock()
		defer lock.Unlock()
		results[i] = r
		progress(r)
	})
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return results, cause
	}
	return results, nil
}
