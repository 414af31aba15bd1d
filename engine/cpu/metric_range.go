package cpu

import (
	"errors"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/kernels"
)

// metricRange are the public limits of a problem with a MetricLoss. All are
// rounded up.
type metricRange struct {
	labels    float64 // q = LabelAbs^2: |y y'| <= q
	distance  float64 // A = 4 R^2 r: |(x - x')^T W (x - x')| <= A, exact or computed
	margin    float64 // V = q (1 + A): |u| <= V, exact or computed
	slope     float64 // Q = sup |phi'(u)| over |u| <= V
	curvature float64 // C = sup of the derivative of phi' there, +Inf if not smooth
	slopeErr  float64 // of a computed slope at a float64 margin
	marginErr float64 // |computed - exact| of a margin
	// Slopes of a loss that is not smooth are clamped to these, on which its Constants
	// rest.
	slopeMin, slopeMax float64
}

func (m metricRange) smooth() bool { return !math.IsInf(m.curvature, 0) }

// newMetricRange returns the limits. It wraps engine.ErrUnsupported for a loss that is
// neither smooth nor an engine.ScalarLoss.
//
// Margins. A symmetric W of coordinates w, ||w|| <= r (1 + 2^-30), not necessarily
// semidefinite, has |x|^T |W| |x'| <= R^2 || |W| ||_2 <= R^2 ||W||_F with |.|
// entrywise. Those of all pairs are computed from p (1 - (s_i + s_j - 2 x_i^T W x_j)) with
// p = y_i y_j, whose terms have absolute values of at most q (1 + 4 R^2 ||W||_F) together;
// every product of a term is in at most 3 (Unpack) + AddProductsDepth(d) (X W) +
// DotDepth(d) (s_i) + MetricMarginDepth(d) roundings. Prefix pairs are computed from
// v^T W v with v = x - x' rounded, in 3 + 2 (v, twice) + AddProductsDepth(d) +
// DotDepth(d) + 3 (p, difference and product) roundings. So an error is at most gamma(k) V
// with k as in marginDepth. A = 4 R^2 r (1 + 2^-20) also covers computed distances if
// gamma(k) < 2^-22, which is checked. Underflow: fewer than 8 d^2 operations, each of which
// loses at most 2^-1074 and is multiplied by at most 4 d (1 + R)^2 (1 + q).
//
// Slope and curvature. Take x = -x' of norm R, y = y' or y = -y' of size LabelAbs and
// W = B e e^T along x, for any B up to r' = (r + 1/(2 R^2)) (1 + 2^-19): semidefinite
// and of norm B. Then u = +-q (1 - 4 R^2 B) takes every value of [-V, V], because
// 4 R^2 r' - 1 >= V/q. The gradient has norm |phi'(u)| q 4 R^2 and the Hessian
// phi”(u) (q 4 R^2)^2. So Constants at radius r' bounds phi' by G / (4 R^2 q) and its
// slope by L / (4 R^2 q)^2 on [-V, V], also for the indefinite W for which the
// constants themselves do not hold. A ScalarLoss is asked for its bounds on [-V, V]. QED
func newMetricRange(p engine.Problem, loss engine.MetricLoss) (metricRange, error) {
	up := 1 + 16*u
	R, r, b := p.Bounds.FeatureNorm, p.Radius, p.Bounds.LabelAbs
	outside := errors.New("cpu: FeatureNorm, LabelAbs or Radius is outside the range of float64 products; rescale the features or labels")
	reach := (r + 1/(2*R*R)) * (1 + 0x1p-19)
	if !(reach < math.MaxFloat64) || !(R*R > 0x1p-500) || !(b*b > 0x1p-500) || !(4*R*R*r > 0x1p-500) {
		return metricRange{}, outside
	}
	g := engine.Gamma(marginDepth(p.D))
	if g >= 0x1p-22 {
		return metricRange{}, fmt.Errorf("%w: products of %d features lose too many digits", engine.ErrUnsupported, p.D)
	}
	m := metricRange{labels: b * b * up, distance: 4 * R * R * r * (1 + 0x1p-20)}
	m.margin = m.labels * (1 + m.distance) * up
	full := 4 * R * R * b * b // the rounding of these four is in up, below
	if err := m.slopes(p, loss, reach, full, up); err != nil {
		return metricRange{}, err
	}
	d := float64(p.D)
	m.marginErr = g*m.margin*up + d*d*d*(1+R)*(1+R)*(1+m.labels)*0x1p-1060
	if !(m.margin < math.MaxFloat64/16) || !(full*full < math.MaxFloat64) || m.marginErr > m.margin*0x1p-21 {
		return metricRange{}, outside
	}
	return m, nil
}

// slopes fills in what is known of phi'.
func (m *metricRange) slopes(p engine.Problem, loss engine.MetricLoss, reach, full, up float64) error {
	if form, ok := loss.(engine.ScalarLoss); ok {
		k, err := form.Scalar().Bounds(-m.margin, m.margin)
		if err != nil {
			return err
		}
		m.slope, m.curvature, m.slopeErr = k.Slope(), k.Curvature, k.SlopeError
		if k.Smooth() {
			return nil
		}
		if k, err = form.Scalar().Bounds(form.MarginRange(p.Bounds, p.Radius)); err != nil {
			return err
		}
		m.slope, m.curvature, m.slopeMin, m.slopeMax = k.Slope(), math.Inf(1), k.SlopeMin, k.SlopeMax
		return nil
	}
	c, err := loss.Constants(p.Bounds, reach)
	if err != nil {
		return err
	}
	if math.IsInf(c.Smoothness, 0) {
		return fmt.Errorf("%w: loss %q is neither smooth nor an engine.ScalarLoss, the cpu backend cannot bound its rounding error", engine.ErrUnsupported, loss.Name())
	}
	m.slope = c.Lipschitz / full * up
	m.curvature = c.Smoothness / full / full * up
	m.slopeErr = assumedSlopeError * u * m.slope
	return nil
}

// assumedSlopeError is the error of MetricDPhi of a loss that is no ScalarLoss, in units
// of roundoff of sup |phi'|; see engine.ScoreRange.SlopeErr.
const assumedSlopeError = 16

// marginDepth is the depth of a margin by either way.
func marginDepth(d int) int {
	return 3 + kernels.AddProductsDepth(d) + kernels.DotDepth(d) + kernels.MetricMarginDepth(d)
}
