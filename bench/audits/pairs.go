package main

import (
	"fmt"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/algorithms/pairs"
	"dyad/engine/terms"
	"dyad/privacy"
)

// pairCase is a training on pairs; known says that its worst case is.
type pairCase struct {
	s     pairs.Spec
	known bool
}

// pairCases are all units, noises, losses, ways to form batches and methods.
func pairCases(b privacy.Budget) (all []pairCase) {
	star := pairs.Spec{
		Individuals: 16, Pairs: 24, Dim: 4, Bound: 1, Loss: terms.Contrastive{Margin: 1}, Rows: 2,
		Unit: pairs.Individual, Kappa: 4, Batch: 8, Epochs: 3, Clip: 1e-4, StepSize: 1e-9, Budget: b,
	}
	add := func(known bool, changes ...func(*pairs.Spec)) {
		s := star
		for _, change := range changes {
			change(&s)
		}
		all = append(all, pairCase{s, known})
	}
	group := func(s *pairs.Spec) { s.Unit = pairs.Group }
	one := func(s *pairs.Spec) { s.Unit, s.Kappa = pairs.OnePair, 1 }
	preferences := func(s *pairs.Spec) { s.Loss, s.Rows = terms.BradleyTerry{}, 1 }
	shrink := func(s *pairs.Spec) { s.Shrink, s.Clip, s.Rows = true, 1e9, 1 }
	alone := func(s *pairs.Spec) { s.Individuals, s.Pairs, s.Batch = s.Kappa+1, s.Kappa, s.Kappa }
	add(true)
	add(true, group)
	add(true, one)
	add(true, preferences)
	add(true, group, alone, shrink)
	add(true, shrink)
	moments := func(s *pairs.Spec) { s.Method, s.Rows, s.Batch, s.Epochs, s.StepSize = pairs.Moments, 0, 0, 0, 0 }
	add(true, moments)
	add(true, moments, group)
	add(true, moments, one)
	if b.Delta > 0 {
		add(false, func(s *pairs.Spec) { s.Sampling, s.Epochs = pairs.Poisson, 1 })
		add(false, group, alone, func(s *pairs.Spec) { s.Sampling, s.Batch, s.Epochs = pairs.Poisson, 2, 1 })
		return all
	}
	laplace := func(s *pairs.Spec) { s.Noise = privacy.LaplaceNoise }
	add(true, laplace)
	add(true, laplace, one)
	add(false, laplace, group, func(s *pairs.Spec) { s.Mode = algorithms.Paper })
	add(false, alone, func(s *pairs.Spec) { s.Method, s.ByClass = pairs.Input, true })
	add(false, alone, func(s *pairs.Spec) { s.Method = pairs.Input })
	add(false, alone, group, func(s *pairs.Spec) { s.Method = pairs.Labels })
	return all
}

// tupleCases are all losses and noises of tuples, and all pairs.
func tupleCases(b privacy.Budget) (all []pairs.Spec) {
	s := pairs.Spec{
		Individuals: 12, Dim: 4, Bound: 1, Rows: 2, Tuple: 4, Seed: 1, Batch: 1, Epochs: 2, Clip: 1e-4, StepSize: 1e-9, Budget: b,
		Loss: terms.MeanContrastive{Margin: 1},
	}
	all = append(all, s)
	for _, loss := range []terms.TupleLoss{terms.Triplet{Margin: 1}, terms.NPair{Temperature: 1}} {
		one := s // in several tuples the drawing mixes classes
		one.Loss, one.Individuals, one.Tuple = loss, 6, 6
		all = append(all, one)
	}
	if b.Delta == 0 {
		l1 := s
		l1.Noise = privacy.LaplaceNoise
		all = append(all, l1)
	}
	s.AllPairs, s.Tuple, s.Seed, s.Batch = true, 0, 0, 0
	return append(all, s)
}

// pairRows audits training on pairs and tuples.
func (t *table) pairRows() error {
	for _, b := range []privacy.Budget{{Epsilon: 1, Delta: 1e-5}, {Epsilon: 4, Delta: 1e-5}, {Epsilon: 1}, {Epsilon: 4}} {
		for i, c := range pairCases(b) {
			p, err := c.s.Plan()
			if err != nil {
				return fmt.Errorf("pairs, case %d: %w", i, err)
			}
			if !t.wants("pairs") && !t.wants(p.Algorithm) {
				continue
			}
			target, err := audit.WorstPairs(t.ctx, p, 0)
			if err != nil {
				return err
			}
			if err := t.audit(target, audit.Options{Runs: t.whole, Seed: t.seedOf("pairs", i, b)}, c.known); err != nil {
				return err
			}
		}
		for i, s := range tupleCases(b) {
			p, err := s.Plan()
			if err != nil {
				return fmt.Errorf("tuples, case %d: %w", i, err)
			}
			if !t.wants(p.Algorithm) {
				continue
			}
			target, err := audit.WorstTuples(t.ctx, p)
			if err != nil {
				return err
			}
			if err := t.audit(target, audit.Options{Runs: t.whole, Seed: t.seedOf("tuples", i, b)}, true); err != nil {
				return err
			}
		}
	}
	return nil
}
