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

// paired is a training on labelled pairs under attack.
type paired struct {
	spec  pairs.Spec
	plan  *pairs.Plan
	graph *pairgraph.Graph
	coins uint64
}

// pairInstance is a data set and which records of individuals and labels of pairs change.
type pairInstance struct {
	x, otherX           []float64
	labels, otherLabels []bool
	changed             []int32 // pairs in which something changes
}

// drawPairs draws the specification of a training and a graph for it: a star, a path,
// disjoint pairs, all pairs or a random one.
func drawPairs(unit pairs.Unit, sampling pairs.Sampling, loss embedding.ListLoss,
	rng *rand.Rand) (pairs.Spec, []pairgraph.Pair) {
	n := 3 + rng.IntN(12)
	var list []pairgraph.Pair
	pair := func(a, b int) { list = append(list, pairgraph.Pair{A: int32(a), B: int32(b)}) }
	switch rng.IntN(5) {
	case 0:
		for v := 1; v < n; v++ {
			pair(0, v)
		}
	case 1:
		for v := 1; v < n; v++ {
			pair(v-1, v)
		}
	case 2:
		for v := 1; v < n; v += 2 {
			pair(v, v-1)
		}
	case 3:
		n = min(n, 7)
		for a := range n {
			for b := range a {
				pair(a, b)
			}
		}
	default:
		for a := range n {
			for b := range a {
				if rng.IntN(3) == 0 {
					pair(a, b)
				}
			}
		}
		if list == nil {
			pair(0, 1)
		}
	}
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	degree := make([]int, n)
	for _, p := range list {
		degree[p.A]++
		degree[p.B]++
	}
	s := pairs.Spec{
		Individuals: n, Pairs: len(list), Dim: 1 + rng.IntN(3), Bound: pick(rng, 1, 0.3, 4), Loss: loss, Unit: unit,
		Kappa: slices.Max(degree), Batch: 1 + rng.IntN(len(list)), Epochs: 1 + rng.IntN(3),
		Clip:   pick(rng, 1e-6, 0.05, 0.5, 3),
		Shrink: rng.IntN(4) == 0, StepSize: pick(rng, 1e-3, 1, 7), PrintedSteps: rng.IntN(6) == 0, Sampling: sampling,
		Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5}, Rows: 1,
	}
	if _, one := loss.(embedding.BradleyTerry); !one {
		s.Rows = 1 + rng.IntN(3)
	}
	switch unit {
	case pairs.OnePair:
		s.Kappa = 1
	case pairs.Group:
		s.Kappa = 1 + rng.IntN(len(list))
	}
	if sampling == pairs.Fixed && rng.IntN(2) == 0 {
		s.Budget.Delta, s.Noise = 0, pick(rng, privacy.LaplaceNoise, privacy.KNormNoise)
		if s.Noise == privacy.LaplaceNoise && rng.IntN(3) == 0 {
			s.Mode, s.Shrink = algorithms.Paper, false
		}
	}
	return s, list
}

// ofPairMoments is a specification with one release of moments in the place of gradients.
func ofPairMoments(s pairs.Spec, rng *rand.Rand) pairs.Spec {
	s.Mode, s.Method, s.Loss, s.Noise = algorithms.Certified, pairs.Moments, embedding.Contrastive{Margin: 1},
		privacy.KNormNoise
	s.Batch, s.Epochs, s.StepSize, s.Shrink, s.PrintedSteps, s.Sampling, s.Rows = 0, 0, 0, false, false, pairs.Fixed, 0
	s.Clip = s.Bound * pick(rng, 1e-6, 0.3, 1, 3)
	return s
}

