package engine

import (
	"fmt"
	"math"
)

// Pointwise is the margin loss of a single record,
//
//	l(w, b; z) = phi(u),   u = y (w.x + b),
//
// for learners without pairs, such as local learners. Parameters are w_1 .. w_d, b.
type Pointwise struct {
	// Of is phi; not nil.
	Of Scalar
}

// Name returns "pointwise-" and the name of phi.
func (p Pointwise) Name() string { return "pointwise-" + p.Of.Name() }

// Definition returns the formula.
func (p Pointwise) Definition() string { return p.Of.Text() + ", u = y (w.x + b)" }

// ParamDim returns d + 1.
func (Pointwise) ParamDim(d int) int { return d + 1 }

// Margin is u for parameters w (length d + 1) and a record of d features.
func (Pointwise) Margin(w []float64, z Record) float64 {
	d := len(w) - 1
	s := w[d]
	for k, v := range z.X[:d] {
		s += w[k] * v
	}
	return z.Y * s
}

// Value is l(w; z).
func (p Pointwise) Value(w []float64, z Record) float64 { return p.Of.Phi(p.Margin(w, z)) }

// Slope is phi' at a margin.
func (p Pointwise) Slope(margin float64) float64 { return p.Of.DPhi(margin) }

// AddGrad adds the gradient phi'(u) y (x, 1) to dst (length d + 1).
func (p Pointwise) AddGrad(dst, w []float64, z Record) {
	c := p.Of.DPhi(p.Margin(w, z)) * z.Y
	d := len(w) - 1
	for k, v := range z.X[:d] {
		dst[k] += c * v
	}
	dst[d] += c
}

// PointwiseConstants are the properties of a Pointwise loss for all records within
// Bounds and all (w, b) in a ball. Every number is rounded up.
type PointwiseConstants struct {
	// Margin is the largest |u|.
	Margin float64
	// Slope is the largest |phi'(u)| for |u| <= Margin.
	Slope float64
	// Lipschitz bounds ||grad l||.
	Lipschitz float64
	// Smoothness is the Lipschitz constant of the gradient, +Inf if it has none.
	Smoothness float64
	// Convex says that l is convex in (w, b).
	Convex bool
	// Origin says how the bounds of phi were obtained.
	Origin Origin
}

// Constants returns, with R = b.FeatureNorm, Y = b.LabelAbs, V = Y r sqrt(R^2 + 1) and
// parameters (w, b) of Euclidean norm at most r = radius,
//
//	G <= Y sqrt(R^2 + 1) sup |phi'|,   L <= Y^2 (R^2 + 1) sup |phi”|
//
// over |u| <= V.
//
// Proof. grad l = phi'(u) y (x, 1) and ||(x, 1)||^2 = ||x||^2 + 1 <= R^2 + 1. By
// Cauchy's inequality |u| <= |y| ||(w, b)|| ||(x, 1)|| <= V. The Hessian is phi”(u) y^2
// (x, 1)(x, 1)^T, and u is linear in (w, b). The range is widened by 2^-18, which
// covers margins that are rounded. QED
//
// It fails if radius is not positive and finite, or phi' cannot be bounded.
func (p Pointwise) Constants(b Bounds, radius float64) (PointwiseConstants, error) {
	if err := checkScalarBounds(p.Of, b, radius); err != nil {
		return PointwiseConstants{}, err
	}
	row := math.Hypot(b.FeatureNorm, 1) * (1 + 0x1p-50)
	full := mulUp(b.LabelAbs, row)
	c := PointwiseConstants{Margin: mulUp(full, radius) * (1 + scalarMarginSlack)}
	if math.IsInf(c.Margin, 0) || math.IsInf(full*full, 0) {
		return PointwiseConstants{}, fmt.Errorf("engine: loss %s: bounds too large; rescale the features", p.Name())
	}
	k, err := boundsOn(p.Of, -c.Margin, c.Margin)
	if err != nil {
		return PointwiseConstants{}, err
	}
	c.Slope = k.Slope()
	c.Lipschitz = mulUp(full, c.Slope)
	c.Smoothness = mulUp(mulUp(full, full), k.smoothness())
	c.Convex, c.Origin = k.Convex, k.Origin
	return c, nil
}
