package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// CheckCall is what every Evaluator checks first. It returns an error unless GradSum
// can be computed: the lengths of dst and w, ||w||, pairs (but for the entries of an
// Order below T) and ctx.
func (p Problem) CheckCall(ctx context.Context, dst, w []float64, pairs Pairs) error {
	if want := p.Loss.ParamDim(p.D); len(dst) != want || len(w) != want {
		return fmt.Errorf("engine: GradSum: lengths %d and %d of dst and w, want %d", len(dst), len(w), want)
	}
	if !inBall(w, p.Radius) {
		return fmt.Errorf("engine: GradSum: ||w|| is not within Problem.Radius = %v; project w first", p.Radius)
	}
	switch q := pairs.(type) {
	case AllPairs:
		if q.N != p.N || len(p.Groups) > 0 {
			return fmt.Errorf("engine: GradSum: AllPairs.N is %d, the problem has %d records in %d query groups", q.N, p.N, len(p.Groups))
		}
	case GroupPairs:
		if len(p.Groups) == 0 || !slices.Equal(q.Sizes, p.Groups) {
			return fmt.Errorf("engine: GradSum: GroupPairs of %d groups, which are not the %d query groups of the problem", len(q.Sizes), len(p.Groups))
		}
	case PrefixPairs:
		if len(p.Groups) > 0 || p.ByPerson() {
			return fmt.Errorf("%w: prefix pairs of records in query groups or of persons", ErrUnsupported)
		}
		if q.T < 1 || q.T >= p.N || q.Order != nil && len(q.Order) <= q.T {
			return fmt.Errorf("engine: GradSum: PrefixPairs with T = %d and %d entries of Order for %d records", q.T, len(q.Order), p.N)
		}
		if q.Order != nil && (q.Order[q.T] < 0 || int(q.Order[q.T]) >= p.N) {
			return fmt.Errorf("engine: GradSum: PrefixPairs.Order[%d] is %d, want 0 to %d", q.T, q.Order[q.T], p.N-1)
		}
	default:
		return fmt.Errorf("%w: pairs of type %T", ErrUnsupported, pairs)
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
	return math.Sqrt(sum) <= 1+RadiusSlack/2
}
