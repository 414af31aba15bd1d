package embedding

import (
	"fmt"
	"math"

	"dyad/engine"
)

// Contrastive is the contrastive loss of [Li20] equation 7, with D = ||f - f'||,
//
//	D^2/2 for equal labels or classes,   max(0, Margin - D)^2/2 for others,
//
// and the mean of it over all k(k-1)/2 pairs of a tuple. The gradient is taken as 0 at D = 0
// (docs/theory.md#pair-clipping).
type Contrastive struct {
	Margin float64 // m > 0, public
}

// Name returns "contrastive".
func (Contrastive) Name() string { return "contrastive" }

// Parameter is the margin.
func (l Contrastive) Parameter() (string, float64) { return "margin", l.Margin }

// Definition is the formula.
func (l Contrastive) Definition() string {
	return fmt.Sprintf("||f - f'||^2/2 for equal labels, else max(0, %g - ||f - f'||)^2/2", l.Margin)
}

// Link is the squared distance.
func (Contrastive) Link() Link { return SquaredDistance }

// Bounds has A = max(2 reach, Margin).
func (l Contrastive) Bounds(_ engine.Bounds, reach float64, _ int) (PairBounds, error) {
	if !(l.Margin > 0) || math.IsInf(l.Margin, 0) {
		return PairBounds{}, fmt.Errorf("embedding: Contrastive.Margin is %v, must be positive and finite", l.Margin)
	}
	return general(max(2*reach, l.Margin), engine.Proved), nil
}

func (Contrastive) scalar(engine.Bounds, float64) (engine.Scalar, float64) { return nil, 0 }

// Phi is the loss.
func (l Contrastive) Phi(square, y, yp float64) float64 {
	if y == yp {
		return square / 2
	}
	return l.value(square, false)
}

// DPhi is 1/2 for equal labels, and (D - m)/(2 D) for others of a distance D < m.
func (l Contrastive) DPhi(square, y, yp float64) float64 { return l.slope(0.5, square, y == yp) }

// Coefficient is what f - f' is multiplied by, for a squared distance.
func (l Contrastive) Coefficient(square float64, same bool) float64 { return l.slope(1, square, same) }

func (l Contrastive) value(square float64, same bool) float64 {
	d := math.Sqrt(square)
	if !same {
		d = max(0, l.Margin-d)
	}
	return d * d / 2
}

// slope is twice the weight times the derivative in the squared distance.
func (l Contrastive) slope(weight, square float64, same bool) float64 {
	if same {
		return weight
	}
	d := math.Sqrt(square)
	if !(square >= 0x1p-900) || d >= l.Margin {
		return 0
	}
	return weight * (d - l.Margin) / d
}

// Value is the mean over the pairs of a tuple.
func (l Contrastive) Value(q []float64, classes []int32) float64 {
	sum, k := 0.0, len(classes)
	for i := range k {
		for j := i + 1; j < k; j++ {
			sum += l.value(q[i*k+j], classes[i] == classes[j])
		}
	}
	return sum / (float64(k) * float64(k-1) / 2)
}

// Slopes adds those of the mean.
func (l Contrastive) Slopes(c, q []float64, classes []int32) {
	k := len(classes)
	each := 1 / (float64(k) * float64(k-1))
	for i := range k {
		for j := i + 1; j < k; j++ {
			c[i*k+j] += l.slope(each, q[i*k+j], classes[i] == classes[j])
		}
	}
}

// GradientBound is max(4 R^2 ||W||, 2 R m k): for L1 with ||W|| the largest column sum of
// |W| and k = sqrt d', for L2 with the Frobenius norm of W, which bounds its operator norm,
// and k = 1. Proof: docs/theory.md#pair-bounds.
func (l Contrastive) GradientBound(w []float64, d int, norm Norm, bound float64) float64 {
	size, k := 0.0, 1.0
	if norm == L2 {
		size = L2.of(w)
	} else {
		k = math.Sqrt(float64(len(w) / d))
		for j := range d {
			sum := 0.0
			for at := j; at < len(w); at += d {
				sum += math.Abs(w[at])
			}
			size = max(size, sum)
		}
	}
	return max(4*bound*bound*size, 2*bound*l.Margin*k) * (1 + 0x1p-40)
}
