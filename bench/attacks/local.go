package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"dyad/algorithms/local"
	"dyad/algorithms/local/localaudit"
	"dyad/engine"
	randomiser "dyad/privacy/local"
)

// protocol draws a local protocol of a method.
func protocol(method local.Method, epsilon float64, rng *rand.Rand) (local.Protocol, string, error) {
	text := pick(rng, "-u", "log1p(exp(-u))")
	loss, err := engine.NewExpression("formula", text, engine.ExpressionOptions{})
	p := local.Protocol{
		Method: method, Loss: loss, Dim: 1 + rng.IntN(3), FeatureNorm: 1, Radius: 1, L2: 0.1, Users: 100, Epochs: 3,
		Epsilon: epsilon, ResponseShare: pick(rng, 0, 0, 0.5, 0.9), Pairs: pick(rng, 1, 1, 2, 8),
		Threshold: pick(rng, -2, 0.3, 0.3),
		Bias:      pick(rng, 0, 2.0), // 2 selects by the label alone
	}
	return p, text, err
}

// messages attacks the messages of users (localaudit): the ratio is the epsilon that they show over the printed one.
func messages(c configuration, p local.Protocol) configuration {
	c.n, c.d = p.Users, p.Dim
	c.plan = func() (hunt, error) {
		plan, err := p.Plan()
		if err != nil {
			return nil, refusal(err)
		}
		return func(ctx context.Context, tries int, rng *rand.Rand) (found finding, err error) {
			r, err := localaudit.Attack(ctx, plan, localaudit.Options{Runs: 300 * tries, Visits: 1, Confidence: 0.999999,
				Seed: rng.Uint64()})
			if err != nil {
				return found, err
			}
			found.add(attempt{ratio: r.LowerBound / r.Claim})
			return found, nil
		}, nil
	}
	return c
}

// localNetwork draws a protocol for a network.
func localNetwork(rng *rand.Rand) configuration {
	method := pick(rng, local.Prestige, local.PrestigeParticipation, local.DJW)
	linear, err := engine.NewExpression("linear", "-u", engine.ExpressionOptions{})
	if err != nil {
		return configuration{plan: func() (hunt, error) { return nil, err }}
	}
	p := local.Protocol{
		Method: method, Loss: linear, Users: 1 << 20, Dim: 2, FeatureNorm: 1, Epochs: 3, Epsilon: pick(rng, 0.5, 1, 2),
		Pairs:   pick(rng, 1, 8),
		Network: &local.Network{Hidden: 4, Seed: rng.Uint64(), Clip: 0.5},
	}
	return messages(configuration{
		area: "kinds", algorithm: "local network", options: fmt.Sprintf("%s eps=%g pairs=%d hidden=%d", method, p.Epsilon,
			p.Pairs, p.Network.Hidden), cost: 10,
	}, p)
}

// exactLaws are mechanisms whose log-ratio follows from what they say of themselves.
func exactLaws() []struct {
	name  string
	ratio func(epsilon float64, rng *rand.Rand) (float64, error)
} {
	return []struct {
		name  string
		ratio func(epsilon float64, rng *rand.Rand) (float64, error)
	}{
		{"randomised response", func(epsilon float64, rng *rand.Rand) (float64, error) {
			m := randomiser.RandomizedResponse{Epsilon: epsilon, Categories: 2 + rng.IntN(9)}
			p := m.Truth()
			return math.Log(p / ((1 - p) / float64(m.Categories-1))), m.Validate()
		}},
		// In one dimension a message is a sign, P(+ | g) = 1/2 + g/(2 Scale) as it is
		// unbiased, and g = +-Bound is worst.
		{"private direction, d = 1", func(epsilon float64, rng *rand.Rand) (float64, error) {
			m := randomiser.Direction{Dim: 1, Bound: scale(rng), Epsilon: epsilon, Pairs: 1 + rng.IntN(6)}
			m.Favoured = 1 + rng.IntN(m.Pairs)
			c, err := m.Channel()
			if err != nil {
				return 0, err
			}
			s := m.Bound / c.Scale()
			return math.Log((1 + s) / (1 - s)), nil
		}},
		{"participation and direction", func(epsilon float64, rng *rand.Rand) (float64, error) {
			m := randomiser.Direction{Dim: 1 + rng.IntN(3), Bound: scale(rng), Pairs: 1 + rng.IntN(6)}
			m.Favoured = 1 + rng.IntN(m.Pairs)
			r, c, err := m.Participation(epsilon, pick(rng, 0, 0, 0.3, 0.6, 0.9))
			if err != nil {
				return 0, err
			}
			return participation(r, c), nil
		}},
		{"private vector", func(epsilon float64, rng *rand.Rand) (float64, error) {
			m := randomiser.Vector{Dim: 1 + rng.IntN(9), Bound: scale(rng), Epsilon: epsilon}
			return 2 * m.Bound / m.Laplace().Scale, m.Validate()
		}},
	}
}

