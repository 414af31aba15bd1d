package enginetest

import (
	"fmt"
	"math"

	"dyad/engine"
)

// SmoothMetric is the phi of SmoothHinge applied to a Mahalanobis distance,
//
//	sqrt(1 + u^2) - u,   u = y y' (1 - (x - x')^T W (x - x')),
//
// a smooth metric loss that is not logistic. It exists to test backends.
type SmoothMetric struct{}

var _ engine.MetricLoss = SmoothMetric{}

// Name returns "smooth-metric".
func (SmoothMetric) Name() string { return "smooth-metric" }

// Definition returns the formula.
func (SmoothMetric) Definition() string {
	return "sqrt(1 + u^2) - u, u = y y' (1 - (x - x')^T W (x - x'))"
}

// ParamDim returns d(d+1)/2.
func (SmoothMetric) ParamDim(d int) int { return engine.Symmetric{Dim: d}.Len() }

// Domain returns the PSDBall of this radius.
func (SmoothMetric) Domain(d int, radius float64) engine.Domain {
	return engine.PSDBall{Dim: d, B: radius}
}

// Constants returns G = 8 R^2 q, L = 16 R^4 q^2 and Dg = 2 G, where q = b.LabelAbs^2.
//
// Proof. phi' is in (-2, 0), its slope is in (0, 1], and |y y'| <= q. The coordinates of (x - x')(x - x')^T
// have norm ||x - x'||^2 <= 4 R^2.
func (SmoothMetric) Constants(b engine.Bounds, radius float64) (engine.Constants, error) {
	if err := b.Validate(); err != nil {
		return engine.Constants{}, err
	}
	if !(radius > 0) || math.IsInf(radius, 0) {
		return engine.Constants{}, fmt.Errorf("enginetest: SmoothMetric.Constants: radius is %v, must be positive and finite",
			radius)
	}
	const up = 1 + 16*0x1p-52
	full := 4 * b.FeatureNorm * b.FeatureNorm * b.LabelAbs * b.LabelAbs
	return engine.Constants{
		Lipschitz: 2 * full * up, Smoothness: full * full * up, PairDiameter: 4 * full * up,
		Convex: true, Origin: engine.Proved,
	}, nil
}

// MetricPhi returns sqrt(1 + u^2) - u.
func (SmoothMetric) MetricPhi(u float64) float64 { return SmoothHinge{}.Phi(u) }

// MetricDPhi returns u / sqrt(1 + u^2) - 1.
func (SmoothMetric) MetricDPhi(u float64) float64 { return SmoothHinge{}.DPhi(u) }

// Value returns phi at the margin of the pair.
func (l SmoothMetric) Value(w []float64, z, zp engine.Record) float64 {
	return l.MetricPhi(metricMargin(w, z, zp))
}

// AddGrad adds -phi'(u) y y' times the coordinates of (x - x')(x - x')^T to dst.
func (l SmoothMetric) AddGrad(dst, w []float64, z, zp engine.Record) {
	c := -l.MetricDPhi(metricMargin(w, z, zp)) * z.Y * zp.Y
	for k, v := range squareCoordinates(z, zp) {
		dst[k] += c * v
	}
}

func metricMargin(w []float64, z, zp engine.Record) float64 {
	var m float64
	for k, v := range squareCoordinates(z, zp) {
		m += w[k] * v
	}
	return z.Y * zp.Y * (1 - m)
}

// squareCoordinates returns the Symmetric coordinates of (x - x')(x - x')^T.
func squareCoordinates(z, zp engine.Record) []float64 {
	d := len(z.X)
	square := make([]float64, d*d)
	for a := range d {
		for b := range d {
			square[a*d+b] = (z.X[a] - zp.X[a]) * (z.X[b] - zp.X[b])
		}
	}
	s := engine.Symmetric{Dim: d}
	coordinates := make([]float64, s.Len())
	s.Pack(coordinates, square)
	return coordinates
}
