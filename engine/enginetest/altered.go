package enginetest

import (
	"context"

	"dyad/engine"
)

// Altered is a backend with a defect. It is for tests of checks that must find the defect. A nil function
// changes nothing.
type Altered struct {
	engine.Backend
	// Records returns the records that Bind uses in place of r.
	Records func(r *engine.Records) *engine.Records
	// Bounds is called instead of k.Bounds(q). Sum is called instead of e.Sum(ctx, dst,
	// q). The evaluator e is bound to the records r.
	Bounds func(k engine.Kernel, q engine.Query) engine.QueryBounds
	Sum    func(ctx context.Context, e engine.Evaluator, r *engine.Records, dst []float64, q engine.Query) error
}

// Plan implements engine.Backend.
func (b Altered) Plan(p engine.Problem) (engine.Kernel, error) {
	k, err := b.Backend.Plan(p)
	return alteredKernel{k, b}, err
}

// PlanMoments implements engine.Backend.
func (b Altered) PlanMoments(p engine.Problem) (engine.Kernel, error) {
	k, err := b.Backend.PlanMoments(p)
	return alteredKernel{k, b}, err
}

type alteredKernel struct {
	engine.Kernel
	by Altered
}

// Bounds implements engine.Kernel.
func (k alteredKernel) Bounds(q engine.Query) engine.QueryBounds {
	if k.by.Bounds == nil {
		return k.Kernel.Bounds(q)
	}
	return k.by.Bounds(k.Kernel, q)
}

// Bind implements engine.Kernel.
func (k alteredKernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	if k.by.Records != nil {
		r = k.by.Records(r)
	}
	e, err := k.Kernel.Bind(r)
	return alteredEvaluator{e, k, r}, err
}

type alteredEvaluator struct {
	engine.Evaluator
	kernel  alteredKernel
	records *engine.Records
}

// Kernel implements engine.Evaluator.
func (e alteredEvaluator) Kernel() engine.Kernel { return e.kernel }

// Sum implements engine.Evaluator.
func (e alteredEvaluator) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	if sum := e.kernel.by.Sum; sum != nil {
		return sum(ctx, e.Evaluator, e.records, dst, q)
	}
	return e.Evaluator.Sum(ctx, dst, q)
}
