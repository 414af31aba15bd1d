package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/audit"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/engine/pairgraph"
	"dyad/privacy"
	"dyad/privacy/account"
)

// printed attacks the epsilon that a plan prints: the run is watched, and from the noise
// that it adds and the certificates, as if each were attained, follows how well the two
// worst neighbours can be told apart, without any accountant. The ratio is that delta at
// the printed epsilon over the printed delta, or epsilon over the printed one if delta is
// 0. That certificates are not exceeded is what the other areas attack.
func printed(g privacy.Guarantee, releases []attack.Call, parallel bool) (float64, error) {
	var square, largest, pure float64 // mu^2 together, of the costliest, and epsilon
	seen := map[string]bool{}         // joint certificates
	sampled, at := 0, mixture{}
	var gamma float64
	poisson := false
	for _, r := range releases {
		c := r.Certificate
		if c.Releases() > 1 || c.HiddenSteps() > 0 { // one certificate for all
			if seen[c.Derivation()] {
				continue
			}
			seen[c.Derivation()] = true
		}
		switch m := r.Noise.(type) {
		case privacy.Gaussian:
			mu := c.Sensitivity() / m.Sigma
			batch, records := c.Batch()
			rate, _ := c.Poisson()
			switch {
			case batch > 0:
				gamma, at.centres, sampled = float64(batch)/float64(records), []float64{0, mu}, sampled+1
			case rate > 0:
				gamma, at.centres, sampled, poisson = rate, []float64{0, mu}, sampled+1, true
			case c.HiddenSteps() > 0:
				e, ok := m.Event(c).(account.ConvergentEvent)
				if !ok {
					return 0, errors.New("hidden steps without an event of their own")
				}
				mu, _ = convergent(e.Gap, e.Contraction, e.Diameter, e.Steps).over(num(e.Sigma)).v.Float64()
				fallthrough
			default:
				square, largest = square+mu*mu, max(largest, mu*mu)
			}
		case privacy.KNorm:
			e := c.Sensitivity() / m.Scale
			pure, largest = pure+e, max(largest, e)
		case privacy.Laplace:
			e := c.Sensitivity() / m.Scale
			pure, largest = pure+e, max(largest, e)
		default:
			return 0, fmt.Errorf("noise %T is not known here", m)
		}
	}
	switch {
	case g.Kind == privacy.PureDP && parallel:
		return largest / g.Epsilon, nil
	case g.Kind == privacy.PureDP:
		return pure / g.Epsilon, nil
	case parallel:
		square = largest
	}
	one := mixture{weights: []float64{1}, centres: []float64{0}}
	if sampled == 0 {
		moved := mixture{weights: []float64{1}, centres: []float64{math.Sqrt(square)}}
		return divergence(binned(moved, one), 1)(g.Epsilon) / g.Delta, nil
	}
	at.weights = []float64{1 - gamma, gamma}
	other := one
	if poisson { // one pair of an owner: fewer than kappa, so a lower bound
		other = mixture{weights: at.weights, centres: []float64{0, -at.centres[1]}}
	}
	worst := 0.0
	for _, o := range []outcomes{binned(at, other), binned(other, at)} {
		worst = max(worst, divergence(o, sampled)(g.Epsilon)/g.Delta)
	}
	return worst, nil
}

// guaranteed is a configuration that tries one run.
func guaranteed(c configuration, run func(s privacy.Session) (privacy.Guarantee, bool, error)) configuration {
	c.area, c.loss = "guarantee", ""
	c.plan = func() (hunt, error) {
		session, err := quietly(1)
		if err != nil {
			return nil, err
		}
		watch := &attack.Recorder{Session: session}
		g, parallel, err := run(watch)
		if err != nil {
			return nil, err
		}
		return once(func(context.Context, int, *rand.Rand) (float64, error) {
			return printed(g, watch.Made(attack.Release, attack.Hidden), parallel)
		}), nil
	}
	return c
}

