package pairs_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/pairs"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

func poissonSpec() pairs.Spec {
	s := certified()
	s.Sampling, s.Budget = pairs.Poisson, privacy.Budget{Epsilon: 1, Delta: 1e-5}
	return s
}

// drawn is near with batches of a seed.
type drawn struct {
	near
	coins *privacy.Source
}

func (d *drawn) SamplePoisson(dst []int32, n int, rate float64) ([]int32, error) {
	return d.coins.SamplePoisson(dst, n, rate)
}

// Given the coins, replacing an individual moves every release by at most twice the
// certificate for each of its pairs in the batch, and not at all, in its bits, if none is.
func TestPoissonReleasesMoveByTheirPairs(t *testing.T) {
	s := poissonSpec()
	p := planOf(t, s)
	x, g, labels := dataFor(t, s, 1)
	first := &attack.Recorder{Session: &drawn{coins: privacy.NewSeededSource(5)}}
	must.Get(pairs.Train(context.Background(), newData(t, s, x, g, labels), nil, p, first, 1, algorithms.Tracker{}))(t)
	batches, made := first.Made(attack.Poisson), first.Made(attack.Release)
	if len(batches) != p.Batches*s.Epochs || len(made) != len(batches) {
		t.Fatalf("%d batches and %d releases, want %d", len(batches), len(made), p.Batches*s.Epochs)
	}
	closest, none := 0.0, 0
	for v := range s.Individuals {
		other, flipped := slices.Clone(x), slices.Clone(labels)
		for k := range s.Dim {
			other[v*s.Dim+k] = -3 * x[v*s.Dim+k]
		}
		mine := map[int32]bool{}
		for i, e := range g.Pairs() {
			if int(e.A) == v || int(e.B) == v {
				flipped[i] = !flipped[i]
				mine[int32(i)] = true
			}
		}
		second := &attack.Recorder{Session: first.Session, Of: first}
		_, err := pairs.Train(context.Background(), newData(t, s, other, g, flipped), nil, p, second, 1, algorithms.Tracker{})
		must.Do(t, second.Outcome(err))
		for i, m := range second.Moves() {
			hits := 0
			for _, pair := range batches[i].Order {
				if mine[pair] {
					hits++
				}
			}
			if hits == 0 {
				none++
			}
			if bound := 2 * float64(hits) * p.Certificate().Sensitivity(); m.By > bound {
				t.Fatalf("individual %d, batch %d: moved %v with %d pairs, certified %v", v, i, m.By, hits, bound)
			} else if hits > 0 {
				closest = max(closest, m.By/bound)
			}
		}
	}
	if none == 0 || closest < 0.5 {
		t.Errorf("the bound is never used by more than %v; %d releases without a pair of the individual", closest, none)
	}
}

// The plan's epsilon is that of its events, below what full batches with the same noise
// give, and its noise below theirs; the report has both.
func TestPoissonPlan(t *testing.T) {
	s := poissonSpec()
	s.Pairs, s.Individuals, s.Batch = 8000, 4000, 200
	p := planOf(t, s)
	all, _ := p.Events()[0].(account.RepeatedEvent)
	event, ok := all.Event.(account.PoissonEvent)
	if !ok || event.Group != s.Kappa || event.Rate != 0.025 || all.Count != 3*40 || event.Relation != account.ReplaceOne {
		t.Fatalf("the plan charges %v", p.Events())
	}
	var a account.PLD
	must.Do(t, a.Compose(all))
	if got := a.Epsilon(1e-5); got != p.Guarantee.Epsilon || got > 1 || got < 0.99 {
		t.Errorf("epsilon %v, PLD says %v", p.Guarantee.Epsilon, got)
	}
	full := account.GDPEpsilon(2*5./200*math.Sqrt(120)/event.Event.(account.GaussianEvent).Sigma, 1e-5)
	if known := p.KnownBatches(); math.Abs(known-full) > 1e-6*full || !(known > 2*p.Guarantee.Epsilon) {
		t.Errorf("full batches have epsilon %v, want %v, far above %v", known, full, p.Guarantee.Epsilon)
	}
	if text := p.Report().Text(); !strings.Contains(text,
		"the guarantee needs secret batches; full batches with this noise would have epsilon") || !strings.Contains(text, "stay secret") {
		t.Errorf("the report does not say what the batches do:\n%s", text)
	}
	for name, change := range map[string]func(*pairs.Spec){
		"pure":        func(s *pairs.Spec) { s.Budget.Delta = 0 },
		"paper":       func(s *pairs.Spec) { s.Mode, s.Budget.Delta = algorithms.Paper, 0 },
		"input":       func(s *pairs.Spec) { s.Method, s.Budget.Delta = pairs.Input, 0 },
		"large kappa": func(s *pairs.Spec) { s.Kappa = account.MaxGroup + 1 },
		"unknown":     func(s *pairs.Spec) { s.Sampling = 7 },
	} {
		bad := s
		change(&bad)
		must.Fail(bad.Plan())(t, pairs.ErrPlan, name)
	}
}

// The same distribution of training: a non-private run on Poisson batches lowers the
// objective like one on fixed batches, and a private one returns what its releases say.
func TestPoissonTrains(t *testing.T) {
	s := poissonSpec()
	s.Mode, s.StepSize, s.Epochs = algorithms.NonPrivate, 2, 20
	s.Budget = privacy.Budget{}
	x, g, labels := dataFor(t, s, 3)
	data := newData(t, s, x, g, labels)
	objective := func(sampling pairs.Sampling) float64 {
		s.Sampling = sampling
		r := must.Get(pairs.Run(context.Background(), data, nil, planOf(t, s),
			pairs.Options{Options: algorithms.Options{Public: true, Source: privacy.NewSeededSource(2)}}))(t)
		return meanLoss(data, r.Weights)
	}
	start := meanLoss(data, make([]float64, s.Rows*s.Dim))
	poisson, fixed := objective(pairs.Poisson), objective(pairs.Fixed)
	if !(poisson < 0.95*start) || math.Abs(poisson-fixed) > 0.2*(start-fixed) {
		t.Errorf("objective %v on Poisson batches, %v on fixed ones, %v at 0", poisson, fixed, start)
	}
}
