package algorithms

import (
	"fmt"
	"math"

	"dyad/engine"
)

// weightErrors are the standard errors of the weights of a fit that was scaled by scale, from what
// was released and the levels of its noise alone: no further charge (docs/theory.md#weight-intervals).
//
// w = scale (Xi + lambda I)^-1 v, v the released signed sum. With the matrix and the scale as they
// were released, what w estimates is the minimiser of the released objective in the population:
// the same with the expectation of v, given the centre and the offset. v has noise s1 in each
// coordinate, and its covariance over samples of n records is at most n E[a^2 x~ x~^T], a = (y -
// b)/(1 + |b|), here E[a^2] times the released second moments, with what the cleaning of the spectrum
// may have taken away added again.
func (m *MomentsPlan) weightErrors(f momentsFit, share, offset, scale float64) []float64 {
	square := m.ClipRadius * m.ClipRadius
	weight := func(y float64) float64 { return (y - offset) / (1 + math.Abs(offset)) }
	sampling := share*weight(1)*weight(1) + (1-share)*weight(-1)*weight(-1)
	noise := m.SumNoise / m.ClipRadius
	variance := make([]float64, len(f.values)) // along the vectors
	for i, x := range f.values {
		shrink := 1.0 // of an infinite lambda, whose limit is v itself
		if !math.IsInf(f.lambda, 1) {
			shrink = 1 / (x + f.lambda)
		}
		variance[i] = shrink * shrink * (sampling*(x+m.Ridge/square) + noise*noise)
	}
	out := make([]float64, len(variance))
	for k := range out {
		of := 0.0
		if f.vectors == nil && f.frame == nil {
			of = variance[k]
		} else {
			for i, u := range f.row(k) {
				of += u * u * variance[i]
			}
		}
		if out[k] = scale * math.Sqrt(of); !(out[k] <= mostError) { // a run must not fail by what it drew
			out[k] = mostError
		}
	}
	return out
}

const mostError = 1e300

// checkIntervals says why the weights have no intervals.
func (a Moments) checkIntervals(second engine.SecondMoments, steps int) error {
	switch {
	case !a.Intervals:
		return nil
	case steps > 0:
		return fmt.Errorf("intervals are for models without logistic steps: a step moves the model by a gradient at the model before it, and this version has no covariance of both; name moments without steps (--algorithm moments)")
	case second == engine.NoSecond:
		return fmt.Errorf("intervals need released second moments, which measure how far samples move the signed sum; more records, a larger epsilon or --second-moments diagonal would release them")
	}
	return nil
}
