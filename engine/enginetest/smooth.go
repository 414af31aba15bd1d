package enginetest

import (
	"fmt"
	"math"

	"dyad/engine"
)

// SmoothHinge is phi(u) = sqrt(1 + u^2) - u, a smooth loss that is not logistic. Its slope is not odd and does
// not saturate exponentially. Its strip of analyticity has half-height 1. It exists to test backends.
type SmoothHinge struct{}

var _ engine.AnalyticLoss = SmoothHinge{}

// Name returns "smooth-hinge".
func (SmoothHinge) Name() string { return "smooth-hinge" }

// Definition returns the formula.
func (SmoothHinge) Definition() string { return "sqrt(1 + u^2) - u, u = (y - y') w.(x - x')" }

// ParamDim returns d.
func (SmoothHinge) ParamDim(d int) int { return d }

// Constants returns G = 4 R l, L = 4 R^2 l^2 and Dg = 2 G, where l = 2 b.LabelAbs.
//
// Proof. phi' = u / sqrt(1 + u^2) - 1 is in (-2, 0), and its slope (1 + u^2)^(-3/2) is in (0, 1]. Also |y - y'|
// <= l and ||x - x'|| <= 2R.
func (SmoothHinge) Constants(b engine.Bounds, radius float64) (engine.Constants, error) {
	if err := b.Validate(); err != nil {
		return engine.Constants{}, err
	}
	if !(radius > 0) || math.IsInf(radius, 0) {
		return engine.Constants{}, fmt.Errorf("enginetest: SmoothHinge.Constants: radius is %v, must be positive and finite",
			radius)
	}
	R, l := b.FeatureNorm, 2*b.LabelAbs
	const up = 1 + 8*0x1p-52
	return engine.Constants{
		Lipschitz: 4 * R * l * up, Smoothness: 4 * R * R * l * l * up, PairDiameter: 8 * R * l * up,
		Convex: true, Origin: engine.Proved,
	}, nil
}

// Phi returns sqrt(1 + u^2) - u.
func (SmoothHinge) Phi(u float64) float64 {
	if u > 0 {
		return 1 / (math.Hypot(1, u) + u)
	}
	return math.Hypot(1, u) - u
}

// DPhi returns u / sqrt(1 + u^2) - 1.
func (SmoothHinge) DPhi(u float64) float64 {
	return u/math.Sqrt(1+u*u) - 1
}

// StripBound returns 1 + max(1, h/sqrt(1 - h^2)) for h < 1. For h >= 1, it returns +Inf, because the strip then
// contains the branch points +-i.
//
// Proof. Let u = a + ih and x = a^2. Then |u^2| / |1 + u^2| is (x + h^2) divided by sqrt((x + (1-h)^2)(x +
// (1+h)^2)) >= x + 1 - h^2. So |u^2| / |1 + u^2| is at most max(1, h^2/(1 - h^2)).
func (SmoothHinge) StripBound(_, h float64) float64 {
	if h >= 1 {
		return math.Inf(1)
	}
	return 1 + max(1, h/math.Sqrt((1-h)*(1+h)))
}

// Value returns phi at the margin of the pair.
func (l SmoothHinge) Value(w []float64, z, zp engine.Record) float64 { return l.Phi(margin(w, z, zp)) }

// AddGrad adds phi'(u) (y - y') (x - x') to dst.
func (l SmoothHinge) AddGrad(dst, w []float64, z, zp engine.Record) {
	c := l.DPhi(margin(w, z, zp)) * (z.Y - zp.Y)
	for k := range dst {
		dst[k] += c * (z.X[k] - zp.X[k])
	}
}

func margin(w []float64, z, zp engine.Record) float64 {
	var s float64
	for k := range w {
		s += w[k] * (z.X[k] - zp.X[k])
	}
	return (z.Y - zp.Y) * s
}
