package algorithms

import (
	"math"

	"dyad/engine"
)

// weightNoise is the covariance of the noise in a model along the vectors of a spectrum: a diagonal matrix plus the
// outer product of along. It is computed from released values and the levels of their noise, so there is no further
// charge (docs/theory.md#curve-bands).
//
// The matrix, lambda and the damping of the steps are taken as released. Then the model is linear in the noise of the
// signed sum and of the gradients, and linear to first order in the noise of the matrix.
type weightNoise struct{ variance, along []float64 }

// noise returns the covariance for w = (Xi + lambda I)^-1 v. The noise of v has standard deviation s1 in each
// coordinate. Noise E in the matrix moves w by -(Xi + lambda I)^-1 E w. E has the standard deviation s2 in isometric
// coordinates, so the covariance of E w is s2^2 (|w|^2 I + w w^T)/2.
func (m *MomentsPlan) noise(f momentsFit) weightNoise {
	s1, s2 := m.SumNoise/m.ClipRadius, m.SecondNoise/(m.ClipRadius*m.ClipRadius)
	e := weightNoise{variance: make([]float64, len(f.w)), along: make([]float64, len(f.w))}
	infinite := math.IsInf(f.lambda, 1)
	var square float64
	for _, w := range f.w {
		square += w * w
	}
	for i, x := range f.values {
		switch {
		case infinite:
			e.variance[i] = s1 * s1
		case m.Second == engine.FullSecond:
			e.variance[i] = (s1*s1 + s2*s2*square/2) / (x + f.lambda) / (x + f.lambda)
			e.along[i] = s2 / math.Sqrt2 * f.w[i] / (x + f.lambda)
		case m.Second == engine.DiagonalSecond:
			e.variance[i] = (s1*s1 + s2*s2*f.w[i]*f.w[i]) / (x + f.lambda) / (x + f.lambda)
		default:
			e.variance[i] = s1 * s1 / (x + f.lambda) / (x + f.lambda)
		}
	}
	return e
}

// scaled returns the noise of a model whose weights are multiplied by the factor by.
func (e weightNoise) scaled(by float64) weightNoise {
	return weightNoise{variance: over(e.variance, 1/(by*by)), along: over(e.along, 1/by)}
}

// step updates the noise for a step w -= g/by, where g has noise s and the curvature is 4 h^2 Xi. The curvature uses
// p(1-p) at the start. h is the geometric mean of two weights, and p(1-p) is the smaller weight. by is nil if no step
// was made.
func (e weightNoise) step(by, xi []float64, h, s float64) {
	for i, b := range by {
		left := 1 - 4*h*h*xi[i]/b
		e.variance[i] = left*left*e.variance[i] + s*s/(b*b)
		e.along[i] *= left
	}
}

// blocks returns the covariances of the weights in blocks of neighbouring features, times scale^2. Each block is given
// by the rows of its lower triangle, one after the other.
func (e weightNoise) blocks(of spectrum, widths []int, scale float64) (out []float64) {
	weights := func(k int) []float64 {
		if of.vectors == nil && of.frame == nil {
			row := make([]float64, len(e.variance))
			row[k] = 1
			return row
		}
		return of.row(k)
	}
	first := 0
	for _, width := range widths {
		var rows [][]float64
		for j := range width {
			rows = append(rows, weights(first+j))
		}
		for j, a := range rows {
			for k, b := range rows[:j+1] {
				var sum, left, right float64
				for i, v := range e.variance {
					sum += v * a[i] * b[i]
					left, right = left+e.along[i]*a[i], right+e.along[i]*b[i]
				}
				c := scale * scale * (sum + left*right)
				if !(math.Abs(c) <= mostError) { // a run must not fail because of its noise
					c = 0
					if j == k {
						c = mostError
					}
				}
				out = append(out, c)
			}
		}
		first += width
	}
	return out
}
