package engine

import (
	"context"
	"fmt"
	"slices"
)

// CheckMoments checks a query of moments before an Evaluator answers it. It returns dst split into the
// parts of Moments, or an error if q cannot be answered.
func (p *Problem) CheckMoments(ctx context.Context, dst []float64, q Query) (Moments, error) {
	if q.Pairs != nil {
		return Moments{}, fmt.Errorf("%w: this kernel computes moments, not gradients", ErrUnsupported)
	}
	if err := q.Validate(p.D, p.Bounds); err != nil {
		return Moments{}, err
	}
	if want := 1 + p.D + q.Second.Len(p.D); len(dst) != want {
		return Moments{}, fmt.Errorf("engine: moments: dst has length %d, want %d", len(dst), want)
	}
	return momentsIn(dst, p.D), ctx.Err()
}

// CheckGradient checks a query of a gradient before an Evaluator answers it. It returns an error if q cannot be
// answered. It checks ctx, Pairs, the norm of W, and the lengths of dst and W. It does not check the first T
// entries of an Order.
func (p *Problem) CheckGradient(ctx context.Context, dst []float64, q *Query) error {
	switch w := q.W; {
	case q.Pairs == nil:
		return fmt.Errorf("%w: this kernel computes gradients, not moments", ErrUnsupported)
	case q.Radius != 0 || q.Centre != nil:
		return fmt.Errorf("%w: this kernel cannot compute gradients with Radius or Centre", ErrUnsupported)
	case len(dst) != p.Loss.ParamDim(p.D) || len(w) != len(dst):
		return fmt.Errorf("engine: gradient: dst and w have lengths %d and %d, want %d", len(dst), len(w),
			p.Loss.ParamDim(p.D))
	case !inBall(w, p.Radius):
		return fmt.Errorf("engine: gradient: ||w|| is not within Problem.Radius = %v; project w first", p.Radius)
	}
	switch q := q.Pairs.(type) {
	case AllPairs:
		if q.N != p.N || len(p.Groups) > 0 {
			return fmt.Errorf("engine: gradient: AllPairs.N is %d, but the problem has %d records and %d query groups", q.N,
				p.N, len(p.Groups))
		}
	case GroupPairs:
		if len(p.Groups) == 0 || !slices.Equal(q.Sizes, p.Groups) {
			return fmt.Errorf("engine: gradient: GroupPairs has %d groups, which differ from the problem's %d "+
				"query groups",
				len(q.Sizes), len(p.Groups))
		}
	case PrefixPairs:
		if len(p.Groups) > 0 || p.ByPerson() {
			return fmt.Errorf("%w: PrefixPairs cannot be used if the problem has query groups or persons", ErrUnsupported)
		}
		if q.T < 1 || q.T >= p.N || q.Order != nil && len(q.Order) <= q.T {
			return fmt.Errorf("engine: gradient: PrefixPairs.T is %d with %d entries in Order; want 0 < T < %d "+
				"(records), and no Order or more than T entries", q.T,
				len(q.Order), p.N)
		}
		if q.Order != nil && (q.Order[q.T] < 0 || int(q.Order[q.T]) >= p.N) {
			return fmt.Errorf("engine: gradient: PrefixPairs.Order[%d] is %d, want 0 to %d", q.T, q.Order[q.T], p.N-1)
		}
	default:
		return fmt.Errorf("%w: pairs of type %T", ErrUnsupported, q)
	}
	return ctx.Err()
}
