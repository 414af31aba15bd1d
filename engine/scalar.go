package engine

import (
	"fmt"
	"math"
)

// MarginLoss is the slope of a function phi(u) of a margin u and its bounds, as much as a loss of single records needs:
// phi(v), v = y (w.x + b).
type MarginLoss interface {
	// Name is the identifier used on the command line and in models.
	Name() string
	// DPhi is phi'(u), after clipping if the slope is clipped. At a kink it is one of
	// the values between the one-sided slopes, always the same.
	DPhi(u float64) float64
	// Bounds holds for every u in [lo, hi]. It fails if lo or hi is not finite,
	// lo > hi, or phi' cannot be bounded there.
	Bounds(lo, hi float64) (ScalarBounds, error)
}

// Scalar is a function phi(u) of a margin u together with what is proved about
// it: the part that a loss of scores, of a Mahalanobis distance and of a single
// record have in common. Expression is the general one; Logistic{} is also one.
type Scalar interface {
	MarginLoss
	// Text is the formula in u, for reports.
	Text() string
	// Phi is phi(u).
	Phi(u float64) float64
	// Slopes replaces every number of u by DPhi of it, to the same bits, whatever its place
	// and the other numbers of u are. Where phi' jumps, a slope that is off by one bit in
	// its operands is off by the jump; and other records decide what else is in u. So the
	// certificate of a loss that is not smooth rests on this (QueryBounds.Sum,
	// docs/theory.md#kinks).
	Slopes(u []float64)
}

// analyticScalar is a Scalar whose phi' is analytic around an interval.
type analyticScalar interface {
	Scalar
	// StripBound is an upper bound of |phi'(u)| for all complex u with
	// |Re u| <= reach and |Im u| <= height, or +Inf if phi' has a singularity
	// there.
	StripBound(reach, height float64) float64
}

// ScalarBounds are proved properties of a Scalar on an interval. All numbers are
// rounded outward.
type ScalarBounds struct {
	// SlopeMin <= phi'(u) <= SlopeMax, finite, one-sided slopes at kinks included.
	SlopeMin, SlopeMax float64
	// Curvature is a Lipschitz constant of g, +Inf if phi' jumps or no constant is
	// proved; Convex states that g does not decrease, for one g with |DPhi(u) - g(u)| <=
	// SlopeError for every float64 u. g is phi' itself or differs from it by roundings in
	// the constants of phi. SlopeError is +Inf if no bound is proved.
	Curvature  float64
	Convex     bool
	SlopeError float64
	// Gap is the largest amount by which one of the slope bounds can exceed the true
	// one, relative to the larger of both, 0 if unknown or exact.
	Gap float64
	// Origin is the source of the bounds: Clipped if SlopeMin or SlopeMax is enforced
	// rather than proved.
	Origin Origin
}

// Slope is sup |phi'|.
func (b ScalarBounds) Slope() float64 { return max(-b.SlopeMin, b.SlopeMax, 0) }

// falling and rising are sup max(0, -phi') and sup max(0, phi').
func (b ScalarBounds) falling() float64 { return max(-b.SlopeMin, 0) }
func (b ScalarBounds) rising() float64  { return max(b.SlopeMax, 0) }

// Smooth reports whether phi' is Lipschitz and computed with a proved error: then
// QueryBounds.Sum is a distance to the exact gradient.
func (b ScalarBounds) Smooth() bool {
	return !math.IsInf(b.Curvature, 0) && !math.IsInf(b.SlopeError, 0)
}

// smoothness is Curvature, or +Inf unless Smooth.
func (b ScalarBounds) smoothness() float64 {
	if !b.Smooth() {
		return math.Inf(1)
	}
	return b.Curvature
}

// scalarMarginSlack widens the range of margins on which the constants of a Scalar's
// loss hold, relatively. It covers every margin that a backend computes (ScoreRange.
// Margin and the Mahalanobis distances are within 2^-19 of their exact range), so the
// constants are also those of pair gradients at computed margins. See QueryBounds.Sum.
const scalarMarginSlack = 0x1p-18

// BoundsOn are the bounds on a whole range of margins, after the gate of the derivative by machine, if it has one.
func BoundsOn(of MarginLoss, lo, hi float64) (ScalarBounds, error) {
	if g, ok := of.(interface{ Gate(lo, hi float64) error }); ok {
		if err := g.Gate(lo, hi); err != nil {
			return ScalarBounds{}, err
		}
	}
	return of.Bounds(lo, hi)
}

// checkRange returns an error unless [lo, hi] is a finite interval.
func checkRange(name string, lo, hi float64) error {
	if !(lo <= hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return fmt.Errorf("engine: %s: bounds on [%v, %v], want a finite interval", name, lo, hi)
	}
	return nil
}
