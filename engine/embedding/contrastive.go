package embedding

import (
	"fmt"
	"math"

	"dyad/engine"
)

// Contrastive is the contrastive loss of [Li20] equation 7, with D = ||f - f'||,
//
//	D^2/2 for equal labels or classes,   max(0, Margin - D)^2/2 for others.
//
// The loss of a tuple is the mean of this loss over all k(k-1)/2 pairs of the tuple. The gradient is taken as 0
// at D = 0 (docs/theory.md#pair-clipping).
type Contrastive struct {
	// Margin is m, which must be positive. It is public.
	Margin float64
}

// Name returns "contrastive".
func (Contrastive) Name() string { return "contrastive" }

// Parameter returns the name "margin" and the margin.
func (l Contrastive) Parameter() (string, float64) { return "margin", l.Margin }

// Definition returns the formula.
func (l Contrastive) Definition() string {
	return fmt.Sprintf("||f - f'||^2/2 for equal labels, else max(0, %g - ||f - f'||)^2/2", l.Margin)
}

// Link returns SquaredDistance.
func (Contrastive) Link() Link { return SquaredDistance }

// Bounds returns bounds with A = max(2 reach, Margin).
func (l Contrastive) Bounds(_ engine.Bounds, reach float64, _ int) (PairBounds, error) {
	if !(l.Margin > 0) || math.IsInf(l.Margin, 0) {
		return PairBounds{}, fmt.Errorf("embedding: Contrastive.Margin is %v, but it must be positive and finite", l.Margin)
	}
	return general(max(2*reach, l.Margin), engine.Proved), nil
}

func (Contrastive) scalar(engine.Bounds, float64) (engine.Scalar, float64) { return nil, 0 }

// Phi returns the loss.
func (l Contrastive) Phi(square, y, yp float64) float64 {
	if y == yp {
		return square / 2
	}
	return l.value(square, false)
}

// DPhi returns the derivative: 1/2 for equal labels, (D - m)/(2 D) for different labels with a distance D < m,
// and 0 for larger distances. For different labels at D = 0 it is taken as 0.
func (l Contrastive) DPhi(square, y, yp float64) float64 { return l.slope(0.5, square, y == yp) }

// Coefficient returns the factor of f - f' in the gradient, given the squared distance.
func (l Contrastive) Coefficient(square float64, same bool) float64 { return l.slope(1, square, same) }

func (l Contrastive) value(square float64, same bool) float64 {
	d := math.Sqrt(square)
	if !same {
		d = max(0, l.Margin-d)
	}
	return d * d / 2
}

// slope returns twice the weight times the derivative of the loss in the squared distance.
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

// Value returns the mean loss over the pairs of a tuple.
func (l Contrastive) Value(q []float64, classes []int32) float64 {
	sum, k := 0.0, len(classes)
	for i := range k {
		for j := i + 1; j < k; j++ {
			sum += l.value(q[i*k+j], classes[i] == classes[j])
		}
	}
	return sum / (float64(k) * float64(k-1) / 2)
}

// Slopes adds to c the derivatives of Value with respect to the squared distances q.
func (l Contrastive) Slopes(c, q []float64, classes []int32) {
	k := len(classes)
	each := 1 / (float64(k) * float64(k-1))
	for i := range k {
		for j := i + 1; j < k; j++ {
			c[i*k+j] += l.slope(each, q[i*k+j], classes[i] == classes[j])
		}
	}
}

// GradientBound returns max(4 R^2 ||W||, 2 R m k). For L1, ||W|| is the largest column sum of |W| and k = sqrt
// d'. For L2, ||W|| is the Frobenius norm of W, which bounds its operator norm, and k = 1. The proof is in
// docs/theory.md#pair-bounds.
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