// pairConfiguration attacks trainings on pairs: one individual with all labels of its
// pairs, or the records and labels that make up kappa pairs.
func pairConfiguration(s pairs.Spec, list []pairgraph.Pair, coins uint64) configuration {
	noise := "gaussian"
	if s.Budget.Delta == 0 {
		noise = s.Noise.String()
	}
	how := fmt.Sprintf("pairs, unit %s, %s batches", s.Unit, s.Sampling)
	if s.Method == pairs.Moments {
		how = fmt.Sprintf("pairs, unit %s, moments", s.Unit)
	}
	return configuration{
		area: "pairs", algorithm: how, loss: fmt.Sprintf("%s%+v", s.Loss.Name(), s.Loss), n: s.Individuals, d: s.Dim,
		options: fmt.Sprintf("%s %s kappa=%d pairs=%d batch=%d epochs=%d clip=%g shrink=%t steps=%g printed=%t rows=%d R=%g",
			s.Mode, noise, s.Kappa, s.Pairs, s.Batch, s.Epochs, s.Clip, s.Shrink, s.StepSize, s.PrintedSteps, s.Rows, s.Bound),
		plan: func() (hunt, error) {
			p, err := s.Plan()
			if err != nil {
				return nil, refusal(err)
			}
			g, err := pairgraph.New(s.Individuals, list)
			if err != nil {
				return nil, err
			}
			return paired{p.Spec, p, g, coins}.attack(s.Unit, s.Kappa), nil
		},
	}
}

// attack searches neighbours of a unit: those of at most kappa pairs.
func (a paired) attack(unit pairs.Unit, kappa int) hunt {
	return func(ctx context.Context, tries int, rng *rand.Rand) (finding, error) {
		return climb(ctx, tries, rng,
			func(int) pairInstance { return a.propose(unit, kappa, rng) },
			func(i pairInstance, rng *rand.Rand) pairInstance { return a.change(i, rng) },
			func(i pairInstance) (attempt, error) { return a.try(ctx, i) })
	}
}

// of are the pairs of an individual.
func (a paired) of(v int) (mine []int32) {
	for i, p := range a.graph.Pairs() {
		if int(p.A) == v || int(p.B) == v {
			mine = append(mine, int32(i))
		}
	}
	return mine
}

func (a paired) propose(unit pairs.Unit, kappa int, rng *rand.Rand) pairInstance {
	s := a.spec
	i := pairInstance{x: make([]float64, s.Individuals*s.Dim), labels: make([]bool, s.Pairs)}
	aligned := rng.IntN(2) == 0
	for v := range s.Individuals {
		if aligned { // opposite ends of one direction
			i.x[v*s.Dim] = s.Bound * float64(1-2*min(v, 1))
		} else {
			for k := range s.Dim {
				i.x[v*s.Dim+k] = s.Bound * rng.NormFloat64()
			}
		}
	}
	for p := range i.labels {
		i.labels[p] = rng.IntN(2) == 0
	}
	i.otherX, i.otherLabels = slices.Clone(i.x), slices.Clone(i.labels)
	replace := func(v int) {
		for k := range s.Dim {
			if i.otherX[v*s.Dim+k] = -i.x[v*s.Dim+k]; rng.IntN(3) == 0 {
				i.otherX[v*s.Dim+k] = s.Bound * rng.NormFloat64()
			}
		}
	}
	if unit == pairs.Individual {
		v := pick(rng, 0, rng.IntN(s.Individuals))
		i.changed = a.of(v)
		if rng.IntN(4) > 0 {
			replace(v)
		}
	} else {
		// Records of individuals as long as their pairs are at most kappa, then labels.
		for _, v := range rng.Perm(s.Individuals) {
			if more := union(i.changed, a.of(v)); len(more) <= kappa && rng.IntN(2) == 0 {
				i.changed = more
				replace(v)
			}
		}
		for _, p := range rng.Perm(s.Pairs) {
			if len(i.changed) < kappa {
				i.changed = union(i.changed, []int32{int32(p)})
			}
		}
	}
	opposite := rng.IntN(2) == 0
	for _, p := range i.changed {
		if opposite {
			i.labels[p], i.otherLabels[p] = true, false
		} else {
			i.otherLabels[p] = rng.IntN(2) == 0
		}
	}
	return i
}

