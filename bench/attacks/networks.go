package main

import (
	"fmt"
	"math/rand/v2"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/embedding"
	"dyad/kernels"
	"dyad/privacy"
)

// engine is what computes the gradients of the task's loss.
func (t task) engine() engine.Backend {
	if _, ok := t.problem.Loss.(embedding.Loss); ok {
		return embedding.Backend{Workers: t.backend.Workers, Method: t.backend.Method, Variant: t.backend.Variant}
	}
	return t.backend
}

// scalars are functions of margins for networks: smooth, falling and not, and with kinks.
var scalars = []string{"log(1 + exp(-u))", "tanh(u)", "max(0, 0.4 - u)", "abs(u)", "-u"}

// drawNetwork draws a network, a pair loss and everything else of a task. Layers are small and their balls
// narrow, so that the bound of slopes is close to what they reach.
func drawNetwork(rng *rand.Rand) (candidate, task, error) {
	var t task
	t.n, t.d = 2+rng.IntN(11), 1+rng.IntN(3)
	at := ranges[rng.IntN(len(ranges))]
	t.bounds, t.levels, t.sparse = at.bounds, 2, rng.IntN(8) == 0
	if rng.IntN(3) == 0 {
		t.persons = pick(rng, 1, 3)
	}
	net := embedding.MLP{In: t.d, Out: 1 + rng.IntN(3), Activation: pick(rng, embedding.Tanh, embedding.Softplus)}
	for range rng.IntN(3) {
		net.Hidden = append(net.Hidden, 1+rng.IntN(4))
	}
	for range len(net.Hidden) + 1 {
		net.Radii = append(net.Radii, pick(rng, 0.3, 1, 4))
	}
	model := embedding.Model{Output: pick(rng, embedding.Output{}, embedding.Output{Unit: true},
		embedding.Output{Within: 0.5})}
	var of engine.Scalar = engine.Logistic{}
	if text := pick(rng, scalars...); text != scalars[0] {
		var err error
		if of, err = engine.NewExpression(text, text, engine.ExpressionOptions{}); err != nil {
			return candidate{}, t, err
		}
	}
	pairs := []embedding.PairLoss{embedding.Bilinear{Of: of}, embedding.Distance{Of: of},
		embedding.Contrastive{Margin: pick(rng, 0.5, 2)}}
	if rng.IntN(2) == 0 {
		net.Out, pairs = 1, []embedding.PairLoss{embedding.Score{Of: of}}
	}
	var err error
	if model.Network, err = embedding.NewMLP(net); err != nil {
		return candidate{}, t, err
	}
	loss := embedding.Loss{Model: model, Pair: pick(rng, pairs...),
		Clip: t.bounds.FeatureNorm * pick(rng, 0.1, 0.5, 1, 10), Seed: rng.Uint64()}
	if rng.IntN(3) == 0 {
		loss.PairClip = loss.Clip
	}
	t.problem = engine.Problem{N: t.n, D: t.d, Bounds: t.bounds, Loss: loss, Radius: loss.Radius(), PersonRows: t.persons}
	t.backend = cpu.Backend{Workers: 1 + rng.IntN(2), Variant: pick(rng, kernels.Variants()...)}
	t.budget = privacy.Budget{Epsilon: 1, Delta: 1e-5}
	t.network = fmt.Sprintf("%s unit=%t within=%g radii=%v C=%.3g pair-clip=%.3g", model.Network.Name(), model.Output.Unit,
		model.Output.Within, net.Radii, loss.Clip, loss.PairClip)
	t.describe()
	return candidate{name: loss.Pair.Name(), loss: loss}, t, nil
}

// networkJobs replace records and persons under single gradients of networks, and under runs of the
// algorithms that add noise to every gradient.
func networkJobs(_ []candidate, round int) []job {
	add := func(name string, make func(c candidate, t task, rng *rand.Rand) configuration) job {
		return job{fmt.Sprintf("networks|%s|%d", name, round), planned(func(rng *rand.Rand) configuration {
			c, t, err := drawNetwork(rng)
			if err != nil {
				return configuration{plan: func() (hunt, error) { return nil, err }}
			}
			made := make(c, t, rng)
			made.area, made.cost = "networks", 4*made.cost
			return made
		})}
	}
	var jobs []job
	for i := range 30 {
		jobs = append(jobs, add(fmt.Sprintf("gradient %d", i),
			func(c candidate, t task, _ *rand.Rand) configuration { return gradient(c, t) }))
	}
	for _, a := range []algorithms.Algorithm{algorithms.GradientPerturbation{}, algorithms.DPGDC2{},
		algorithms.SubsampledDescent{}} {
		jobs = append(jobs, add(a.Info().Name, func(c candidate, t task,
			rng *rand.Rand) configuration {
			return trained(a, c, t, rng)
		}))
	}
	return jobs
}
