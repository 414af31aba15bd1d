package own

import (
	"math"

	"dyad/engine"
)

// Cosine learns weights of the features such that weighted records of one class point in the same direction:
//
//	l(w; z, z') = (cos(a, a') - 1[y = y'])^2 / 2,   a = w * x, coordinate by coordinate
//
// with cos(a, a') = a.a' / (|a| |a'| + 1). It is neither convex nor a function of one margin.
type Cosine struct {
	// Clip is the norm to which the gradient of a pair is clipped; 0 means 1.
	Clip float64
}

var _ engine.Loss = Cosine{}

// Name implements engine.Loss.
func (Cosine) Name() string { return "cosine" }

// Definition implements engine.Loss.
func (Cosine) Definition() string { return "(cos(w x, w x') - 1[y = y'])^2 / 2" }

// ParamDim implements engine.Loss: one weight a feature.
func (Cosine) ParamDim(d int) int { return d }

// Constants implements engine.Loss. No bound of the gradient is proved, so the gradient
// is clipped. Smoothness is infinite, because the rounding error of the gradient is not
// known.
func (l Cosine) Constants(engine.Bounds, float64) (engine.Constants, error) {
	g := l.Clip
	if g == 0 {
		g = 1
	}
	return engine.Constants{Lipschitz: g, PairDiameter: 2 * g, Smoothness: math.Inf(1), Origin: engine.ClippedTerms}, nil
}

// cosine returns cos(a, a'), the product of the lengths plus 1, and the squared lengths.
func cosine(w []float64, z, zp engine.Record) (c, lengths, square, squareP float64) {
	var product float64
	for k, v := range w {
		product += v * v * z.X[k] * zp.X[k]
		square += v * v * z.X[k] * z.X[k]
		squareP += v * v * zp.X[k] * zp.X[k]
	}
	lengths = math.Sqrt(square*squareP) + 1
	return product / lengths, lengths, square, squareP
}

func same(z, zp engine.Record) float64 {
	if z.Y == zp.Y {
		return 1
	}
	return 0
}

// Value implements engine.Loss.
func (Cosine) Value(w []float64, z, zp engine.Record) float64 {
	c, _, _, _ := cosine(w, z, zp)
	e := c - same(z, zp)
	return e * e / 2
}

// AddGrad implements engine.Loss.
func (Cosine) AddGrad(dst, w []float64, z, zp engine.Record) {
	c, lengths, square, squareP := cosine(w, z, zp)
	e := 2 * (c - same(z, zp)) / lengths
	root := math.Sqrt(square * squareP)
	for k, v := range w {
		g := z.X[k] * zp.X[k]
		if root > 0 {
			g -= c / 2 * (z.X[k]*z.X[k]*squareP + zp.X[k]*zp.X[k]*square) / root
		}
		dst[k] += e * v * g
	}
}
