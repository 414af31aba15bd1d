package cpu

import (
	"context"

	"dyad/engine"
)

// Bind implements engine.Kernel.
func (k *metricKernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	if err := k.problem.Fits(r); err != nil {
		return nil, err
	}
	n, d := r.Len(), k.problem.D
	grid := *k
	grid.rows = n
	grid.planGrid()
	e := &metricEvaluator{
		metricKernel: &grid, planned: k, x: newMatrix(r, k.set), y: r.Labels(), persons: newRowsOfPersons(r),
		w: make([]float64, d*d), total: make([]float64, d*d),
		rowSum: make([]float64, n), colSum: make([]float64, n),
	}
	if k.single {
		e.narrow = newNarrow(e.x, e.y)
	}
	return e, nil
}

// Sum implements engine.Evaluator. It fails if ||W|| exceeds Problem.Radius by a relative
// amount above engine.RadiusSlack, because the roundoff bound would not hold. W need not
// be positive semidefinite.
func (e *metricEvaluator) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	if err := e.problem.CheckGradient(ctx, dst, &q); err != nil {
		return err
	}
	s := engine.Symmetric{Dim: e.x.d}
	s.Unpack(e.w, q.W)
	clear(e.total)
	var err error
	switch p := q.Pairs.(type) {
	case engine.AllPairs:
		err = e.allPairs(ctx)
	case engine.PrefixPairs:
		if err = engine.ErrTeamPrefix; e.team == nil {
			err = e.prefixPairs(ctx, p)
		}
	}
	if err != nil {
		return err
	}
	s.Pack(dst, e.total)
	return nil
}
