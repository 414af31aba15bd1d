package cpu

import (
	"context"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/kernels"
)

// PlanMoments implements engine.Backend.
func (b Backend) PlanMoments(p engine.Problem) (engine.Kernel, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	set, err := kernels.Select(b.Variant)
	if err != nil {
		return nil, fmt.Errorf("%w: Backend.Variant: %w", engine.ErrUnsupported, err)
	}
	k := &momentsKernel{problem: p, set: set, workers: b.workers(), team: b.Team, stride: kernels.GramStride(p.D)}
	k.block = min(momentRows, max(momentFloats/k.stride, 1))
	if p.ByPerson() {
		k.chunk = max(momentRows, int(math.Ceil(math.Sqrt(float64(p.N)))))
	} else {
		blocks := (p.N + k.block - 1) / k.block
		k.chunk = int(math.Ceil(math.Sqrt(float64(blocks)))) * k.block
	}
	k.wide = k.isWide(leastWide)
	return k, nil
}

// Bounds implements engine.Kernel (docs/theory.md#computed-moments).
//
// Proof. A sum of products of depth k has an error of at most gamma(k) times the sum of their
// absolute values, plus n 2^-1074 for products that underflow (package kernels). The vectors of
// these sums for t, a x~ and x~ x~^T have norms of at most n, n R and n R^2, because the norm of a
// sum is at most the sum of the norms. The vector of |a x~_j| has the norm |a| ||x~|| <= R. The
// matrix of |x~_i x~_j| and its diagonal have norms of at most ||x~||^2 <= R^2. Packing into
// isometric coordinates adds engine.SymmetricError times the norm. If records are persons, n is the
// number of persons. The absolute values of the m rows of a person have the weight 1/m, so their sum
// is at most the bound for one row. The number of terms that may underflow is the number of rows,
// with their weights and products. QED
func (k *momentsKernel) Bounds(q engine.Query) engine.QueryBounds {
	if q.Pairs != nil {
		return engine.Unanswered()
	}
	radius, second := q.Radius, q.Second
	n, d := float64(k.problem.N), float64(k.problem.D)
	gamma := engine.Gamma(k.depth())
	lost := n * 0x1p-1074 // underflow of a coordinate
	const up = 1 + 0x1p-40
	e := engine.QueryBounds{Positives: gamma * n * up}
	if k.problem.ByPerson() {
		lost = float64(k.problem.MaxRows()) * (1 + radius) * 0x1p-1072
		e.Positives += lost
	}
	e.Sum = (gamma*n*radius + lost*d) * up
	if second != engine.NoSecond {
		e.Second = ((gamma+2*engine.SymmetricError)*n*radius*radius + lost*d*d) * up
	}
	// the storage of the records decides which sums are used, so Bounds covers sums over all and over stored features
	if w := k.wideError(); k.sumsWide(radius, second) {
		e = engine.QueryBounds{Positives: max(e.Positives, w.Positives), Sum: max(e.Sum, w.Sum),
			Second: max(e.Second, w.Second)}
	}
	return e
}

// Sum implements engine.Evaluator. Workers sum chunks and add the sums to the total in
// the order of the chunks. In a team, every rank adds the sums of all chunks in this
// order.
func (e *momentsEvaluator) Sum(ctx context.Context, all []float64, m engine.Query) error {
	dst, err := e.problem.CheckMoments(ctx, all, m)
	if err != nil {
		return err
	}
	if e.sumsWide(m.Radius, m.Second) && e.team == nil && e.x.start != nil && m.Class == 0 && m.W == nil {
		return e.sumWide(ctx, dst, m)
	}
	p := newMomentPass(e, m)
	workers := min(e.workers, e.last-e.first)
	e.prepare(workers, m.Second)
	total := e.newTotals(m.Second)
	length := len(total.all)
	if e.team != nil && len(e.totals) < e.chunks()*length {
		e.totals = make([]float64, e.chunks()*length)
	}
	var turn turnstile
	turn.init()
	err = forEach(ctx, workers, e.last-e.first, func(worker, job int) {
		w := &e.work[worker]
		clear(w.total.all)
		from, to, _ := e.records.Within(e.units(e.first+job, e.first+job+1))
		for ; from < to && ctx.Err() == nil; from += e.block {
			p.add(w, from, min(e.block, to-from))
		}
		if e.team != nil {
			copy(e.totals[(e.first+job)*length:], w.total.all)
			return
		}
		turn.take(job, func() { addTo(total.all, w.total.all) })
	})
	if err == nil && e.team != nil {
		if err = engine.GatherJobs(ctx, e.team, e.totals[:e.chunks()*length], e.chunks(), length); err == nil {
			for chunk := range e.chunks() {
				addTo(total.all, e.totals[chunk*length:][:length])
			}
		}
	}
	if err != nil {
		return err
	}
	all[0] = *total.positives
	copy(dst.Sum, total.sum)
	switch m.Second {
	case engine.DiagonalSecond:
		copy(dst.Second, total.second)
	case engine.FullSecond:
		packUpper(dst.Second, total.second, e.problem.D, e.stride)
	}
	return nil
}
