package engine

import (
	"context"
	"errors"
	"fmt"
)

// Recentred is a Kernel of gradients that also sums moments: its evaluators are
// RecentringEvaluators. Roundoff, NeighbourRoundoff and MomentsError are those of its parts:
// both are for every data set within the bounds of the problem, and the moved records are one.
type Recentred struct {
	Kernel  // of gradients over the moved records, which are dense: Problem.NonZerosPerRow is 0
	Moments MomentsKernel
}

// PlanRecentred plans both parts of a Recentred on b for a problem.
func PlanRecentred(b MomentsBackend, p Problem) (Recentred, error) {
	moments, err := b.PlanMoments(p)
	if err != nil {
		return Recentred{}, err
	}
	p.NonZerosPerRow = 0
	gradients, err := b.Plan(p)
	return Recentred{gradients, moments}, err
}

// Problem implements Kernel: that of the records that Bind takes.
func (k Recentred) Problem() Problem { return k.Moments.Problem() }

// Method implements Kernel.
func (k Recentred) Method() string { return k.Kernel.Method() + " after moments" }

// Seconds implements TimedKernel.
func (k Recentred) Seconds(p Pairs) float64 { return Seconds(k.Kernel, p) }

// Bytes implements SizedKernel: moved records are a second copy.
func (k Recentred) Bytes() float64 {
	return Bytes(k.Kernel) + 8*float64(k.Problem().N)*float64(k.Problem().D)
}

// NeighbourRoundoff implements NeighbourKernel.
func (k Recentred) NeighbourRoundoff(p Pairs) float64 {
	if inner, ok := k.Kernel.(NeighbourKernel); ok {
		return inner.NeighbourRoundoff(p)
	}
	return k.Roundoff(p)
}

// Share implements SharingKernel: what both parts need.
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

// MomentsError implements MomentsKernel but for the gradients that it has, too.
func (k Recentred) MomentsError(radius float64, second SecondMoments) MomentsError {
	return k.Moments.MomentsError(radius, second)
}

// Bind implements Kernel.
func (k Recentred) Bind(r *Records) (Evaluator, error) {
	ev, err := k.Moments.Bind(r)
	if err != nil {
		return nil, err
	}
	sums, ok := ev.(MomentsEvaluator)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%w: a kernel of moments without sums of moments", ErrUnsupported), ev.Close())
	}
	return &recentredEvaluator{MomentsEvaluator: sums, kernel: k, records: r}, nil
}

// RecentringEvaluator sums moments of bound records, and gradients over moved ones.
type RecentringEvaluator interface {
	MomentsEvaluator
	// Recentre makes the records that GradSum is about
	//
	//	x^ = clip(x - centre, radius) X/radius,   X = Bounds.FeatureNorm,
	//
	// where centre and radius are as in MomentSums. Each x^ is a function of its record and of
	// these public numbers, bit for bit, and as computed ||x^|| <= X; labels stay. GradSum fails
	// before the first call. When ctx is done it returns ctx.Err().
	Recentre(ctx context.Context, centre []float64, radius float64) error
}

type recentredEvaluator struct {
	MomentsEvaluator
	kernel    Recentred
	records   *Records
	gradients Evaluator // nil before Recentre
}

// Kernel implements Evaluator.
func (e *recentredEvaluator) Kernel() Kernel { return e.kernel }

// GradSum implements Evaluator.
func (e *recentredEvaluator) GradSum(ctx context.Context, dst, w []float64, p Pairs) error {
	if e.gradients == nil {
		return errors.New("engine: GradSum over moved records before Recentre")
	}
	return e.gradients.GradSum(ctx, dst, w, p)
}

// Close implements Evaluator.
func (e *recentredEvaluator) Close() error {
	err := e.MomentsEvaluator.Close()
	if e.gradients != nil {
		err = errors.Join(err, e.gradients.Close())
	}
	return err
}

// Recentre implements RecentringEvaluator.
//
// Proof that ||x^|| <= X, and that x^ depends on its record, centre and radius alone: the row
// of (x - centre) X/radius, computed entry by entry, is a function of them, and AdoptRecords
// projects each row on its own, so that its exact norm is at most X (ProjectBall); a row that
// overflows becomes zero. QED
func (e *recentredEvaluator) Recentre(ctx context.Context, centre []float64, radius float64) error {
	p := e.kernel.Problem()
	if err := (MomentSums{Centre: centre, Radius: radius}).Validate(p.D, p.Bounds); err != nil {
		return err
	}
	rows := e.records.Len()
	x := make([]float64, rows*p.D)
	scale := p.Bounds.FeatureNorm / radius
	for i := range rows {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		row := x[i*p.D:][:p.D]
		e.records.Row(i, row)
		for k := range centre {
			row[k] -= centre[k]
		}
		for k := range row {
			row[k] *= scale
		}
	}
	moved := adopt(x, append([]float64(nil), e.records.Labels()...), p.D, p.Bounds)
	moved.persons, moved.shard = e.records.persons, e.records.shard
	if e.gradients != nil {
		if err := e.gradients.Close(); err != nil {
			return err
		}
	}
	var err error
	e.gradients, err = e.kernel.Kernel.Bind(moved)
	return err
}
