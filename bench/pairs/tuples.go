package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/privacy"
)

// Public constants of -figure tuples: records as the program encodes them, of Euclidean
// norm at most 1.
const (
	tupleMargin      = 1 // of distances
	tripletMargin    = 0.5
	tupleTemperature = 0.1
	tupleSize        = 4
	tupleEpochs      = 10
	tupleClip        = 0.2
	tupleDelta       = 1e-5
	tupleStep        = 50 // eta0
	// All pairs take the square of the records in time: few epochs and repeats.
	allPairsEpochs, allPairsRepeats = 3, 5
)

// classed is one repeat of a learner from classes.
type classed struct {
	*task
	classes []int32
}

// learners from classes; all protect one record with its class. Steps without noise were
// tried on other repeats.
var learners = []struct {
	name      string
	exactStep float64
	change    func(s *pairs.Spec)
}{
	{"triplet", 10, func(s *pairs.Spec) { s.Loss = embedding.Triplet{Margin: tripletMargin} }},
	{"N-pair", 2, func(s *pairs.Spec) { s.Loss = embedding.NPair{Temperature: tupleTemperature} }},
	{"contrastive in tuples", tupleStep, func(*pairs.Spec) {}},
	{"contrastive, all pairs", tupleStep, func(s *pairs.Spec) { s.AllPairs, s.Tuple, s.Epochs = true, 0, allPairsEpochs }},
}

// spec is the common part of all learners.
func (c *classed) spec(epsilon float64) pairs.Spec {
	s := pairs.Spec{
		Individuals: len(c.classes), Dim: c.d, Bound: 1, Rows: rowsOfW, Loss: embedding.Contrastive{Margin: tupleMargin},
		Tuple:  tupleSize,
		Epochs: tupleEpochs, Clip: tupleClip, StepSize: tupleStep,
		Budget: privacy.Budget{Epsilon: epsilon, Delta: tupleDelta},
	}
	if epsilon == 0 {
		s.Mode = algorithms.NonPrivate
	}
	return s
}

// learn trains from classes and gives the error of 5 nearest neighbours.
func (c *classed) learn(s pairs.Spec, seed int) (float64, error) {
	p, err := s.Plan()
	if err != nil {
		return 0, err
	}
	data, err := embedding.NewData(slices.Clone(c.x), c.d, s.Norm(), s.Bound, c.graph, slices.Clone(c.labels))
	if err != nil {
		return 0, err
	}
	r, err := pairs.Run(context.Background(), data, c.classes, p,
		pairs.Options{Options: algorithms.Options{Public: true, Source: privacy.NewSeededSource(uint64(seed) + 1)}})
	if err != nil {
		return 0, err
	}
	accuracy, err := c.accuracy(r.Weights)
	return 1 - accuracy, err
}

// listed trains on the drawn pairs of the task with the same guarantee, the error as well.
func (c *classed) listed(epsilon float64, seed int) (float64, error) {
	s := c.task.spec()
	s.Loss, s.Unit, s.Kappa = embedding.Contrastive{Margin: tupleMargin}, pairs.Individual, degreeCap
	s.Batch, s.Epochs, s.Clip, s.StepSize = len(c.labels), tupleEpochs, tupleClip, tupleStep
	s.Budget = privacy.Budget{Epsilon: epsilon, Delta: tupleDelta}
	if epsilon == 0 {
		s.Mode = algorithms.NonPrivate
	}
	r, err := c.train(s, seed, nil, 0)
	if err != nil {
		return 0, err
	}
	accuracy, err := c.accuracy(r.w)
	return 1 - accuracy, err
}

// tuples compares learners from classes: the error of 5 nearest neighbours by epsilon, in
// the identity, in the metric of contrastive pairs, and in the metrics of tuples and of all
// pairs, private and not.
func (s settings) tuples() ([]row, axes, error) {
	a := axes{"Error of 5 nearest neighbours, one record protected, delta 1e-5", "epsilon", "error", ""}
	s.encoded = true
	tasks, err := s.tasks()
	if err != nil {
		return nil, a, err
	}
	epsilons := []float64{0.5, 1, 2, 4}
	var jobs []func() ([]row, error)
	for i, t := range tasks {
		c := &classed{t, t.numbers()}
		flat := func(name string, value func() (float64, error)) {
			jobs = append(jobs, func() ([]row, error) {
				v, err := value()
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				var out []row
				for _, e := range epsilons {
					out = append(out, row{name, e, i, v, math.NaN()})
				}
				return out, nil
			})
		}
		private := func(name string, value func(epsilon float64) (float64, error)) {
			for _, e := range epsilons {
				jobs = append(jobs, func() ([]row, error) {
					v, err := value(e)
					if err != nil {
						return nil, fmt.Errorf("%s: %w", name, err)
					}
					return []row{{name, e, i, v, math.NaN()}}, nil
				})
			}
		}
		flat("identity", func() (float64, error) { v, err := c.accuracy(nil); return 1 - v, err })
		flat("random start", func() (float64, error) {
			w := make([]float64, rowsOfW*c.d)
			privacy.NewSeededSource(uint64(i)+1).UniformBall(w, math.Sqrt(rowsOfW))
			v, err := c.accuracy(w)
			return 1 - v, err
		})
		flat("contrastive pairs, not private", func() (float64, error) { return c.listed(0, i) })
		private("contrastive pairs", func(e float64) (float64, error) { return c.listed(e, i) })
		for _, l := range learners {
			if all := c.spec(1); i >= allPairsRepeats {
				if l.change(&all); all.AllPairs {
					continue
				}
			}
			run := func(e float64) (float64, error) {
				spec := c.spec(e)
				if e == 0 {
					spec.StepSize = l.exactStep
				}
				l.change(&spec)
				return c.learn(spec, i)
			}
			flat(l.name+", not private", func() (float64, error) { return run(0) })
			private(l.name, run)
		}
	}
	rows, err := s.each(jobs)
	return rows, a, err
}
