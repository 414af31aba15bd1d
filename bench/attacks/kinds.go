package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"dyad/algorithms/attack/kinds"
	"dyad/algorithms/audit"
	"dyad/algorithms/pairs"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/engine/embedding"
	"dyad/privacy"
)

// ofJobs attacks a kind of run by what its plan prints and its job alone: each try replaces a record and asks audit.OnJobs how far the rows of
// the plan move over what their certificates allow. Jobs of both sides are drawn anew each time; the first of them plans.
func ofJobs(row kinds.Row) func(rng *rand.Rand) configuration {
	return planned(func(rng *rand.Rand) configuration {
		text, n, d, jobs := row.Draw(rng, kinds.Size{})
		c := configuration{area: "kinds", algorithm: row.Name, options: text, n: n, d: d}
		c.plan = func() (hunt, error) {
			if _, _, err := jobs(rand.New(rand.NewPCG(1, 1))); err != nil {
				return nil, refusal(err)
			}
			return func(ctx context.Context, tries int, rng *rand.Rand) (found finding, err error) {
				for range tries {
					data, neighbour, err := jobs(rng)
					if err != nil {
						return found, err
					}
					move, err := audit.OnJobs(data, neighbour, "").Move(ctx)
					if ctx.Err() != nil {
						return found, ctx.Err()
					}
					a := attempt{ratio: move}
					if err != nil {
						a.violation = err.Error()
					}
					found.add(a)
				}
				return found, nil
			}, nil
		}
		return c
	})
}

// softmaxConfiguration asks for the worst neighbours that audits know of a batch softmax, of linear maps and of networks.
func softmaxConfiguration(rng *rand.Rand) configuration {
	m := 4 + rng.IntN(12)
	temperature, both := pick(rng, 0.2, 0.5, 1, 2), rng.IntN(2) == 0
	s := pairs.Spec{
		Individuals: 2 * m, Pairs: m, Dim: 4, Bound: 1, Kappa: 1, Sampling: pairs.Poisson, Batch: m, Epochs: 1, Clip: 1e-5,
		Loss: embedding.InfoNCE{Temperature: temperature, Symmetric: both},
		Unit: pick(rng, pairs.Individual, pairs.OnePair), Budget: privacy.Budget{Epsilon: 1, Delta: 1e-5},
	}
	net := embedding.MLP{In: 4, Out: 2}
	if rng.IntN(2) == 0 {
		net.Hidden = []int{3}
	}
	c := configuration{area: "kinds", algorithm: "softmax", loss: s.Loss.Name(), n: s.Individuals, d: s.Dim,
		options: fmt.Sprintf("t=%g unit=%s pairs=%d hidden=%v", temperature, s.Unit, m, net.Hidden)}
	c.plan = func() (hunt, error) {
		network, err := embedding.NewMLP(net)
		if err != nil {
			return nil, err
		}
		s.Network = &pairs.Network{Model: embedding.Model{Network: network, Output: embedding.Output{Unit: true}},
			Start: network.Start(3), Origin: "public start of seed 3"}
		p, err := s.Plan()
		if err != nil {
			return nil, refusal(err)
		}
		return func(ctx context.Context, _ int, _ *rand.Rand) (found finding, err error) {
			target, err := audit.WorstPairs(ctx, p, 0)
			if err != nil {
				return found, err
			}
			move, err := target.Move(ctx)
			found.add(attempt{ratio: move})
			return found, err
		}, nil
	}
	return c
}

// encodedConfiguration looks for raw rows that an encoder with a basis and interactions maps outside of the unit ball, on which every certificate
// rests.
func encodedConfiguration(rng *rand.Rand) configuration {
	s := dataset.Schema{Version: 1, DataID: "d", Basis: pick(rng, "curve:2", "curve:6", "cosine:8", "none"),
		Missing: &dataset.Missing{Policy: dataset.MissingMiddle}}
	d := 2 + rng.IntN(3)
	for k := range d {
		s.Columns = append(s.Columns, dataset.Column{Name: fmt.Sprint("c", k), Range: []float64{-1, pick(rng, 1.0, 1e6)}})
	}
	for k := range rng.IntN(d) {
		s.Interactions = append(s.Interactions, []string{fmt.Sprint("c", k), fmt.Sprint("c", k+1)})
	}
	s.Columns = append(s.Columns, dataset.Column{Name: "y", Role: dataset.RoleLabel, Positive: "1", Negative: "0"})
	name := "basis of curves"
	if len(s.Interactions) > 0 {
		name = "interactions of curves"
	}
	return configuration{
		area: "kinds", algorithm: name, options: fmt.Sprintf("basis=%q interactions=%d", s.Basis, len(s.Interactions)), n: 1,
		d: d,
		plan: func() (hunt, error) {
			e, err := dataset.NewEncoder(&s)
			if err != nil {
				return nil, err
			}
			bound := engine.UnitBounds().FeatureNorm
			return func(_ context.Context, tries int, rng *rand.Rand) (found finding, err error) {
				for range tries {
					row := make([]string, d)
					for k := range row {
						row[k] = pick(rng, "-1", "1", "1e300", "-1e300", "0", "", fmt.Sprint(rng.NormFloat64()),
							fmt.Sprint(1e6*rng.Float64()))
					}
					x, err := e.Encode(row)
					if err != nil {
						return found, err
					}
					norm := 0.0
					for _, v := range x {
						norm = math.Hypot(norm, v)
					}
					found.add(attempt{ratio: norm / bound})
				}
				return found, nil
			}, nil
		},
	}
}

// gradientOf attacks mean gradients of a loss with a mechanism of its own: an envelope of a loss with kinks, or pairs in float32.
func gradientOf(name string) func(rng *rand.Rand) configuration {
	return planned(func(rng *rand.Rand) configuration {
		c := candidate{name: "logistic kernel", loss: engine.Logistic{}, ranges: len(ranges)}
		if name == "envelope" {
			phi, err := engine.NewExpression("hinge", "max(0, 1-u)", engine.ExpressionOptions{})
			if err != nil {
				return configuration{plan: func() (hunt, error) { return nil, err }}
			}
			envelope, err := engine.NewEnvelope(phi, pick(rng, 0.1, 0.9), -4.001, 4.001)
			if err != nil {
				return configuration{plan: func() (hunt, error) { return nil, err }}
			}
			c = candidate{name: envelope.Text(), loss: engine.Score{Of: envelope}, ranges: 1}
		}
		t := draw(c, false, rng)
		t.n, t.problem.N, t.problem.Groups = min(t.n, 40), min(t.n, 40), nil
		if name == "float32" {
			t.backend.Method, t.backend.Float32 = cpu.Direct, true
		} else {
			t.backend.Method = cpu.Direct
		}
		t.describe()
		made := gradient(c, t)
		made.area, made.algorithm = "kinds", name
		return made
	})
}

// kindJobs attack every kind of run that is not a training by the same call.
func kindJobs(_ []candidate, round int) (jobs []job) {
	add := func(name string, times int, make func(rng *rand.Rand) configuration) {
		for i := range times {
			jobs = append(jobs, job{fmt.Sprintf("kinds|%s|%d|%d", name, i, round), make})
		}
	}
	for _, row := range kinds.Jobs() {
		add(row.Name, 6, ofJobs(row))
	}
	add("softmax", 3, planned(softmaxConfiguration))
	add("encoding", 6, encodedConfiguration)
	add("envelope", 3, gradientOf("envelope"))
	add("float32", 3, gradientOf("float32"))
	add("local network", 3, planned(localNetwork))
	return jobs
}
