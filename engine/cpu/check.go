package cpu

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dyad/engine"
)

// fits returns an error unless the records have the shape, the bounds and the numbers
// of stored features per row and of different labels of the problem. The roundoff
// bound would not hold for others.
func fits(p engine.Problem, r *engine.Records) error {
	switch {
	case r == nil:
		return errors.New("cpu: Bind: no records")
	case r.Len() != p.N || r.Dim() != p.D:
		return fmt.Errorf("cpu: Bind: %d records of %d features, but the problem has %d of %d", r.Len(), r.Dim(), p.N, p.D)
	case r.Bounds() != p.Bounds:
		return fmt.Errorf("cpu: Bind: records have bounds %+v, the problem %+v", r.Bounds(), p.Bounds)
	case p.NonZerosPerRow > 0 && r.MaxRow() > p.NonZerosPerRow:
		return fmt.Errorf("cpu: Bind: a row stores more than Problem.NonZerosPerRow = %d features; use compressed rows or declare more", p.NonZerosPerRow)
	}
	if limit := p.LabelLimit(); limit < p.N && r.MoreLabelsThan(limit) {
		return fmt.Errorf("cpu: Bind: more than the %d different labels of Problem.LabelValues; declare more, or engine.AnyLabels for graded labels", limit)
	}
	return nil
}

// checkCall returns an error unless GradSum can be computed: shapes, ||w||, pairs
// (but for the entries of an Order below T) and ctx.
func checkCall(ctx context.Context, p engine.Problem, dst, w []float64, pairs engine.Pairs) error {
	if want := p.Loss.ParamDim(p.D); len(dst) != want || len(w) != want {
		return fmt.Errorf("cpu: GradSum: lengths %d and %d of dst and w, want %d", len(dst), len(w), want)
	}
	if !inBall(w, p.Radius) {
		return fmt.Errorf("cpu: GradSum: ||w|| is not within Problem.Radius = %v; project w first", p.Radius)
	}
	switch q := pairs.(type) {
	case engine.AllPairs:
		if q.N != p.N {
			return fmt.Errorf("cpu: GradSum: AllPairs.N is %d, the problem has %d records", q.N, p.N)
		}
	case engine.PrefixPairs:
		if q.T < 1 || q.T >= p.N || q.Order != nil && len(q.Order) <= q.T {
			return fmt.Errorf("cpu: GradSum: PrefixPairs with T = %d and %d entries of Order for %d records", q.T, len(q.Order), p.N)
		}
		if q.Order != nil && (q.Order[q.T] < 0 || int(q.Order[q.T]) >= p.N) {
			return fmt.Errorf("cpu: GradSum: PrefixPairs.Order[%d] is %d, want 0 to %d", q.T, q.Order[q.T], p.N-1)
		}
	default:
		return fmt.Errorf("%w: pairs of type %T", engine.ErrUnsupported, pairs)
	}
	return ctx.Err()
}

// inBall reports that ||w|| <= r (1 + RadiusSlack/2), up to rounding. Sums of
// 4096 squares are joined, so the depth stays below 2^20 for up to 2^32 parameters
// and the exact norm is at most r (1 + RadiusSlack).
func inBall(w []float64, r float64) bool {
	var sum float64
	for len(w) > 0 {
		var part float64
		m := min(len(w), 4096)
		for _, v := range w[:m] {
			v /= r
			part += v * v
		}
		sum += part
		w = w[m:]
	}
	return math.Sqrt(sum) <= 1+engine.RadiusSlack/2
}
