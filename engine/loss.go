package engine

import (
	"errors"
	"fmt"
	"math"
)

// Record is one record, as it is passed to a Loss.
type Record struct {
	X []float64 // d features, ||X||_2 <= Bounds.FeatureNorm
	Y float64   // label, |Y| <= Bounds.LabelAbs
}

// Loss is a pairwise loss l(w; z, z') without its regulariser. An L2 term belongs to the
// algorithm, because it cancels in every sensitivity.
//
// Value and AddGrad are the definition that every backend must match. They are written for
// clarity, and the conformance suite uses them as its oracle. A loss of another package may
// be neither a ScoreLoss nor a MetricLoss. The CPU then evaluates it by calling AddGrad for
// each pair, and every term is clipped to norm G. AddGrad of such a loss must be a function
// of its arguments alone and safe for concurrent use, and its Constants must have
// Smoothness +Inf.
type Loss interface {
	// Name is the identifier of the loss on the command line and in models.
	Name() string
	// Definition is the formula, for reports.
	Definition() string
	// ParamDim is the length of w for d features.
	ParamDim(d int) int
	// Constants returns constants that hold for every pair of records within b and every
	// w in the ball of the given radius, or in the smaller Domain of a ConstrainedLoss.
	// It fails if b or radius is not positive and finite.
	Constants(b Bounds, radius float64) (Constants, error)
	// Value is l(w; z, zp).
	Value(w []float64, z, zp Record) float64
	// AddGrad adds the gradient of l(.; z, zp) at w to dst (length ParamDim).
	AddGrad(dst, w []float64, z, zp Record)
}

// ScoreLoss is a Loss of the form
//
//	l(w; z, z') = phi(u),   u = (y - y') w.(x - x')
//
// with linear scores. The loss is symmetric in (z, z'). Backends evaluate it from the n
// scores alone. The gradient sum over all ordered pairs is X^T c with c_i = 2 sum_j
// phi'(u_ij) (y_i - y_j).
type ScoreLoss interface {
	Loss
	// Phi is phi(u).
	Phi(u float64) float64
	// DPhi is phi'(u), the slope that AddGrad uses. If the loss clips slopes, DPhi is the
	// clipped slope.
	DPhi(u float64) float64
}

// AnalyticLoss is a ScoreLoss whose phi' is analytic in a rectangle around the margins. A
// Chebyshev expansion with a proved error needs such a loss.
type AnalyticLoss interface {
	ScoreLoss
	// StripBound is an upper bound of |phi'(u)| for all complex u with |Re u| <= reach
	// and |Im u| <= height. It is +Inf if phi' has a singularity there or no bound is
	// proved.
	StripBound(reach, height float64) float64
}

// ScalarLoss is a loss that is defined by a Scalar: a Score or a Metric.
type ScalarLoss interface {
	Loss
	// Scalar is phi.
	Scalar() Scalar
	// MarginRange is the interval of u on which Constants bounds phi'.
	MarginRange(b Bounds, radius float64) (lo, hi float64)
}

// Constants are the properties of a pair loss on which privacy and convergence depend.
// They hold for all records within Bounds and all w in the ball of the stated radius.
// Every number is rounded up.
type Constants struct {
	// Lipschitz is G: ||grad l(w; z, z')|| <= G.
	Lipschitz float64
	// Smoothness is L: grad l is L-Lipschitz in w. It is +Inf if the loss is not smooth.
	Smoothness float64
	// PairDiameter is Dg, the largest ||grad l(w; z, z') - grad l(w; z~, z')|| over w, z,
	// z~ and z'. It also covers ||grad l(w; z', z) - grad l(w; z', z~)||. It is at most 2
	// G (docs/theory.md#constants).
	PairDiameter float64
	// Convex reports whether l(.; z, z') is convex.
	Convex bool
	// Origin is the source of the constants.
	Origin Origin
}

// Validate returns an error for constants that no loss can have. G and Dg must be
// positive and finite. L must not be negative. It may be +Inf, for a loss that is not
// smooth. Dg must be at most 2 G, because two gradients of norm at most G are at most 2 G
// apart.
func (c Constants) Validate() error {
	finite := func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
	switch {
	case !finite(c.Lipschitz):
		return fmt.Errorf("engine: the Lipschitz constant G is %v, but it must be positive and finite", c.Lipschitz)
	case !(c.Smoothness >= 0):
		return fmt.Errorf("engine: the smoothness constant L is %v, but it must not be negative", c.Smoothness)
	case !finite(c.PairDiameter):
		return fmt.Errorf("engine: the pair diameter Dg is %v, but it must be positive and finite", c.PairDiameter)
	case c.PairDiameter > 2*c.Lipschitz*(1+0x1p-40): // Dg and G are rounded up
		return fmt.Errorf("engine: the pair diameter Dg = %g exceeds 2 G = %g; lower Dg or raise G",
			c.PairDiameter, 2*c.Lipschitz)
	}
	return nil
}

// Assertion holds constants that a user states for a loss. A field that is nil leaves the constant as it is.
type Assertion struct {
	Lipschitz, Smoothness, PairDiameter *float64 // G, L, Dg
}

// Assert returns c with Origin Asserted and with the constants that the assertion `a`
// states. If `a` states no constants, Assert returns c unchanged. If `a` states G but not
// Dg, Assert sets Dg to 2 G, which holds for every loss. Assert fails if Validate fails
// or if the stated L is not finite. It also fails if `a` states L and the L of c is +Inf.
// QueryBounds.Sum is then not a distance to the exact gradient.
func (c Constants) Assert(a Assertion) (Constants, error) {
	if a == (Assertion{}) {
		return c, nil
	}
	c.Origin = Asserted
	if a.Lipschitz != nil {
		c.Lipschitz, c.PairDiameter = *a.Lipschitz, 2**a.Lipschitz
	}
	if a.Smoothness != nil {
		if math.IsInf(c.Smoothness, 1) {
			return c, errors.New("engine: no smoothness constant L is proved for this loss; leave --L out")
		}
		c.Smoothness = *a.Smoothness
		if math.IsInf(c.Smoothness, 0) {
			return c, fmt.Errorf("engine: the smoothness constant L is %v, but it must be finite", c.Smoothness)
		}
	}
	if a.PairDiameter != nil {
		c.PairDiameter = *a.PairDiameter
	}
	return c, c.Validate()
}
