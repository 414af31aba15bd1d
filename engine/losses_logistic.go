package engine

import (
	"errors"
	"fmt"
	"math"
)

// Logistic is the logistic AUC (bipartite ranking) loss
//
//	l(w; z, z') = log(1 + exp(-u)),   u = (y - y') w.(x - x')
//
// for labels in [-b, b], where b is Bounds.LabelAbs ([Huai20] Example 2, [Xue21] Section
// 5). Pairs of equal labels have the constant loss log 2.
type Logistic struct{}

var (
	_ AnalyticLoss   = Logistic{}
	_ analyticScalar = Logistic{}
)

// Name returns "logistic".
func (Logistic) Name() string { return "logistic" }

// Definition returns the formula.
func (Logistic) Definition() string { return "log(1 + exp(-(y - y') w.(x - x')))" }

// ParamDim returns d.
func (Logistic) ParamDim(d int) int { return d }

// Constants returns the following constants. R is b.FeatureNorm, r is radius, and l = 2
// b.LabelAbs is the length of the label interval.
//
//	G <= 2 R l sigm(2 R r l),   L <= R^2 l^2,   Dg <= 2 R l sigm(2 R r l).
//
// For binary labels (l = 2) this is 4R sigm(4Rr), 4R^2 and 4R sigm(4Rr).
//
// Up to a factor of 0.98, Dg is attained. The proof is in docs/theory.md#score-losses.
func (Logistic) Constants(b Bounds, radius float64) (Constants, error) {
	if err := b.Validate(); err != nil {
		return Constants{}, err
	}
	if !(radius > 0) || math.IsInf(radius, 0) {
		return Constants{}, fmt.Errorf("engine: Logistic.Constants: the radius is %v, but it must be positive and "+
			"finite", radius)
	}
	l, R := 2*b.LabelAbs, b.FeatureNorm
	// The error of math.Exp is at most 1 ulp, and four units in the last place cover the error of the sigmoid.
	s := min(1, sigmoid(mulUp(mulUp(2*R, radius), l))*(1+4*0x1p-52))
	g := mulUp(mulUp(2*R, l), s)
	c := Constants{
		Lipschitz:    g,
		Smoothness:   mulUp(mulUp(R, R), mulUp(l, l)),
		PairDiameter: g,
		Convex:       true,
		Origin:       Proved,
	}
	if math.IsInf(c.Smoothness, 0) || math.IsInf(g, 0) {
		return Constants{}, errors.New("engine: Logistic.Constants: the bounds are so large that the constants " +
			"overflow; rescale the features")
	}
	return c, nil
}

// Phi returns log(1 + exp(-u)) without overflow.
func (Logistic) Phi(u float64) float64 {
	if u > 0 {
		return math.Log1p(math.Exp(-u))
	}
	return math.Log1p(math.Exp(u)) - u
}

// DPhi returns -sigm(-u).
func (Logistic) DPhi(u float64) float64 { return -sigmoid(-u) }

// Text returns phi as a formula.
func (Logistic) Text() string { return "log(1 + exp(-u))" }

// Slopes replaces every number of u by its DPhi.
func (l Logistic) Slopes(u []float64) {
	for i, v := range u {
		u[i] = l.DPhi(v)
	}
}

// Bounds returns the bounds of the derivatives of phi on [lo, hi]. phi' = -sigm(-u)
// increases, and phi” = sigm'(u) is even and decreases with |u|. The error of sigmoid is
// at most 4 units in the last place, and 1 - sigm(v) = sigm(-v) has the same error bound.
func (Logistic) Bounds(lo, hi float64) (ScalarBounds, error) {
	if err := checkRange("logistic", lo, hi); err != nil {
		return ScalarBounds{}, err
	}
	const up = 1 + 16*0x1p-52
	curvature := func(v float64) float64 { return sigmoid(v) * sigmoid(-v) }
	nearest := max(lo, -hi, 0) // the least |u|
	return ScalarBounds{
		SlopeMin: -sigmoidUp(-lo), SlopeMax: -sigmoid(-hi) / up,
		Curvature: min(0.25, curvature(nearest)*up), Convex: true,
		SlopeError: 8 * unitRoundoff, Origin: Proved,
	}, nil
}

// StripBound returns the bound of |sigm| in the strip |Im u| <= h. The bound is 1 for h
// <= pi/2, 1/sin h for h between pi/2 and pi, and +Inf for h >= pi.
//
// Proof. If cos b >= 0, |1 + exp(a + ib)| is at least the real part of 1 + exp(a + ib),
// which is at least 1. If cos b < 0, the minimum over e^a > 0 of |1 + e^a e^ib| is the
// distance from -1 to the ray with direction e^ib, which is |sin b|. The poles are at i
// pi (2k+1).
func (Logistic) StripBound(_, h float64) float64 {
	switch {
	case h <= math.Pi/2:
		return 1
	case h < math.Pi:
		return 1 / math.Sin(h)
	}
	return math.Inf(1)
}

// Value returns l(w; z, zp).
func (l Logistic) Value(w []float64, z, zp Record) float64 {
	return l.Phi(scoreMargin(w, z, zp))
}

// AddGrad adds phi'(u) (y - y') (x - x') to dst.
func (l Logistic) AddGrad(dst, w []float64, z, zp Record) {
	addScoreGrad(dst, w, z, zp, l.DPhi)
}

// mulUp returns the product of positive a and b, rounded up.
func mulUp(a, b float64) float64 {
	p := a * b
	if math.FMA(a, b, -p) > 0 {
		return math.Nextafter(p, math.Inf(1))
	}
	return p
}

func sigmoid(v float64) float64 {
	if v >= 0 {
		return 1 / (1 + math.Exp(-v))
	}
	e := math.Exp(v)
	return e / (1 + e)
}

func scoreMargin(w []float64, z, zp Record) float64 {
	var s float64
	for k := range w {
		s += w[k] * (z.X[k] - zp.X[k])
	}
	return (z.Y - zp.Y) * s
}

func addScoreGrad(dst, w []float64, z, zp Record, dphi func(float64) float64) {
	if z.Y == zp.Y {
		return
	}
	c := dphi(scoreMargin(w, z, zp)) * (z.Y - zp.Y)
	for k := range dst {
		dst[k] += c * (z.X[k] - zp.X[k])
	}
}

// sigmoidUp returns an upper bound of sigm(v) that is at most 1. The error of math.Exp is
// below 1 ulp, so four units in the last place cover the error of sigmoid.
func sigmoidUp(v float64) float64 { return min(1, sigmoid(v)*(1+4*0x1p-52)) }
