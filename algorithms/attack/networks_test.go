package attack_test

import (
	"context"
	"math"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/privacy"
)

// networkLosses are one loss of each kind for a network of d features.
func networkLosses(t *testing.T, d int) []embedding.Loss {
	t.Helper()
	made := func(m int, pair embedding.PairLoss, out embedding.Output, act embedding.Activation, hidden ...int) embedding.Loss {
		net := must.Get(embedding.NewMLP(embedding.MLP{In: d, Hidden: hidden, Out: m, Activation: act}))(t)
		return embedding.Loss{Model: embedding.Model{Network: net, Output: out}, Pair: pair, Clip: 0.5}
	}
	return []embedding.Loss{
		made(1, embedding.Score{Of: engine.Logistic{}}, embedding.Output{}, embedding.Tanh, 4),
		made(2, embedding.Bilinear{Of: engine.Logistic{}}, embedding.Output{Unit: true}, embedding.Softplus, 3),
		made(2, embedding.Distance{Of: engine.Logistic{}}, embedding.Output{Within: 1}, embedding.Tanh, 3, 3),
		made(2, embedding.Contrastive{Margin: 1}, embedding.Output{Within: 1}, embedding.Tanh),
	}
}

// networkTrainings are the ways to train a network.
func networkTrainings() []algorithms.Algorithm {
	adam := algorithms.Optimizer{Update: "adam", Decay: "cosine", Tail: 0.5}
	return []algorithms.Algorithm{
		algorithms.GradientPerturbation{Steps: 4, StepSize: 0.3},
		algorithms.GradientPerturbation{Steps: 4, StepSize: 0.3, Optimizer: adam},
		algorithms.SubsampledDescent{Steps: 4, StepSize: 0.3, BatchRecords: 12, Optimizer: algorithms.Optimizer{Update: "momentum", Decay: "root"}},
	}
}

func networkPlan(t *testing.T, a algorithms.Algorithm, loss embedding.Loss, n, d, personRows int, groups ...int) *algorithms.Plan {
	t.Helper()
	problem := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: loss, Radius: loss.Radius(), PersonRows: personRows, Groups: groups}
	s := must.Get(algorithms.NewSpec(embedding.Backend{Workers: 1}, problem, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified))(t)
	return must.Get(a.Plan(s))(t)
}

// Networks of every kind, trained in every way: on neighbours no release moves further than its
// certificate, and what leaves the training is a function of releases, whatever the optimizer keeps.
func TestNetworkReplays(t *testing.T) {
	const n, d = 25, 3
	strongest := 0.0
	for _, loss := range networkLosses(t, d) {
		for i, a := range networkTrainings() {
			p := networkPlan(t, a, loss, n, d, 0)
			data := attack.RandomRecords(n, d, engine.UnitBounds(), 7)
			ratio, err := attack.Replay(a, p, data, attack.Neighbours(data, 12, 8), 9)
			if err != nil {
				t.Errorf("%s, way %d: %v", loss.Name(), i, err)
			}
			worst, neighbour := attack.WorstCase(n, d, n/2, engine.UnitBounds())
			r, err := attack.Replay(a, p, worst, []*engine.Records{neighbour}, 9)
			if err != nil {
				t.Errorf("%s, way %d, worst case: %v", loss.Name(), i, err)
			}
			strongest = max(strongest, ratio, r)

			rows := attack.RandomPersons(n, personCap, d, engine.UnitBounds(), 7)
			for _, groups := range [][]int{nil, {9, 1, n - 10}} {
				if groups != nil && i > 0 {
					continue // one way within groups, which secret batches have none of
				}
				p = networkPlan(t, a, loss, n, d, personCap, groups...)
				must.Equal(t, p.Guarantee.Unit, "one person", "%s, way %d: the unit", loss.Name(), i)
				must.Check(attack.Replay(a, p, rows, attack.PersonNeighbours(rows, 6, personCap, 8), 9))(t, loss.Name(),
					", way ", i, ", persons in groups ", groups)
			}
		}
	}
	if strongest < 0.2 {
		t.Errorf("the strongest attack reaches %.3g of a certificate", strongest)
	}
}

// peeking is Adam with the second moments of the gradients before their noise.
type peeking struct {
	algorithms.GradientPerturbation
}

func (peeking) Train(ctx context.Context, ev engine.Evaluator, p *algorithms.Plan, s privacy.Session, _ algorithms.Tracker) ([]float64, error) {
	problem := ev.Kernel().Problem()
	w := problem.Domain().Start()
	g, square := make([]float64, len(w)), make([]float64, len(w))
	for range p.Schedule.Steps {
		if err := ev.Sum(ctx, g, engine.Gradient(w, problem.Pairs())); err != nil {
			return nil, err
		}
		for k := range g {
			g[k] /= float64(problem.Pairs().Len())
			square[k] += g[k] * g[k]
		}
		if err := s.Release(g, p.Certificate(), p.Noise()); err != nil {
			return nil, err
		}
		for k := range w {
			w[k] -= 0.1 * g[k] / (1e-3 + math.Sqrt(square[k]))
		}
		if err := problem.Domain().Project(w, 1e6); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// unclipped is a loss that asks for a smaller certificate than its gradients keep to: what an evaluator
// would give that forgot to clip Jacobians.
type unclipped struct{ embedding.Backend }

func (b unclipped) Plan(p engine.Problem) (engine.Kernel, error) {
	loss := p.Loss.(embedding.Loss)
	loss.Clip *= 20
	inner := p
	inner.Loss = loss
	k, err := b.Backend.Plan(inner)
	return unclippedKernel{k, p}, err
}

type unclippedKernel struct {
	engine.Kernel
	stated engine.Problem
}

func (k unclippedKernel) Problem() engine.Problem { return k.stated }

// Replay catches an optimizer that sees gradients before their noise, and Jacobians that are not clipped.
func TestNetworkDefectsAreCaught(t *testing.T) {
	const n, d = 25, 3
	loss := networkLosses(t, d)[0]
	loss.Clip = 0.05
	a := algorithms.GradientPerturbation{Steps: 4, StepSize: 0.3}
	data := attack.RandomRecords(n, d, engine.UnitBounds(), 7)
	worst, neighbour := attack.WorstCase(n, d, n/2, engine.UnitBounds())
	caught := func(a algorithms.Algorithm, p *algorithms.Plan) error {
		_, err := attack.Replay(a, p, data, attack.Neighbours(data, 12, 8), 9)
		if err == nil {
			_, err = attack.Replay(a, p, worst, []*engine.Records{neighbour}, 9)
		}
		return err
	}
	p := networkPlan(t, a, loss, n, d, 0)
	must.CheckDo(t, caught(a, p), "the control")
	must.ErrDo(t, caught(peeking{a}, p), "an optimizer that sees gradients before their noise was not caught")
	s := p.Spec
	s.Kernel = must.Get((unclipped{}).Plan(s.Kernel.Problem()))(t)
	p = must.Get(a.Plan(s))(t)
	must.ErrDo(t, caught(a, p), "Jacobians that are not clipped were not caught")
}
