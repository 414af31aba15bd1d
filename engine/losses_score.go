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
// with labels in [-b, b], b = Bounds.LabelAbs. Pairs of equal labels have the
// constant loss phi(0).
type Score struct {
	// Of is phi; not nil.
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

// MarginRange is the interval of u for records within b and ||w|| <= radius, widened
// by 2^-18 of its length for margins that are rounded: [-V, V] with V = 2 R r l,
// R = b.FeatureNorm, r = radius and l = 2 b.LabelAbs.
func (Score) MarginRange(b Bounds, radius float64) (lo, hi float64) {
	v := mulUp(mulUp(2*b.FeatureNorm, radius), 2*b.LabelAbs) * (1 + scalarMarginSlack)
	return -v, v
}

// Constants returns, with [-V, V] as in MarginRange, R and l as there,
// A = sup max(0, -phi'), B = sup max(0, phi') and C = sup |phi”| on it,
//
//	G <= 2 R l max(A, B),   L <= (2 R l)^2 C,   Dg <= 2 R l (A + B).
//
// For a phi that never rises, or never falls, Dg is G: for the logistic loss this is
// Logistic.Constants.
//
// Proof: docs/theory.md#score-losses. G is attained up to the slack: w along v = 2 R e and
// t = l reach every u of the range.
//
// Of u the proof uses only that phi' is in [-A, B]. So the constants G and Dg also hold for pair
// gradients whose margin is replaced by any other number of the range, in particular
// by the computed one, and for slopes that are clipped to [-A, B].
//
// L is +Inf if phi' is not Lipschitz or if its evaluation error is not proved: then
// only algorithms that add noise to every gradient apply.
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

// scalarConstants are the constants of a loss with G = full slope, Dg = full spread and
// L = hessian sup |phi”|, rounded up.
func scalarConstants(of Scalar, k ScalarBounds, full, hessian, slope, spread float64) (Constants, error) {
	c := Constants{
		Lipschitz:    mulUp(full, slope),
		PairDiameter: mulUp(full, spread*(1+0x1p-52)),
		Smoothness:   math.Inf(1),
		Convex:       k.Convex,
		Origin:       k.Origin,
	}
	if c.Lipschitz == 0 {
		return Constants{}, fmt.Errorf("engine: loss %s is constant on the range of margins, there is nothing to learn", of.Name())
	}
	if k.Smooth() {
		c.Smoothness = mulUp(hessian, k.Curvature)
	}
	if math.IsInf(c.PairDiameter, 0) || k.Smooth() && math.IsInf(c.Smoothness, 0) {
		return Constants{}, fmt.Errorf("engine: loss %s: bounds too large, the constants overflow; rescale the features", of.Name())
	}
	if c.Lipschitz < 0x1p-1000 {
		return Constants{}, fmt.Errorf("engine: loss %s: bounds too small for float64; rescale the features", of.Name())
	}
	return c, nil
}

// checkScalarBounds checks the arguments of Constants.
func checkScalarBounds(of Scalar, b Bounds, radius float64) error {
	if of == nil {
		return errors.New("engine: the scalar function of the loss is nil, choose one such as Logistic{}")
	}
	if err := b.Validate(); err != nil {
		return err
	}
	if !(radius > 0) || math.IsInf(radius, 0) {
		return fmt.Errorf("engine: constants of loss %s: radius is %v, must be positive and finite", of.Name(), radius)
	}
	return nil
}

// Phi returns phi(u).
func (s Score) Phi(u float64) float64 { return s.Of.Phi(u) }

// DPhi returns phi'(u).
func (s Score) DPhi(u float64) float64 { return s.Of.DPhi(u) }

// StripBound is the bound of an analyticScalar; +Inf for any other.
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
