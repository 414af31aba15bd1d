package engine

import (
	"fmt"
	"math"

	"dyad/autodiff"
)

// Slope is the derivative of a formula that was received from another party. Only the bound
// of the slope is proved, because a local learner needs no other bound. Expression proves
// more bounds and checks the derivative by difference quotients. The additional bounds and
// the check matter only for the quality of a model. A Slope is immutable.
type Slope struct {
	name string
	dphi autodiff.Expr
	clip float64
}

// NewSlope is NewExpression for the slope alone. It fails if the slope has more than the given
// number of operations. This limits the number of interval operations that computing the bound
// takes (autodiff.Expr.Range).
func NewSlope(name, text string, o ExpressionOptions, operations int) (*Slope, error) {
	if err := checkClip(name, o.Clip); err != nil {
		return nil, err
	}
	phi, err := autodiff.Parse(text, o.Params)
	if err != nil {
		return nil, err
	}
	dphi := phi.Derivative()
	if n := dphi.Size(); n > operations {
		return nil, fmt.Errorf("engine: the formula for the slope of loss %s has %d operations, but at most %d are "+
			"allowed",
			name, n, operations)
	}
	return &Slope{name, dphi, o.Clip}, nil
}

// Name returns the name of the loss.
func (s *Slope) Name() string { return s.name }

// DPhi returns phi'(v), clipped.
func (s *Slope) DPhi(v float64) float64 { return s.clipped(s.dphi.Eval(v)) }

// Bounds returns bounds of the slope, and no other bounds.
func (s *Slope) Bounds(lo, hi float64) (ScalarBounds, error) {
	r := s.dphi.Range(autodiff.Interval{Lo: lo, Hi: hi})
	return ScalarBounds{SlopeMin: s.clipped(r.Lo), SlopeMax: s.clipped(r.Hi), Curvature: math.Inf(1),
		SlopeError: math.Inf(1), Origin: Derived}, nil
}

func (s *Slope) clipped(v float64) float64 {
	if s.clip > 0 {
		return math.Max(-s.clip, math.Min(s.clip, v))
	}
	return v
}
