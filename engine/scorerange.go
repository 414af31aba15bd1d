package engine

import (
	"errors"
	"fmt"
	"math"
)

// Roundoff of one float64 operation to nearest.
const unitRoundoff = 0x1p-53

// Gamma returns k u / (1 - k u) with u = 2^-53, rounded up: the relative error
// of k consecutive roundings (Higham 2002, Lemma 3.1). It is +Inf from k u = 1/2
// on.
func Gamma(k int) float64 {
	ku := float64(k) * unitRoundoff
	if ku >= 0.5 {
		return math.Inf(1)
	}
	return ku / (1 - ku) * (1 + 4*unitRoundoff)
}

// RadiusSlack is the relative amount by which ||w|| may exceed Problem.Radius
// through rounding; every bound of ScoreRange covers it.
const RadiusSlack = 0x1p-30

// ScoreRange are the public limits of a score problem, from which methods are
// chosen and roundoff bounds are computed. All are rounded up.
type ScoreRange struct {
	LabelSpan float64 // l = 2 Bounds.LabelAbs: |y - y'| <= l
	Score     float64 // S: |w.x| <= S, exact or computed
	Margin    float64 // V = 2 l S: |u| <= V, exact or computed
	Slope     float64 // sup |phi'(u)| over |u| <= V
	Curvature float64 // sup of the derivative of phi' there, +Inf if not smooth
	ScoreErr  float64 // |computed w.x - w.x| for dot products of the given depth
	// SlopeErr bounds |computed phi' - phi'| at a float64 argument. For a ScalarLoss it
	// is proved; for any other it is an assumption on DPhi: 16 units of roundoff of
	// Slope. +Inf if the loss is not smooth.
	SlopeErr float64
	// SlopeMin <= phi' <= SlopeMax: the bounds that Constants rests on. Every computed
	// slope of a loss that is not smooth must be clamped to them (QueryBounds.Sum).
	SlopeMin, SlopeMax float64
}

// Smooth reports whether Curvature and SlopeErr bound the error of a computed slope.
func (s ScoreRange) Smooth() bool { return !math.IsInf(s.Curvature, 0) }

// assumedSlopeError is ScoreRange.SlopeErr of a loss that is no ScalarLoss, in units of
// roundoff of sup |phi'|. For the logistic loss it is proved in
// kernels.LogisticSlope (4 units, and sup |phi'| >= 1/2) from an error of math.Exp
// below 2 ulp; its sources state less than 1 ulp, and in kernels.LogisticSlopes
// (12 units relative).
const assumedSlopeError = 16

// NewScoreRange returns the limits for a problem whose Loss is a ScoreLoss, when
// every computed score is a sum of products of the given depth (at most depth
// roundings on the way of each product). It wraps ErrUnsupported for any other
// loss.
//
// Proof. |w.x| <= R ||w|| <= R r (1 + 2^-30), and a computed score differs by at
// most gamma(depth) sum |x_k w_k| <= gamma(depth) R ||w|| plus one smallest
// number per product that underflows. S = R r (1 + 2^-20) covers both when
// gamma(depth) < 2^-21, which is checked. Slope and Curvature: take z, z' with
// y - y' = l, x = -x' of norm R, and w parallel to x of any norm up to r':
// then u takes every value in [0, 2 l R r'], and with w reversed the negative
// ones, while the gradient has norm |phi'(u)| 2 R l and the Hessian the slope of
// phi' times (2 R l)^2. So Constants at radius r' = r (1 + 2^-19) bounds phi' by
// G / (2 R l) and its slope by L / (2 R l)^2 on [-V, V]. A ScalarLoss is asked for its
// bounds on MarginRange, which contains [-V, V]. QED
func NewScoreRange(p Problem, depth int) (ScoreLoss, ScoreRange, error) {
	if err := p.Validate(); err != nil {
		return nil, ScoreRange{}, err
	}
	loss, ok := p.Loss.(ScoreLoss)
	if !ok {
		return nil, ScoreRange{}, fmt.Errorf("%w: loss %q is not a function of score differences", ErrUnsupported, p.Loss.Name())
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
		return nil, ScoreRange{}, errors.New("engine: FeatureNorm, LabelAbs or Radius is outside the range of float64 products; rescale the features or labels")
	}
	return loss, s, nil
}

// slopes fills in what is known of phi'.
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