// union is a sorted set.
func union(a, b []int32) []int32 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// change moves an individual in both data sets, where it is the same in both, or flips a
// label.
func (a paired) change(best pairInstance, rng *rand.Rand) pairInstance {
	s, i := a.spec, best
	i.x, i.otherX = slices.Clone(i.x), slices.Clone(i.otherX)
	i.labels, i.otherLabels = slices.Clone(i.labels), slices.Clone(i.otherLabels)
	v := rng.IntN(s.Individuals)
	row, other := i.x[v*s.Dim:(v+1)*s.Dim], i.otherX[v*s.Dim:(v+1)*s.Dim]
	same := slices.Equal(row, other)
	switch rng.IntN(3) {
	case 0:
		for k := range row {
			row[k] += s.Bound * 0.3 * rng.NormFloat64()
		}
		if same {
			copy(other, row)
		}
	case 1:
		p := rng.IntN(s.Pairs)
		i.labels[p] = !i.labels[p]
		i.otherLabels[p] = !i.otherLabels[p]
	case 2:
		if len(i.changed) > 0 {
			p := i.changed[rng.IntN(len(i.changed))]
			i.otherLabels[p] = !i.otherLabels[p]
		}
	}
	return i
}

// try trains on both. For fixed batches all releases together are compared with the joint
// certificate; for Poisson batches each is compared with twice the certificate for every
// changed pair that is in the batch.
func (a paired) try(ctx context.Context, i pairInstance) (attempt, error) {
	s := a.spec
	first, moved, violation, err := replayed(a.coins, func(side int, session privacy.Session) ([]float64, error) {
		x, labels := slices.Clone(i.x), slices.Clone(i.labels)
		if side == 1 {
			x, labels = slices.Clone(i.otherX), slices.Clone(i.otherLabels)
		}
		data, err := embedding.NewData(x, s.Dim, s.Norm(), s.Bound, a.graph, labels)
		if err != nil {
			return nil, err
		}
		return pairs.Train(ctx, data, nil, a.plan, session, 1+side, algorithms.Tracker{})
	})
	if err != nil {
		return attempt{}, err
	}
	certified := a.plan.Certificate().Sensitivity()
	if s.Sampling == pairs.Fixed {
		return attempt{ratio: attack.Joint(moved) / certified, violation: violation}, nil
	}
	worst := 0.0
	batches := first.Made(attack.Poisson)
	for b, m := range moved {
		hits := 0
		for _, p := range batches[b].Order {
			if slices.Contains(i.changed, p) {
				hits++
			}
		}
		if hits > 0 {
			worst = max(worst, m.By/(2*float64(hits)*certified))
		} else if m.By > 0 {
			violation = "a release without a changed pair moved"
		}
	}
	return attempt{ratio: worst, violation: violation}, nil
}

// pairJobs are several for every unit, sampling and loss.
func pairJobs(_ []candidate, round int) []job {
	var jobs []job
	for _, unit := range []pairs.Unit{pairs.Individual, pairs.Group, pairs.OnePair} {
		for _, sampling := range []pairs.Sampling{pairs.Fixed, pairs.Poisson} {
			for _, loss := range []embedding.ListLoss{embedding.Contrastive{Margin: 1}, embedding.Contrastive{Margin: 1e6},
				embedding.BradleyTerry{}} {
				for again := range 4 {
					jobs = append(jobs, job{fmt.Sprintf("pairs|%s|%s|%+v|%d|%d", unit, sampling, loss, again, round), planned(func(rng *rand.Rand) configuration {
						s, list := drawPairs(unit, sampling, loss, rng)
						return pairConfiguration(s, list, rng.Uint64())
					})})
				}
			}
		}
	}
	for _, unit := range []pairs.Unit{pairs.Individual, pairs.Group, pairs.OnePair} {
		for again := range 6 {
			jobs = append(jobs, job{fmt.Sprintf("pairs|%s|moments|%d|%d", unit, again, round), planned(func(rng *rand.Rand) configuration {
				s, list := drawPairs(unit, pairs.Fixed, embedding.Contrastive{Margin: 1}, rng)
				return pairConfiguration(ofPairMoments(s, rng), list, rng.Uint64())
			})})
		}
	}
	return jobs
}
