package engine

import (
	"errors"
	"fmt"
	"math"
)

// MetricRange holds the public limits of a problem with a MetricLoss. All limits are
// rounded up.
type MetricRange struct {
	Labels      float64 // q = LabelAbs^2: |y y'| <= q
	Distance    float64 // A = 4 R^2 r: |(x - x')^T W (x - x')| <= A, exact or computed
	Margin      float64 // V = q (1 + A): |u| <= V, exact or computed
	Slope       float64 // Q = sup |phi'(u)| over |u| <= V
	Curvature   float64 // C = sup of the derivative of phi' over |u| <= V, +Inf if not smooth
	SlopeErr    float64 // error of a computed slope at a float64 margin, as in ScoreRange
	DistanceErr float64 // |computed - exact| of a distance in float64
	MarginErr   float64 // |computed - exact| of a margin in float64
	// SlopeMin and SlopeMax are the bounds of phi' from which Constants are computed.
	// Computed slopes of a loss that is not smooth are clamped to them.
	SlopeMin, SlopeMax float64
	// WithinErr is the error of a slope at a computed margin, if W is in the domain of the
	// loss. The margins of these W are in MarginRange, which is smaller than [-V, V].
	// WithinErr is set if phi' is smooth on MarginRange but not on [-V, V]. The loss then has
	// the Constants of a smooth loss. Otherwise WithinErr is 0.
	WithinErr float64
}

// Smooth reports whether the error of a computed slope is bounded by Curvature and SlopeErr.
func (m MetricRange) Smooth() bool { return !math.IsInf(m.Curvature, 0) }

// NewMetricRange returns the limits of a problem. DistanceErr holds for distances that are
// computed in float64 as sums of products x_a W_ab x_b, each product with at most depth
// roundings. MarginErr holds for margins y y' (1 - distance) that are computed in the same
// way from products x_a W_ab x_b y y'. NewMetricRange returns an error wrapping
// ErrUnsupported for a loss that is neither smooth nor a ScalarLoss, and for a depth of
// 2^31 or more.
//
// Distances. Let W be symmetric, not necessarily semidefinite, with coordinates w and
// ||w|| <= r (1 + 2^-30). Then |x|^T |W| |x'| <= R^2 || |W| ||_2 <= R^2 ||W||_F with |.|
// entrywise. A distance is computed from s_i + s_j - 2 x_i^T W x_j or from v^T W v with v
// = x - x'. In each case the absolute values of its products add up to at most 4 R^2
// ||W||_F. So the error of a distance is at most gamma(depth) A. The terms of a margin
// have an additional sum of q, so the error of a margin is at most gamma(depth) V. A = 4
// R^2 r (1 + 2^-20) also covers computed distances if gamma(depth) < 2^-22, which is
// checked. Underflow occurs in fewer than 8 d^2 operations. Each loses at most 2^-1074,
// and the loss is multiplied by at most 4 d (1 + R)^2, and for a margin also by 1 + q.
//
// Slope and curvature. Take x = -x' of norm R, and y = y' or y = -y' of size LabelAbs.
// Take W = B e e^T with e along x, for any B up to r' = (r + 1/(2 R^2)) (1 + 2^-19). This
// W is semidefinite and has norm B. Then u = +-q (1 - 4 R^2 B) takes every value of [-V,
// V], because 4 R^2 r' - 1 >= V/q. The gradient has norm |phi'(u)| q 4 R^2, and the
// Hessian has norm |phi”(u)| (q 4 R^2)^2. So the Constants at radius r' bound phi' by G /
// (4 R^2 q) and the slope of phi' by L / (4 R^2 q)^2 on [-V, V]. These bounds also hold
// for indefinite W, for which the constants themselves do not hold. For a ScalarLoss, its
// own bounds on [-V, V] are used. QED
func NewMetricRange(p Problem, loss MetricLoss, depth int) (MetricRange, error) {
	if got, want := loss.ParamDim(p.D), (Symmetric{Dim: p.D}).Len(); got != want {
		return MetricRange{}, fmt.Errorf("engine: loss %q has %d parameters for %d features, want the %d coordinates of a "+
			"symmetric matrix", loss.Name(), got, p.D, want)
	}
	up := 1 + 16*unitRoundoff
	R, r, b := p.Bounds.FeatureNorm, p.Radius, p.Bounds.LabelAbs
	outside := errors.New("engine: FeatureNorm, LabelAbs or Radius is outside the range of float64 products; rescale the " +
		"features or labels")
	reach := (r + 1/(2*R*R)) * (1 + 0x1p-19)
	if !(reach < math.MaxFloat64) || !(R*R > 0x1p-500) || !(b*b > 0x1p-500) || !(4*R*R*r > 0x1p-500) {
		return MetricRange{}, outside
	}
	g := Gamma(depth)
	if g >= 0x1p-22 {
		return MetricRange{}, fmt.Errorf("%w: dot products of %d features lose too many digits", ErrUnsupported, p.D)
	}
	m := MetricRange{Labels: b * b * up, Distance: 4 * R * R * r * (1 + 0x1p-20)}
	m.Margin = m.Labels * (1 + m.Distance) * up
	full := 4 * R * R * b * b // the rounding of these four is in up, below
	within, err := m.slopes(p, loss, reach, full, up)
	if err != nil {
		return MetricRange{}, err
	}
	d := float64(p.D)
	m.DistanceErr = g*m.Distance*up + d*d*d*(1+R)*(1+R)*0x1p-1060
	m.MarginErr = g*m.Margin*up + d*d*d*(1+R)*(1+R)*(1+m.Labels)*0x1p-1060
	if !(m.Margin < math.MaxFloat64/16) || !(full*full < math.MaxFloat64) || m.DistanceErr > m.Distance*0x1p-21 ||
		m.MarginErr > m.Margin*0x1p-21 {
		return MetricRange{}, outside
	}
	if within.Smooth() {
		m.WithinErr = within.Curvature*m.MarginErr + within.SlopeError
	}
	return m, nil
}

// slopes sets the fields about phi'. For a ScalarLoss that is not smooth up to V, it returns
// the bounds on MarginRange. For all other losses it returns bounds that are not smooth.
func (m *MetricRange) slopes(p Problem, loss MetricLoss, reach, full, up float64) (ScalarBounds, error) {
	none := ScalarBounds{Curvature: math.Inf(1)}
	if form, ok := loss.(ScalarLoss); ok {
		k, err := form.Scalar().Bounds(-m.Margin, m.Margin)
		if err != nil {
			return none, err
		}
		m.Slope, m.Curvature, m.SlopeErr = k.Slope(), k.Curvature, k.SlopeError
		if k.Smooth() {
			return none, nil
		}
		if k, err = form.Scalar().Bounds(form.MarginRange(p.Bounds, p.Radius)); err != nil {
			return none, err
		}
		m.Slope, m.Curvature, m.SlopeMin, m.SlopeMax = k.Slope(), math.Inf(1), k.SlopeMin, k.SlopeMax
		return k, nil
	}
	c, err := loss.Constants(p.Bounds, reach)
	if err != nil {
		return none, err
	}
	if math.IsInf(c.Smoothness, 0) {
		return none, fmt.Errorf("%w: the rounding error of loss %q has no proved bound; want a smooth loss or a "+
			"ScalarLoss",
			ErrUnsupported, loss.Name())
	}
	m.Slope = c.Lipschitz / full * up
	m.Curvature = c.Smoothness / full / full * up
	m.SlopeErr = assumedSlopeError * unitRoundoff * m.Slope
	return none, nil
}
