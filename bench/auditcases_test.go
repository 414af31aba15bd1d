package bench_test

import (
	"errors"
	"fmt"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/audit"
	"dyad/algorithms/pairs"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/embedding"
	"dyad/privacy"
)

// variant is an online algorithm with options.
type variant struct {
	a    algorithms.Stream
	o    algorithms.StreamOptions
	mode algorithms.Mode
	l2   float64
	loss engine.Loss
}

// variants are all online algorithms with their default options, and what else a
// certificate tells apart: the reading, batches, buffers, the paper's noise. The paper's
// steps begin after 16 L^2/alpha^2 records, so alpha is large there.
func (t *auditTable) variants() []variant {
	var all []variant
	for _, a := range algorithms.StreamCatalog() {
		if !a.Info().Supports(algorithms.Certified) {
			continue
		}
		l2 := 0.0
		if a.Info().NeedsL2 {
			l2 = 0.1
		}
		for _, loss := range []engine.Loss{audit.Linear{}, engine.Logistic{}, audit.LinearMetric{}, engine.MahalanobisLogistic{}} {
			all = append(all, variant{a: a, l2: l2, loss: loss})
		}
	}
	if !t.full {
		return all
	}
	batches := algorithms.StreamOptions{Batch: 4, Buffer: 6}
	reservoir := algorithms.StreamOptions{Batch: 2, Buffer: 4, Reservoir: true}
	for _, loss := range []engine.Loss{audit.Linear{}, engine.Logistic{}} {
		all = append(all,
			variant{a: algorithms.OnPairC{Reading: algorithms.SecretState}, loss: loss},
			variant{a: algorithms.OnPairStrC{Reading: algorithms.SecretState}, l2: 0.1, loss: loss},
			variant{a: algorithms.OnPairC{}, o: batches, loss: loss},
			variant{a: algorithms.OnPairC{}, o: reservoir, loss: loss},
		)
	}
	kinked := engine.Score{Of: attack.KinkLosses(0)[0]}
	for _, a := range []algorithms.Stream{algorithms.OnPairC{}, algorithms.DPFTRL{}} {
		all = append(all, variant{a: a, o: algorithms.StreamOptions{Batch: 8, BurnIn: 4}, loss: kinked})
	}
	return append(all,
		variant{a: algorithms.OnPairStrC{}, mode: algorithms.Paper, l2: 10, loss: engine.Logistic{}},
		variant{a: algorithms.OnPairC{PaperAlpha: 200}, mode: algorithms.Paper, loss: engine.Logistic{}},
	)
}

// streamRows audits one online algorithm at one budget.
func (t *auditTable) streamRows(v variant, b privacy.Budget) error {
	v.o.Horizon = t.few
	radius := 1.0
	if _, strong := v.a.(algorithms.OnPairStrC); strong && v.loss == (audit.Linear{}) {
		radius = 1000 // a projection would take part of the move: its steps do not grow with the radius
	}
	if _, kinked := v.loss.(engine.Score); kinked {
		radius = 0.1
	}
	s, err := algorithms.NewStreamSpec(cpu.Backend{Workers: 1}, engine.Problem{D: t.d, Bounds: engine.UnitBounds(), Loss: v.loss, Radius: radius}, v.o, v.l2, b, v.mode)
	if err != nil {
		return err
	}
	p, err := v.a.Plan(s)
	if errors.Is(err, algorithms.ErrAssumption) {
		fmt.Fprintf(t.out, "# %s, %s mode, %s loss, n = %d: %v\n", v.a.Info().Name, v.mode, v.loss.Name(), t.few, err)
		return nil
	}
	if err != nil {
		return err
	}
	seed := t.seedOf(v.a.Info().Name, v.mode, v.loss.Name(), b, p.Reading(), v.o)
	target, err := audit.WorstStream(t.ctx, p, seed)
	if err != nil {
		return err
	}
	for _, o := range []audit.Options{
		{Access: audit.WhiteBox, Runs: t.streams}, {Access: audit.BlackBox, Runs: t.streams / 2},
	} {
		o.Seed = seed
		if err := t.audit(target, o, v.loss == (audit.Linear{}) && v.mode == algorithms.Certified && o.Access == audit.WhiteBox && !v.o.Reservoir); err != nil {
			return err
		}
	}
	return nil
}

// pairCase is a training on pairs; known says that its worst case is.
type pairCase struct {
	s     pairs.Spec
	known bool
}

// pairCases are all units, noises, losses, ways to form batches and methods.
func pairCases(b privacy.Budget) (all []pairCase) {
	star := pairs.Spec{
		Individuals: 16, Pairs: 24, Dim: 4, Bound: 1, Loss: embedding.Contrastive{Margin: 1}, Rows: 2,
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
	preferences := func(s *pairs.Spec) { s.Loss, s.Rows = embedding.BradleyTerry{}, 1 }
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
		Loss: embedding.Contrastive{Margin: 1},
	}
	all = append(all, s)
	for _, loss := range []embedding.TupleLoss{embedding.Triplet{Margin: 1}, embedding.NPair{Temperature: 1}} {
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
func (t *auditTable) pairRows() error {
	for _, b := range t.budgets {
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