// guaranteeJobs watch runs of every algorithm at many budgets.
func guaranteeJobs(_ []candidate, round int) []job {
	linear := candidate{name: "linear", loss: audit.Linear{}, ranges: 1}
	var jobs []job
	add := func(name string, make func(rng *rand.Rand) configuration) {
		for again := range 6 {
			jobs = append(jobs, planned(make, "guarantee|%s|%d|%d", name, again, round))
		}
	}
	budget := func(rng *rand.Rand, pure bool) privacy.Budget {
		b := privacy.Budget{Epsilon: pick(rng, 0.05, 0.5, 1, 2, 8) * (1 + rng.Float64()), Delta: pick(rng, 1e-3, 1e-5, 1e-6)}
		if pure && rng.IntN(2) == 0 {
			b.Delta = 0
		}
		return b
	}
	for _, a := range algorithms.Catalog() {
		i := a.Info()
		if !i.Supports(algorithms.Certified) {
			continue
		}
		pure := len(i.PureModes) > 0
		add(i.Name, func(rng *rand.Rand) configuration {
			t := draw(candidate{name: "linear", loss: linearFor(i), ranges: 1}, false, rng)
			t.budget = budget(rng, pure)
			if ofMoments(a) && i.MetricsOnly {
				t.l2, t.levels, t.problem.LabelValues = 0, 2, 0
			}
			a, text := set(a, map[string]any{"Steps": 1 + rng.IntN(20), "BatchRecords": 2 + rng.IntN(max(1, t.n-2))})
			if i.NeedsL2 && t.l2 == 0 {
				t.l2 = 0.1
			}
			t.describe()
			c := configuration{algorithm: i.Name, options: text + " " + t.text, n: t.n, d: t.d}
			return guaranteed(c, func(s privacy.Session) (privacy.Guarantee, bool, error) {
				p, err := t.plan(a, algorithms.Certified)
				if err != nil {
					return privacy.Guarantee{}, false, err
				}
				data, _, err := t.records(t.propose(0, rng))
				if err != nil {
					return privacy.Guarantee{}, false, err
				}
				ev, err := p.Spec.Kernel.Bind(data)
				if err != nil {
					return privacy.Guarantee{}, false, err
				}
				_, err = a.Train(context.Background(), ev, p, s, algorithms.Tracker{})
				return p.Guarantee, p.Releases[0].Part > 0, errors.Join(err, ev.Close())
			})
		})
	}
	for _, a := range algorithms.StreamCatalog() {
		if !a.Info().Supports(algorithms.Certified) {
			continue
		}
		add(a.Info().Name, func(rng *rand.Rand) configuration {
			t := draw(linear, false, rng)
			t.budget = budget(rng, false)
			o := drawOnline(a, &t, rng)
			o.mode = algorithms.Certified
			o.describe(&t)
			c := configuration{algorithm: a.Info().Name, options: o.options + " " + t.text, n: t.n, d: t.d}
			return guaranteed(c, func(s privacy.Session) (privacy.Guarantee, bool, error) {
				p, err := o.planFor(t)
				if err != nil {
					return privacy.Guarantee{}, false, err
				}
				i := t.propose(0, rng)
				stream, err := algorithms.NewStream(p, s)
				for r := 0; r < t.n && err == nil; r++ {
					_, err = stream.Step(context.Background(), i.x[r*t.d:(r+1)*t.d], i.y[r])
				}
				return p.Guarantee, false, err
			})
		})
	}
	for _, sampling := range []pairs.Sampling{pairs.Fixed, pairs.Poisson} {
		add("pairs, "+sampling.String(), func(rng *rand.Rand) configuration {
			s, list := drawPairs(pairs.OnePair, sampling, embedding.Contrastive{Margin: 1}, rng)
			s.Mode, s.Budget.Epsilon = algorithms.Certified, budget(rng, false).Epsilon
			c := pairConfiguration(s, list, 1)
			return guaranteed(c, func(t privacy.Session) (privacy.Guarantee, bool, error) {
				p, err := s.Plan()
				if err != nil {
					return privacy.Guarantee{}, false, fmt.Errorf("%w: %w", errRefused, err)
				}
				g, err := pairgraph.New(s.Individuals, list)
				if err != nil {
					return privacy.Guarantee{}, false, err
				}
				data, err := embedding.NewData(make([]float64, s.Individuals*s.Dim), s.Dim, p.Spec.Norm(), s.Bound, g,
					make([]bool, s.Pairs))
				if err != nil {
					return privacy.Guarantee{}, false, err
				}
				_, err = pairs.Train(context.Background(), data, nil, p, t, 1, algorithms.Tracker{})
				return p.Guarantee, false, err
			})
		})
	}
	return jobs
}
