package engine

// Metric is the pair loss of a scalar function of a Mahalanobis distance,
//
//	l(W; z, z') = phi(u),   u = y y' (1 - (x - x')^T W (x - x')),
//
// over positive semidefinite W of Frobenius norm at most r, in Symmetric coordinates.
// Labels are in [-b, b], where b is Bounds.LabelAbs. A pair with a label 0 has the
// constant loss phi(0).
type Metric struct {
	// Of is phi. It must not be nil.
	Of Scalar
}

var _ MetricLoss = Metric{}

// Name returns "mahalanobis-" and the name of phi.
func (m Metric) Name() string { return "mahalanobis-" + m.Of.Name() }

// Definition returns the formula.
func (m Metric) Definition() string {
	return m.Of.Text() + ", u = y y' (1 - (x - x')^T W (x - x'))"
}

// ParamDim returns d(d+1)/2.
func (Metric) ParamDim(d int) int { return Symmetric{Dim: d}.Len() }

// Domain returns the PSDBall with the given radius.
func (Metric) Domain(d int, radius float64) Domain { return PSDBall{Dim: d, B: radius} }

// Scalar returns phi.
func (m Metric) Scalar() Scalar { return m.Of }

// MarginRange returns an interval [-V, V] that contains u for all records within b and
// all W in Domain(d, radius), even after rounding. V is just above q max(1, A - 1), where
// q = b.LabelAbs^2, A = 4 R^2 radius and R = b.FeatureNorm.
func (Metric) MarginRange(b Bounds, radius float64) (lo, hi float64) {
	q, largest, _ := metricReach(b, radius)
	v := mulUp(q, max(1, largest-1)) + mulUp(q, largest)*3*scalarMarginSlack
	return -v, v
}

// metricReach returns q = LabelAbs^2, A = 4 R^2 B with B = radius, and 4 R^2, rounded up.
func metricReach(b Bounds, radius float64) (q, largest, full float64) {
	full = mulUp(4*b.FeatureNorm, b.FeatureNorm)
	return mulUp(b.LabelAbs, b.LabelAbs), mulUp(full, radius), full
}

// metricCells is the number of parts into which the interval (0, q] of label products is
// divided if A < 1. phi' is bounded separately for each part.
const metricCells = 128

// Constants returns these bounds. Here R = b.FeatureNorm, q = b.LabelAbs^2, A = 4 R^2
// radius and C = sup |phi”| on MarginRange.
//
//	G <= 4 R^2 max(P, N),   Dg <= 4 R^2 D <= 4 R^2 (P + N),   L <= 16 R^4 q^2 C.
//
// P is the supremum of max(0, c), and N is the supremum of max(0, -c), where c = -t
// phi'(t (1 - M)) for t in [-q, q] and M in [0, A]. D is the bound of metricDiameter if
// phi is smooth, convex and nonincreasing. Otherwise D is P + N.
//
// The proof is in docs/theory.md#metric-losses, and the proof for D is in
// docs/theory.md#metric-diameter. G is attained.
//
// The code takes the suprema over an interval of M that contains [-s, A + s] with s =
// 2^-18 A. This covers rounded margins, and W that are positive semidefinite up to 2^-30.
// The suprema are computed separately for the cells of a partition of the range of t. For
// t in [t0, t1], for example, a c >= 0 is at most t1 times the largest -phi' on the hull
// of t [1 - A - s, 1 + s]. For a loss that is not smooth, P = N = q sup |phi'|, so P and
// N hold for any computed slope within the bounds of phi'.
func (m Metric) Constants(b Bounds, radius float64) (Constants, error) {
	if err := checkScalarBounds(m.Of, b, radius); err != nil {
		return Constants{}, err
	}
	lo, hi := m.MarginRange(b, radius)
	k, err := BoundsOn(m.Of, lo, hi)
	if err != nil {
		return Constants{}, err
	}
	q, largest, full := metricReach(b, radius)
	positive := mulUp(q, k.Slope())
	negative := positive
	spread := positive + negative
	if k.Smooth() {
		if positive, negative, err = m.coefficients(q, largest); err != nil {
			return Constants{}, err
		}
		spread = positive + negative
	}
	if k.Smooth() && k.Convex && k.rising() == 0 {
		s := 2 * scalarMarginSlack * largest
		reach, err := newSlopeReach(m.Of, q, max(largest-1, 1)+2*s, hi, k.SlopeError)
		if err != nil {
			return Constants{}, err
		}
		spread = min(spread, metricDiameter(reach.slope, largest, s))
	}
	area := mulUp(full, q)
	return scalarConstants(m.Of, k, full, mulUp(area, area), max(positive, negative), spread)
}

// coefficients returns P and N of Constants.
func (m Metric) coefficients(q, largest float64) (positive, negative float64, err error) {
	s := 2 * scalarMarginSlack * largest // twice: covers the rounding of the sums
	least, most := 1-largest-s, 1+s
	cells := 1
	if least > 0 {
		cells = metricCells
	}
	for i := range cells {
		t0 := q * float64(i) / float64(cells)
		t1 := q * float64(i+1) / float64(cells) * (1 + 0x1p-50)
		from, to := min(t0*least*(1-0x1p-50), t1*least), t1*most
		near, err := m.Of.Bounds(from, to)
		if err != nil {
			return 0, 0, err
		}
		far, err := m.Of.Bounds(-to, -from)
		if err != nil {
			return 0, 0, err
		}
		positive = max(positive, mulUp(t1, max(near.falling(), far.rising())))
		negative = max(negative, mulUp(t1, max(near.rising(), far.falling())))
	}
	return positive, negative, nil
}

// MetricPhi returns phi(u).
func (m Metric) MetricPhi(u float64) float64 { return m.Of.Phi(u) }

// MetricDPhi returns phi'(u).
func (m Metric) MetricDPhi(u float64) float64 { return m.Of.DPhi(u) }

// Value returns l(w; z, zp).
func (m Metric) Value(w []float64, z, zp Record) float64 { return m.Of.Phi(metricMargin(w, z, zp)) }

// AddGrad adds -phi'(u) y y' times the coordinates of (x - x')(x - x')^T to dst.
func (m Metric) AddGrad(dst, w []float64, z, zp Record) { addMetricGrad(dst, w, z, zp, m.Of.DPhi) }
