package audit

import (
	"math"

	"dyad/engine"
)

// LinearMetric is the analogue of Linear for metric learning: the loss
//
//	l(W; z, z') = -y y' (1 - (x - x')^T W (x - x'))
//
// over positive semidefinite W. Its gradient y y' (x - x')(x - x')^T does not depend on W. It is for audits.
type LinearMetric struct{}

var _ engine.MetricLoss = LinearMetric{}

// Name returns "linear-metric".
func (LinearMetric) Name() string { return "linear-metric" }

// Definition returns the formula.
func (LinearMetric) Definition() string { return "-y y' (1 - (x - x')^T W (x - x'))" }

// ParamDim returns d(d+1)/2.
func (LinearMetric) ParamDim(d int) int { return engine.Symmetric{Dim: d}.Len() }

// Domain returns the PSDBall of this radius.
func (LinearMetric) Domain(d int, radius float64) engine.Domain {
	return engine.PSDBall{Dim: d, B: radius}
}

// Constants returns G = 4 R^2 q, Dg = 2 G and L = 0, where R = b.FeatureNorm and q = b.LabelAbs^2. The proof of
// engine.MahalanobisLogistic.Constants holds with |c| = |y y'| <= q for both signs. Dg is attained if the
// record (R u, b) is replaced by (R u, -b) and the other record of the pair is (-R u, -b).
func (LinearMetric) Constants(b engine.Bounds, radius float64) (engine.Constants, error) {
	g := 4 * b.FeatureNorm * b.FeatureNorm * b.LabelAbs * b.LabelAbs * (1 + 0x1p-49)
	return constantsOf("LinearMetric", b, radius, g, 2*g)
}

// MetricPhi returns -u.
func (LinearMetric) MetricPhi(u float64) float64 { return -u }

// MetricDPhi returns -1.
func (LinearMetric) MetricDPhi(float64) float64 { return -1 }

// Value returns l(w; z, zp).
func (LinearMetric) Value(w []float64, z, zp engine.Record) float64 {
	g := make([]float64, len(w))
	LinearMetric{}.AddGrad(g, w, z, zp)
	v := -z.Y * zp.Y
	for k := range w {
		v += w[k] * g[k]
	}
	return v
}

// AddGrad adds y y' times the coordinates of (x - x')(x - x')^T to dst.
func (LinearMetric) AddGrad(dst, _ []float64, z, zp engine.Record) {
	s := engine.Symmetric{Dim: len(z.X)}
	for i := range z.X {
		vi := z.X[i] - zp.X[i]
		dst[s.Index(i, i)] += z.Y * zp.Y * (vi * vi)
		for j := i + 1; j < len(z.X); j++ {
			dst[s.Index(i, j)] += z.Y * zp.Y * (math.Sqrt2 * vi * (z.X[j] - zp.X[j]))
		}
	}
}
