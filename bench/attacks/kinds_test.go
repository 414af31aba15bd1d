package main

import (
	"context"
	"math/rand/v2"
	"testing"

	"dyad/algorithms"
	"dyad/privacy"
)

// doubled is a session of a program that computes twice of what its certificates are for.
type doubled struct{ privacy.Session }

func (s doubled) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	for k := range x {
		x[k] *= 2
	}
	return s.Session.Release(x, c, m)
}

func (s doubled) Choose(scores []int64, c privacy.Certificate, epsilon float64) (int, error) {
	for k := range scores {
		scores[k] *= 2
	}
	return s.Session.Choose(scores, c, epsilon)
}

func (s doubled) Best(x privacy.Selection, run func(int, privacy.Session) ([]float64, error)) (int, []float64, error) {
	return s.Session.Best(x, func(i int, one privacy.Session) ([]float64, error) { return run(i, doubled{one}) })
}

// peeking is a session of a program that sees what it must not tell.
type peeking struct {
	privacy.Session
	saw *float64
}

func (s peeking) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	for _, v := range x {
		*s.saw += v
	}
	return s.Session.Release(x, c, m)
}

func (s peeking) Choose(scores []int64, c privacy.Certificate, epsilon float64) (int, error) {
	*s.saw += float64(scores[0])
	return s.Session.Choose(scores, c, epsilon)
}

func (s peeking) Best(x privacy.Selection, run func(int, privacy.Session) ([]float64, error)) (int, []float64, error) {
	return s.Session.Best(x, func(i int, one privacy.Session) ([]float64, error) { return run(i, peeking{one, s.saw}) })
}

// Every kind of run that is attacked through its plan and its job is found out where its program computes twice of what its certificates are for, and
// where its result has something that was not released; as it is, it is the control.
func TestDefectsOfKindsAreFound(t *testing.T) {
	defects := map[string]func(algorithms.Job) algorithms.Job{
		"": func(j algorithms.Job) algorithms.Job { return j },
		"doubled": func(j algorithms.Job) algorithms.Job {
			train := j.Train
			j.Train = func(ctx context.Context, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
				return train(ctx, doubled{s}, t)
			}
			return j
		},
		"peeking": func(j algorithms.Job) algorithms.Job {
			train := j.Train
			j.Train = func(ctx context.Context, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
				saw := 0.0
				out, err := train(ctx, peeking{s, &saw}, t)
				return append(out, saw), err
			}
			return j
		},
	}
	for _, k := range jobKinds() {
		for name, defect := range defects {
			draw := func(rng *rand.Rand) (string, int, int, neighbouringJobs) {
				text, n, d, jobs := k.draw(rng)
				return text, n, d, func(rng *rand.Rand) (algorithms.Job, algorithms.Job, error) {
					data, neighbour, err := jobs(rng)
					return defect(data), defect(neighbour), err
				}
			}
			worst := finding{}
			for seed := range uint64(4) {
				c := ofJobs(k.name, draw)(rand.New(rand.NewPCG(seed, 1)))
				hunt, err := c.plan()
				if err != nil {
					t.Fatal(err)
				}
				found, err := hunt(context.Background(), 12, rand.New(rand.NewPCG(seed, 2)))
				if err != nil {
					t.Fatal(err)
				}
				worst.add(attempt{found.ratio, found.violation})
			}
			r := result{finding: worst, done: true}
			if r.refutes() != (name != "") || name != "peeking" && worst.ratio < 0.6 {
				t.Errorf("%s %s: ratio %v, violation %q", k.name, name, worst.ratio, worst.violation)
			}
		}
	}
}
