package algorithms

import (
	"fmt"
	"math"
	"slices"

	"dyad/engine"
)

// weightErrors returns the standard errors of the weights of a fit that was multiplied by scale. It uses only
// released values and the levels of their noise, so there is no further charge
// (docs/theory.md#weight-intervals).
//
// The weights are w = scale (Xi + lambda I)^-1 v, where v is the released signed sum. The matrix and the scale
// are taken as released. Then w estimates the minimiser of a population objective. This objective is the
// released objective with v replaced by its expectation, given the centre and the offset. The noise of v has
// standard deviation s1 in each coordinate. The covariance of v over samples of n records is at most n E[a^2
// x~ x~^T] with a = (y - b)/(1 + |b|). The code uses E[a^2] times the released second moments, and adds back
// the part that the cleaning of the spectrum may have removed.
func (m *MomentsPlan) weightErrors(f momentsFit, share, offset, scale float64) []float64 {
	square := m.ClipRadius * m.ClipRadius
	weight := func(y float64) float64 { return (y - offset) / (1 + math.Abs(offset)) }
	sampling := share*weight(1)*weight(1) + (1-share)*weight(-1)*weight(-1)
	noise := m.SumNoise / m.ClipRadius
	variance := make([]float64, len(f.values)) // along the vectors
	for i, x := range f.values {
		shrink := 1.0 // the value for an infinite lambda, for which w is v itself
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
		if out[k] = scale * math.Sqrt(of); !(out[k] <= mostError) { // a run must not fail because of its noise
			out[k] = mostError
		}
	}
	return out
}

const mostError = 1e300

// checkAppended returns an error with the reason if a number that a appends to d weights cannot be computed.
func (a Moments) checkAppended(second engine.SecondMoments, steps, d int) error {
	at, lines, left := 0, a.Lines, d
	for ; at < len(a.Blocks) && a.Blocks[at] > 0 && a.Blocks[at] <= left; at++ {
		if left -= a.Blocks[at]; len(a.Lines) == d {
			if !slices.ContainsFunc(lines[:a.Blocks[at]], func(x float64) bool { return x != 0 }) {
				break
			}
			lines = lines[a.Blocks[at]:]
		}
	}
	switch {
	case at < len(a.Blocks) || a.Blocks != nil && left != 0 || a.Lines != nil && (a.Blocks == nil || len(a.Lines) != d):
		return fmt.Errorf("blocks need sizes of at least 1 that add up to %d features; lines need blocks, %d numbers, and in "+
			"each block a number other than 0", d, d)
	case !a.Intervals:
		return nil
	case steps > 0:
		return fmt.Errorf("intervals are not available with logistic steps; choose moments without steps " +
			"(--algorithm moments)")
	case second == engine.NoSecond:
		return fmt.Errorf("intervals need second moments, but none are released; give --second-moments=diagonal, " +
			"more records or a larger epsilon")
	}
	return nil
}
