package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/privacy"
)

// people are records with classes, and a neighbour in which number k differs.
type people struct {
	x       []float64
	classes []int32
	k       int
	row     []float64
	class   int32
}

// drawTuples draws the specification of a training on tuples, or on all pairs.
func drawTuples(loss embedding.TupleLoss, allPairs bool, rng *rand.Rand) pairs.Spec {
	s := pairs.Spec{
		Dim: 1 + rng.IntN(3), Bound: pick(rng, 1, 0.3, 4), Rows: 1 + rng.IntN(3), Loss: loss, Epochs: 1 + rng.IntN(3),
		Clip: pick(rng, 1e-6, 0.05, 0.5), StepSize: pick(rng, 1e-3, 1, 7), Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5},
	}
	if s.AllPairs = allPairs; allPairs {
		s.Individuals = 2 + rng.IntN(20)
	} else {
		s.Tuple, s.Seed = 2+rng.IntN(6), rng.Uint64()
		count := 1 + rng.IntN(6)
		s.Individuals = s.Tuple*count + rng.IntN(s.Tuple)
		s.Batch = rng.IntN(count + 1)
	}
	if rng.IntN(2) == 0 {
		s.Budget.Delta = 0
		if !allPairs {
			s.Noise = pick(rng, privacy.LaplaceNoise, privacy.KNormNoise)
		}
	}
	return s
}

// tupleConfiguration attacks trainings on tuples by one individual's record.
func tupleConfiguration(s pairs.Spec, coins uint64) configuration {
	name, noise := "tuples", "gaussian"
	if s.AllPairs {
		name = "all pairs"
	}
	if s.Budget.Delta == 0 {
		noise = s.Noise.String()
	}
	return configuration{
		area: "tuples", algorithm: name, loss: fmt.Sprintf("%s%+v", s.Loss.Name(), s.Loss), n: s.Individuals, d: s.Dim,
		options: fmt.Sprintf("%s tuple=%d batch=%d epochs=%d clip=%g steps=%g rows=%d R=%g", noise, s.Tuple, s.Batch,
			s.Epochs, s.Clip, s.StepSize, s.Rows, s.Bound),
		plan: func() (hunt, error) {
			p, err := s.Plan()
			if err != nil {
				return nil, refusal(err)
			}
			return attackTuples(p, coins, p.Certificate().Sensitivity()), nil
		},
	}
}

// attackTuples searches neighbours of a plan whose releases together may move by what is
// certified.
func attackTuples(p *pairs.Plan, coins uint64, certified float64) hunt {
	s := p.Spec
	return func(ctx context.Context, tries int, rng *rand.Rand) (finding, error) {
		return climb(ctx, tries, rng,
			func(int) people { return proposePeople(s, rng) },
			func(best people, rng *rand.Rand) people { return best.change(s, rng) },
			func(who people) (attempt, error) {
				_, moved, violation, err := replayed(coins, func(side int, session privacy.Session) ([]float64, error) {
					data, classes, err := who.data(s, side == 1)
					if err != nil {
						return nil, err
					}
					return pairs.Train(ctx, data, classes, p, session, 1+side, algorithms.Tracker{})
				})
				return attempt{ratio: attack.Joint(moved) / certified, violation: violation}, err
			})
	}
}

// proposePeople draws records: at random, or all at one place and one opposite, whose
// class then turns all gradients of its tuple around.
func proposePeople(s pairs.Spec, rng *rand.Rand) people {
	p := people{x: make([]float64, s.Individuals*s.Dim), classes: make([]int32, s.Individuals), k: rng.IntN(s.Individuals),
		row: make([]float64, s.Dim)}
	kinds := int32(1 + rng.IntN(3))
	place := rng.IntN(2) == 0
	for v := range p.classes {
		p.classes[v] = rng.Int32N(kinds)
		for k := range s.Dim {
			p.x[v*s.Dim+k] = s.Bound * 0.5 * rng.NormFloat64()
		}
		if place {
			clear(p.x[v*s.Dim : (v+1)*s.Dim])
			p.x[v*s.Dim] = s.Bound
		}
	}
	copy(p.row, p.x[p.k*s.Dim:])
	if place {
		p.x[p.k*s.Dim], p.row[0] = -s.Bound, -s.Bound
	}
	if rng.IntN(2) == 0 {
		for k := range p.row {
			p.row[k] = s.Bound * rng.NormFloat64()
		}
	}
	p.class = rng.Int32N(3)
	return p
}

func (p people) change(s pairs.Spec, rng *rand.Rand) people {
	p.x, p.classes, p.row = slices.Clone(p.x), slices.Clone(p.classes), slices.Clone(p.row)
	v := rng.IntN(s.Individuals)
	switch rng.IntN(4) {
	case 0:
		p.classes[v] = rng.Int32N(3)
	case 1:
		p.x[v*s.Dim+rng.IntN(s.Dim)] += 0.3 * s.Bound * rng.NormFloat64()
	case 2:
		p.row[rng.IntN(s.Dim)] += 0.3 * s.Bound * rng.NormFloat64()
	case 3:
		p.class = rng.Int32N(3)
	}
	return p
}

// data returns one of the two data sets.
func (p people) data(s pairs.Spec, neighbour bool) (*embedding.Data, []int32, error) {
	x, classes := slices.Clone(p.x), slices.Clone(p.classes)
	if neighbour {
		copy(x[p.k*s.Dim:(p.k+1)*s.Dim], p.row)
		classes[p.k] = p.class
	}
	g, err := pairgraph.New(s.Individuals, nil)
	if err != nil {
		return nil, nil, err
	}
	data, err := embedding.NewData(x, s.Dim, s.Norm(), s.Bound, g, nil)
	return data, classes, err
}

// tupleJobs are several for every loss of tuples and for all pairs.
func tupleJobs(_ []candidate, round int) []job {
	var jobs []job
	add := func(loss embedding.TupleLoss, allPairs bool) {
		for again := range 6 {
			jobs = append(jobs, job{fmt.Sprintf("tuples|%s|%+v|%t|%d|%d", loss.Name(), loss, allPairs, again, round), planned(func(rng *rand.Rand) configuration {
				return tupleConfiguration(drawTuples(loss, allPairs, rng), rng.Uint64())
			})})
		}
	}
	for _, loss := range []embedding.TupleLoss{
		embedding.Triplet{Margin: 1}, embedding.Triplet{Margin: 1e6}, embedding.NPair{Temperature: 0.2},
		embedding.NPair{Temperature: 1e3},
		embedding.Contrastive{Margin: 1}, embedding.Contrastive{Margin: 1e6},
	} {
		add(loss, false)
	}
	add(embedding.Contrastive{Margin: 1}, true)
	add(embedding.Contrastive{Margin: 1e6}, true)
	return jobs
}
