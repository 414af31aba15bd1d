package engine

import (
	"context"
	"errors"
	"math"
	"slices"
)

// Recentred is a Kernel that answers queries of moments, and queries of gradients over moved records (see
// Query). The bounds of its two kernels hold for every data set within the bounds of the problem. The moved
// records are within these bounds, so the bounds hold for queries of moved records, too.
type Recentred struct {
	Kernel  // answers gradients over the moved records; they are dense, so Problem.NonZerosPerRow is 0
	Moments Kernel
}

// PlanRecentred plans the two kernels of a Recentred for the problem p on the backend b.
func PlanRecentred(b Backend, p Problem) (Recentred, error) {
	moments, err := b.PlanMoments(p)
	if err != nil {
		return Recentred{}, err
	}
	p.NonZerosPerRow = 0
	gradients, err := b.Plan(p)
	return Recentred{gradients, moments}, err
}

// Problem implements Kernel. It returns the problem of the records before they are moved.
func (k Recentred) Problem() Problem { return k.Moments.Problem() }

// Method implements Kernel.
func (k Recentred) Method() string { return k.Kernel.Method() + " after moments" }

// Bounds implements Kernel. For a gradient, Bytes includes the copy that holds the moved records.
func (k Recentred) Bounds(q Query) QueryBounds {
	if q.Pairs == nil {
		return k.Moments.Bounds(q)
	}
	p := k.Problem()
	b := k.Kernel.Bounds(Gradient(q.W, q.Pairs))
	b.Bytes = b.Memory(p) + 8*float64(p.N)*float64(p.D)
	return b
}

// Share implements sharingKernel. It returns a range that covers the shares of both kernels.
func (k Recentred) Share(rank int) (from, to int) {
	from, to = Share(k.Moments, rank)
	a, b := Share(k.Kernel, rank)
	switch {
	case a >= b:
		return from, to
	case from >= to:
		return a, b
	}
	return min(from, a), max(to, b)
}

// Bind implements Kernel.
func (k Recentred) Bind(r *Records) (Evaluator, error) {
	moments, err := k.Moments.Bind(r)
	if err != nil {
		return nil, err
	}
	return &recentredEvaluator{Evaluator: moments, kernel: k, records: r}, nil
}

type recentredEvaluator struct {
	Evaluator // answers moments
	kernel    Recentred
	records   *Records
	gradients Evaluator // bound to the moved records of the last gradient; nil before the first gradient
	centre    []float64
	radius    float64
}

// Kernel implements Evaluator.
func (e *recentredEvaluator) Kernel() Kernel { return e.kernel }

// Sum implements Evaluator.
func (e *recentredEvaluator) Sum(ctx context.Context, dst []float64, q Query) error {
	if q.Pairs == nil {
		return e.Evaluator.Sum(ctx, dst, q)
	}
	if e.gradients == nil || q.Radius != e.radius || !slices.EqualFunc(q.Centre, e.centre, sameBits) {
		if err := e.bind(ctx, q); err != nil {
			return err
		}
	}
	return e.gradients.Sum(ctx, dst, Gradient(q.W, q.Pairs))
}

// Close implements Evaluator.
func (e *recentredEvaluator) Close() error { return errors.Join(e.Evaluator.Close(), e.drop()) }

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// drop closes the evaluator of the moved records.
func (e *recentredEvaluator) drop() error {
	if e.gradients == nil {
		return nil
	}
	moved := e.gradients
	e.gradients = nil
	return moved.Close()
}

// bind binds the records of q.
func (e *recentredEvaluator) bind(ctx context.Context, q Query) (err error) {
	moved := e.records
	if !q.IsPlain() {
		if moved, err = e.move(ctx, q); err != nil {
			return err
		}
	}
	if err := e.drop(); err != nil {
		return err
	}
	gradients, err := e.kernel.Kernel.Bind(moved)
	if err != nil {
		return err
	}
	e.gradients, e.centre, e.radius = gradients, slices.Clone(q.Centre), q.Radius
	return nil
}

// move returns the records moved as Query describes.
//
// Proof that ||x^|| <= X, and that x^ depends on its record, centre and radius alone. The row
// (x - centre) X/radius is computed entry by entry, so it is a function of the record, centre
// and radius. AdoptRecords projects each row separately, so the exact norm of the row is at
// most X (ProjectBall). A row that overflows becomes zero. QED
func (e *recentredEvaluator) move(ctx context.Context, q Query) (*Records, error) {
	p := e.kernel.Problem()
	if err := (Query{Centre: q.Centre, Radius: q.Radius}).Validate(p.D, p.Bounds); err != nil {
		return nil, err
	}
	rows := e.records.Len()
	x := make([]float64, rows*p.D)
	scale := p.Bounds.FeatureNorm / q.Radius
	for i := range rows {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		row := x[i*p.D:][:p.D]
		e.records.Row(i, row)
		for k, c := range q.Centre {
			row[k] -= c
		}
		for k := range row {
			row[k] *= scale
		}
	}
	moved := adopt(x, append([]float64(nil), e.records.Labels()...), p.D, p.Bounds)
	moved.persons, moved.shard = e.records.persons, e.records.shard
	return moved, nil
}
