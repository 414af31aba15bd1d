package engine

import (
	"errors"
	"fmt"
	"math"
)

// ScoreRange holds the public limits of a score problem. Methods are chosen and roundoff
// bounds are computed from these limits. All limits are rounded up.
type ScoreRange struct {
	LabelSpan float64 // l = 2 Bounds.LabelAbs: |y - y'| <= l
	Score     float64 // S: |w.x| <= S, exact or computed
	Margin    float64 // V = 2 l S: |u| <= V, exact or computed
	Slope     float64 // sup |phi'(u)| over |u| <= V
	Curvature float64 // sup of the derivative of phi' over |u| <= V, +Inf if not smooth
	ScoreErr  float64 // |computed w.x - w.x| for dot products of the given depth
	// SlopeErr bounds |computed phi' - phi'| at a float64 argument. For a ScalarLoss the
	// bound is proved. For any other loss, the error of DPhi is assumed to be at most 16
	// units of roundoff of Slope. SlopeErr is +Inf if the loss is not smooth.
	SlopeErr float64
	// SlopeMin and SlopeMax are the bounds SlopeMin <= phi' <= SlopeMax from which
	// Constants are computed. Every computed slope of a loss that is not smooth must be
	// clamped to them (QueryBounds.Sum).
	SlopeMin, SlopeMax float64
}

// Smooth reports whether Curvature and SlopeErr bound the error of a computed slope.
func (s ScoreRange) Smooth() bool { return !math.IsInf(s.Curvature, 0) }

// assumedSlopeError is ScoreRange.SlopeErr for a loss that is not a ScalarLoss, in units
// of roundoff of sup |phi'|. For the logistic loss, two proofs give smaller errors.
// kernels.LogisticSlope proves 4 units (with sup |phi'| >= 1/2) if the error of math.Exp
// is below 2 ulp; the sources of math.Exp state an error below 1 ulp.
// kernels.LogisticSlopes proves 12 relative units.
const assumedSlopeError = 16

// NewScoreRange returns the limits for a problem whose Loss is a ScoreLoss. Every
// computed score is a sum of products, and each product passes at most `depth` roundings.
// For any other loss, NewScoreRange returns an error wrapping ErrUnsupported.
//
// Proof. |w.x| <= R ||w|| <= R r (1 + 2^-30). The error of a computed score is at most
// gamma(depth) sum |x_k w_k| <= gamma(depth) R ||w||, plus one smallest number per
// product that underflows. S = R r (1 + 2^-20) covers exact and computed scores if
// gamma(depth) < 2^-21, which is checked. For Slope and Curvature, take z and z' with y -
// y' = l and x = -x' of norm R. Take w parallel to x, of any norm up to r' = r (1 +
// 2^-19). Then u takes every value in [0, 2 l R r'], and with w reversed every negative
// value down to -2 l R r'. The gradient has norm |phi'(u)| 2 R l, and the norm of the
// Hessian is the slope of phi' times (2 R l)^2. So the Constants at radius r' bound phi'
// by G / (2 R l) and the slope of phi' by L / (2 R l)^2 on [-V, V]. For a ScalarLoss, its
// own bounds on MarginRange are used, which contains [-V, V]. QED
func NewScoreRange(p Problem, depth int) (ScoreLoss, ScoreRange, error) {
	if err := p.Validate(); err != nil {
		return nil, ScoreRange{}, err
	}
	loss, ok := p.Loss.(ScoreLoss)
	if !ok {
		return nil, ScoreRange{}, fmt.Errorf("%w: loss %q does not depend on score differences alone",
			ErrUnsupported, p.Loss.Name())
	}
	up := 1 + 16*unitRoundoff
	R := p.Bounds.FeatureNorm
	s := ScoreRange{LabelSpan: 2 * p.Bounds.LabelAbs, Score: R * p.Radius * (1 + 0x1p-20)}
	s.Margin = 2 * s.LabelSpan * s.Score
	full := 2 * R * s.LabelSpan
	if err := s.slopes(p, loss, full, up); err != nil {
		return nil, ScoreRange{}, err
	}
	g := Gamma(depth)
	s.ScoreErr = g*R*p.Radius*(1+2*RadiusSlack) + float64(depth+p.D)*0x1p-1070
	switch {
	case g >= 0x1p-21:
		return nil, ScoreRange{}, fmt.Errorf("%w: dot products of %d features lose too many digits", ErrUnsupported, p.D)
	case s.ScoreErr > s.Score*0x1p-21 || !(s.Margin < math.MaxFloat64/16) || !(full*full < math.MaxFloat64):
		return nil, ScoreRange{}, errors.New("engine: FeatureNorm, LabelAbs or Radius is too large or too small " +
			"for float64; rescale the features or labels")
	}
	return loss, s, nil
}

// slopes sets the fields about phi'.
func (s *ScoreRange) slopes(p Problem, loss ScoreLoss, full, up float64) error {
	if form, ok := loss.(ScalarLoss); ok {
		k, err := form.Scalar().Bounds(form.MarginRange(p.Bounds, p.Radius))
		if err != nil {
			return err
		}
		s.Slope, s.Curvature, s.SlopeErr = k.Slope(), k.smoothness(), k.SlopeError
		s.SlopeMin, s.SlopeMax = k.SlopeMin, k.SlopeMax
		return nil
	}
	c, err := loss.Constants(p.Bounds, p.Radius*(1+0x1p-19))
	if err != nil {
		return err
	}
	s.Slope = c.Lipschitz / full * up
	s.Curvature = c.Smoothness / full / full * up
	s.SlopeErr = assumedSlopeError * unitRoundoff * s.Slope
	s.SlopeMin, s.SlopeMax = -s.Slope, s.Slope
	return nil
}
