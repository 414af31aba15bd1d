package audit

import (
	"fmt"
	"math"

	"dyad/engine"
)

// Linear is a loss that attains the bounds of the certificates (docs/theory.md#audit-worst-cases):
//
//	l(w; z, z') = -(y - y') w.(x - x')
//
// Its gradient does not depend on w, so a replaced record moves every iterate by the distance that the worst
// case allows. Linear is for audits: its minimum is at the boundary of the ball.
type Linear struct{}

var _ engine.AnalyticLoss = Linear{}

// Name returns "linear".
func (Linear) Name() string { return "linear" }

// Definition returns the formula.
func (Linear) Definition() string { return "-(y - y') w.(x - x')" }

// ParamDim returns d.
func (Linear) ParamDim(d int) int { return d }

// Constants returns G = Dg = 2 R l and L = 0, where R = b.FeatureNorm and l = 2 b.LabelAbs is the length of the
// label interval. The proof of engine.Logistic.Constants holds with s = 1. For a unit vector u, the records (R
// u, l/2) and (-R u, -l/2) attain G and Dg.
func (Linear) Constants(b engine.Bounds, radius float64) (engine.Constants, error) {
	g := 4 * b.FeatureNorm * b.LabelAbs * (1 + 0x1p-50)
	return constantsOf("Linear", b, radius, g, g)
}

// constantsOf returns the constants G and Dg of a loss without curvature.
func constantsOf(loss string, b engine.Bounds, radius, g, dg float64) (engine.Constants, error) {
	if err := b.Validate(); err != nil {
		return engine.Constants{}, err
	}
	if !(radius > 0) || math.IsInf(radius, 0) {
		return engine.Constants{}, fmt.Errorf("audit: %s.Constants: the radius is %v, but must be positive and finite",
			loss, radius)
	}
	if math.IsInf(dg, 0) {
		return engine.Constants{}, fmt.Errorf("audit: %s.Constants: the bounds are so large that the constants overflow",
			loss)
	}
	return engine.Constants{Lipschitz: g, PairDiameter: dg, Convex: true, Origin: engine.Proved}, nil
}

// Phi returns -u.
func (Linear) Phi(u float64) float64 { return -u }

// DPhi returns -1.
func (Linear) DPhi(float64) float64 { return -1 }

// StripBound returns 1.
func (Linear) StripBound(_, _ float64) float64 { return 1 }

// Value returns l(w; z, zp).
func (Linear) Value(w []float64, z, zp engine.Record) float64 {
	var s float64
	for k := range w {
		s += w[k] * (z.X[k] - zp.X[k])
	}
	return -(z.Y - zp.Y) * s
}

// AddGrad adds -(y - y') (x - x') to dst.
func (Linear) AddGrad(dst, _ []float64, z, zp engine.Record) {
	for k := range dst {
		dst[k] -= (z.Y - zp.Y) * (z.X[k] - zp.X[k])
	}
}