// directionLaw is the probability of one candidate of a private direction, given the seed,
// from a vector of norm Bound: of each that the vector favours, and of each other one. From 0
// all 2m are equally likely.
func directionLaw(m randomiser.Direction) (favoured, other float64) {
	all := float64(m.Favoured)*math.Exp(m.Epsilon) + float64(2*m.Pairs-m.Favoured)
	return math.Exp(m.Epsilon) / all, 1 / all
}

// participation is the largest log-ratio of the probabilities of a message, silence included,
// over all pairs of records: two that take part with opposite vectors of norm Bound, one that
// does with the vector 0, and one that does not.
func participation(r randomiser.RandomizedResponse, c *randomiser.DirectionChannel) float64 {
	yes, m := r.Truth(), c.Mechanism()
	favoured, other := directionLaw(m)
	zero := 1 / float64(2*m.Pairs)
	// Silence, a candidate that the first vector favours, one that the second does, and
	// one of neither (which has a law without one, too, for k = m).
	laws := [][4]float64{
		{1 - yes, yes * favoured, yes * other, yes * other},
		{1 - yes, yes * other, yes * favoured, yes * other},
		{1 - yes, yes * zero, yes * zero, yes * zero},
		{yes, (1 - yes) * zero, (1 - yes) * zero, (1 - yes) * zero},
	}
	worst := 0.0
	for _, p := range laws {
		for _, q := range laws {
			for x := range p {
				worst = max(worst, math.Log(p[x]/q[x]))
			}
		}
	}
	return worst
}

// localJobs are several for every private method, and one for every exact law.
func localJobs(_ []candidate, round int) []job {
	var jobs []job
	for _, method := range local.Methods() {
		// PrestigePrinted has no guarantee for private features, and the others none at all.
		if method == local.PrestigePrinted || method == local.Curriculum || method == local.SGD {
			continue
		}
		for _, epsilon := range []float64{0.5, 1, 2, 4} {
			for again := range 4 {
				jobs = append(jobs, job{fmt.Sprintf("local|%s|%g|%d|%d", method, epsilon, again, round), planned(func(rng *rand.Rand) configuration {
					p, text, err := protocol(method, epsilon, rng)
					if err != nil {
						return configuration{plan: func() (hunt, error) { return nil, err }}
					}
					return messages(configuration{
						area: "local", algorithm: method.String(), loss: text,
						options: fmt.Sprintf("eps=%g share=%g pairs=%d threshold=%g bias=%g", p.Epsilon, p.ResponseShare, p.Pairs,
							p.Threshold, p.Bias),
					}, p)
				})})
			}
		}
	}
	for _, law := range exactLaws() {
		jobs = append(jobs, job{fmt.Sprintf("local|%s|%d", law.name, round), func(*rand.Rand) configuration {
			return configuration{area: "local", algorithm: law.name, options: "exact law", plan: func() (hunt, error) {
				return func(_ context.Context, tries int, rng *rand.Rand) (finding, error) {
					var found finding
					for range tries {
						epsilon := 0.01 + 6*rng.Float64()
						ratio, err := law.ratio(epsilon, rng)
						if err != nil {
							return found, err
						}
						found.add(attempt{ratio: ratio / epsilon})
					}
					return found, nil
				}, nil
			}}
		}})
	}
	return jobs
}
