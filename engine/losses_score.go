package engine

import (
	"errors"
	"fmt"
	"math"
)

// Score is the pair loss of a scalar function of the difference of two linear scores,
//
//	l(w; z, z') = phi(u),   u = (y - y') w.(x - x'),
//
// for labels in [-b, b], where b is Bounds.LabelAbs. Pairs of equal labels have the
// constant loss phi(0).
type Score struct {
	// Of is phi. It must not be nil.
	Of Scalar
}

var _ AnalyticLoss = Score{}

// Name returns the name of phi.
func (s Score) Name() string { return s.Of.Name() }

// Definition returns the formula.
func (s Score) Definition() string { return s.Of.Text() + ", u = (y - y') w.(x - x')" }

// ParamDim returns d.
func (Score) ParamDim(d int) int { return d }

// Scalar returns phi.
func (s Score) Scalar() Scalar { return s.Of }

// MarginRange returns the interval of u for records within b and ||w|| <= radius, widened
// by 2^-18 of its length to cover the rounding of margins. The interval is [-V, V] with V
// = 2 R r l before widening, where R = b.FeatureNorm, r = radius and l = 2 b.LabelAbs.
func (Score) MarginRange(b Bounds, radius float64) (lo, hi float64) {
	v := mulUp(mulUp(2*b.FeatureNorm, radius), 2*b.LabelAbs) * (1 + scalarMarginSlack)
	return -v, v
}

// Constants returns the constants G, L and Dg below. MarginRange defines [-V, V], R and
// l. On [-V, V], let A = sup max(0, -phi'), B = sup max(0, phi') and C = sup |phi”|.
//
//	G <= 2 R l max(A, B),   L <= (2 R l)^2 C,   Dg <= 2 R l (A + B).
//
// If phi is nonincreasing or nondecreasing, Dg equals G. For the logistic loss these
// constants are equal to Logistic.Constants.
//
// The proof is in docs/theory.md#score-losses. Up to the slack, G is attained: with w
// parallel to v = 2 R e and t = l, u takes every value of the range.
//
// The proof uses only that phi'(u) is in [-A, B]. So G and Dg also hold if the margin in a pair
// gradient is replaced by any other number of the range, in particular by the computed margin.
// They also hold for slopes that are clipped to [-A, B].
//
// L is +Inf if phi' is not Lipschitz or if its evaluation error is not proved. Only
// algorithms that add noise to every gradient can then be used.
func (s Score) Constants(b Bounds, radius float64) (Constants, error) {
	if err := checkScalarBounds(s.Of, b, radius); err != nil {
		return Constants{}, err
	}
	lo, hi := s.MarginRange(b, radius)
	k, err := BoundsOn(s.Of, lo, hi)
	if err != nil {
		return Constants{}, err
	}
	full := mulUp(mulUp(2*b.FeatureNorm, 2), b.LabelAbs) // 2 R l
	return scalarConstants(s.Of, k, full, mulUp(full, full), max(k.falling(), k.rising()), k.falling()+k.rising())
}

// scalarConstants returns the constants of a loss with G = full slope, Dg = full spread
// and L = hessian sup |phi”|, rounded up.
func scalarConstants(of Scalar, k ScalarBounds, full, hessian, slope, spread float64) (Constants, error) {
	c := Constants{
		Lipschitz:    mulUp(full, slope),
		PairDiameter: mulUp(full, spread*(1+0x1p-52)),
		Smoothness:   math.Inf(1),
		Convex:       k.Convex,
		Origin:       k.Origin,
	}
	if c.Lipschitz == 0 {
		return Constants{}, fmt.Errorf("engine: loss %s is constant on the range of margins, so nothing can be learned",
			of.Name())
	}
	if k.Smooth() {
		c.Smoothness = mulUp(hessian, k.Curvature)
	}
	if math.IsInf(c.PairDiameter, 0) || k.Smooth() && math.IsInf(c.Smoothness, 0) {
		return Constants{}, fmt.Errorf("engine: loss %s: the bounds are so large that the constants overflow; "+
			"rescale the features", of.Name())
	}
	if c.Lipschitz < 0x1p-1000 {
		return Constants{}, fmt.Errorf("engine: loss %s: the bounds are too small for float64; rescale the features",
			of.Name())
	}
	return c, nil
}

// checkScalarBounds checks the arguments of Constants.
func checkScalarBounds(of Scalar, b Bounds, radius float64) error {
	if of == nil {
		return errors.New("engine: the scalar function of the loss is nil; choose a function such as Logistic{}")
	}
	if err := b.Validate(); err != nil {
		return err
	}
	if !(radius > 0) || math.IsInf(radius, 0) {
		return fmt.Errorf("engine: constants of loss %s: the radius is %v, but it must be positive and finite",
			of.Name(), radius)
	}
	return nil
}

// Phi returns phi(u).
func (s Score) Phi(u float64) float64 { return s.Of.Phi(u) }

// DPhi returns phi'(u).
func (s Score) DPhi(u float64) float64 { return s.Of.DPhi(u) }

// StripBound returns the StripBound of an analyticScalar, or +Inf for any other Scalar.
func (s Score) StripBound(reach, height float64) float64 {
	if a, ok := s.Of.(analyticScalar); ok {
		return a.StripBound(reach, height)
	}
	return math.Inf(1)
}

// Value returns l(w; z, zp).
func (s Score) Value(w []float64, z, zp Record) float64 { return s.Of.Phi(scoreMargin(w, z, zp)) }

// AddGrad adds phi'(u) (y - y') (x - x') to dst.
func (s Score) AddGrad(dst, w []float64, z, zp Record) { addScoreGrad(dst, w, z, zp, s.Of.DPhi) }
