package main

import (
	"fmt"
	"math"

	"dyad/algorithms/pairs"
	"dyad/privacy"
	"dyad/privacy/account"
)

// samplingDelta is the delta of all runs of -figure sampled.
const samplingDelta = 1e-5

// sampled compares batches drawn by secret coins with fixed ones of the same expected
// size and number, privacy of one individual in at most degreeCap pairs: at the same
// epsilon, and with the noise of the fixed ones. The comment lines have the epsilon that
// every noise gives.
func (s settings) sampled() ([]row, axes, error) {
	a := axes{"Accuracy of 5 nearest neighbours, one individual protected", "epsilon", "accuracy", "objective"}
	tasks, err := s.tasks()
	if err != nil {
		return nil, a, err
	}
	var jobs []func() ([]row, error)
	for _, e := range []float64{0.5, 1, 2, 4} {
		spec := tasks[0].spec() // public numbers: the same in all repeats
		spec.Unit, spec.Kappa = pairs.Individual, degreeCap
		spec.Budget = privacy.Budget{Epsilon: e, Delta: samplingDelta}
		fixed, err := spec.Plan()
		if err != nil {
			return nil, a, err
		}
		spec.Sampling = pairs.Poisson
		secret, err := spec.Plan()
		if err != nil {
			return nil, a, err
		}
		if spec.Budget.Epsilon, err = epsilonOf(secret, fixed.Noise()); err != nil {
			return nil, a, err
		}
		less, err := spec.Plan() // its noise is that of fixed, within 2e-4
		if err != nil {
			return nil, a, err
		}
		fmt.Printf("# epsilon %g: sigma %.5g on fixed batches and %.5g on Poisson ones; the noise of fixed batches gives "+
			"epsilon %.4g on Poisson ones, that of Poisson ones %.4g on full batches\n",
			e, fixed.Noise().NoiseNorm(1), secret.Noise().NoiseNorm(1), less.Guarantee.Epsilon, secret.KnownBatches())
		for _, m := range []struct {
			name string
			plan *pairs.Plan
		}{{"fixed batches", fixed}, {"Poisson batches at the same epsilon", secret}, {"Poisson batches with the noise of fixed ones", less}} {
			for i, t := range tasks {
				jobs = append(jobs, func() ([]row, error) {
					return t.measurePlan(m.name, e, m.plan, i)
				})
			}
		}
	}
	rows, err := s.each(jobs)
	return rows, a, err
}

// epsilonOf is what the plan's Poisson batches give with other noise.
func epsilonOf(p *pairs.Plan, noise privacy.Mechanism) (float64, error) {
	planned, ok := p.Events()[0].(account.RepeatedEvent)
	if !ok {
		return 0, fmt.Errorf("the plan has no batches: %v", p.Events())
	}
	var total account.Total
	if err := total.Compose(account.Repeat(noise.Event(p.Certificate()), planned.Count)); err != nil {
		return math.Inf(1), err
	}
	return total.Epsilon(samplingDelta), nil
}
