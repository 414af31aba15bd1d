package enginetest_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
)

// shifted sums over query groups of other sizes than it is asked for.
type shifted struct {
	engine.Backend
	sizes func([]int)
}

func (b shifted) Plan(p engine.Problem) (engine.Kernel, error) {
	if len(p.Groups) == 0 {
		return b.Backend.Plan(p)
	}
	inner := p
	inner.Groups = slices.Clone(p.Groups)
	b.sizes(inner.Groups)
	k, err := engine.Grouped{Backend: b.Backend}.Plan(inner)
	if err != nil {
		return nil, err
	}
	return shiftedKernel{k, p}, nil
}

type shiftedKernel struct {
	engine.Kernel
	problem engine.Problem
}

func (k shiftedKernel) Problem() engine.Problem { return k.problem }

// pairs are those of the inner kernel for the ones that it is asked for.
func (k shiftedKernel) pairs(p engine.Pairs) engine.Pairs {
	if g, ok := p.(engine.GroupPairs); ok && slices.Equal(g.Sizes, k.problem.Groups) {
		return k.Kernel.Problem().Pairs()
	}
	return engine.AllPairs{N: math.MaxInt32}
}

func (k shiftedKernel) Bounds(q engine.Query) engine.QueryBounds {
	q.Pairs = k.pairs(q.Pairs)
	return k.Kernel.Bounds(q)
}

func (k shiftedKernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	e, err := k.Kernel.Bind(r)
	return shiftedEvaluator{e, k}, err
}

type shiftedEvaluator struct {
	engine.Evaluator
	kernel shiftedKernel
}

func (e shiftedEvaluator) Kernel() engine.Kernel { return e.kernel }

func (e shiftedEvaluator) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	q.Pairs = e.kernel.pairs(q.Pairs)
	return e.Evaluator.Sum(ctx, dst, q)
}

// TestSuiteCatchesWrongGroups: a group that ends one record too late or too early is
// found.
func TestSuiteCatchesWrongGroups(t *testing.T) {
	opts := enginetest.Options{
		Losses: []engine.ScoreLoss{engine.Logistic{}}, MetricLosses: []engine.MetricLoss{}, Sizes: []int{}, Radii: []float64{1},
		Groups: [][]int{{4, 3, 9}},
	}
	suiteSays(t, shifted{cpu.Backend{}, func([]int) {}}, opts, "")
	for _, sizes := range []func([]int){func(s []int) { s[1]++; s[2]-- }, func(s []int) { s[0]--; s[1]++ }} {
		suiteSays(t, shifted{cpu.Backend{}, sizes}, opts, "Roundoff")
	}
}
