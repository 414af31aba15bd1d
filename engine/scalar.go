package engine

import (
	"fmt"
	"math"

	"dyad/internal/input"
)

// MarginLoss gives the slope of a function phi(u) of a margin u, and bounds of this slope. For a loss phi(v) of
// single records, with v = y (w.x + b), no other properties of phi are needed.
type MarginLoss interface {
	// Name is the identifier of phi on the command line and in models.
	Name() string
	// DPhi returns phi'(u), after clipping if the slope is clipped. At a kink, it always
	// returns the same value between the one-sided slopes.
	DPhi(u float64) float64
	// Bounds returns bounds that hold for every u in [lo, hi]. It fails if lo or hi is
	// not finite, if lo > hi, or if phi' cannot be bounded on [lo, hi].
	Bounds(lo, hi float64) (ScalarBounds, error)
}

// Scalar is a function phi(u) of a margin u with its proved bounds. Losses of scores, of
// a Mahalanobis distance and of single records are all defined by a Scalar. Expression
// and Logistic implement Scalar.
type Scalar interface {
	MarginLoss
	// Text is the formula in u, for reports.
	Text() string
	// Phi is phi(u).
	Phi(u float64) float64
	// Slopes replaces every number of u by its DPhi. The bits of each result depend on this
	// number alone, and not on its place in u or on the other numbers of u. At a jump of
	// phi', an error of one bit in an operand can change the slope by the whole jump. The
	// other numbers of u depend on other records. So the certificate of a loss that is not
	// smooth depends on this property (QueryBounds.Sum, docs/theory.md#kinks).
	Slopes(u []float64)
}

// analyticScalar is a Scalar whose phi' is analytic around an interval.
type analyticScalar interface {
	Scalar
	// StripBound is an upper bound of |phi'(u)| for all complex u with |Re u| <= reach
	// and |Im u| <= height. It is +Inf if phi' has a singularity in this rectangle.
	StripBound(reach, height float64) float64
}

// ScalarBounds holds proved properties of a Scalar on an interval. All numbers are
// rounded outward.
type ScalarBounds struct {
	// SlopeMin and SlopeMax bound the slope: SlopeMin <= phi'(u) <= SlopeMax. They are
	// finite, and they also bound the one-sided slopes at kinks.
	SlopeMin, SlopeMax float64
	// Curvature, Convex and SlopeError refer to a function g with |DPhi(u) - g(u)| <=
	// SlopeError for every float64 u. g is phi', or differs from phi' by roundings in the
	// constants of phi. Curvature is a Lipschitz constant of g, and +Inf if phi' jumps or
	// no constant is proved. Convex states that g is nondecreasing. SlopeError is +Inf if
	// no bound is proved.
	Curvature  float64
	Convex     bool
	SlopeError float64
	// Gap is the largest possible distance of SlopeMin or SlopeMax from the true bound,
	// divided by max(|SlopeMin|, |SlopeMax|). It is 0 if the distance is unknown or the
	// bounds are exact.
	Gap float64
	// Origin is the source of the bounds. It is Clipped if SlopeMin or SlopeMax is
	// enforced by clipping and not proved.
	Origin Origin
}

// Slope returns sup |phi'|.
func (b ScalarBounds) Slope() float64 { return max(-b.SlopeMin, b.SlopeMax, 0) }

// falling returns sup max(0, -phi'), and rising returns sup max(0, phi').
func (b ScalarBounds) falling() float64 { return max(-b.SlopeMin, 0) }
func (b ScalarBounds) rising() float64  { return max(b.SlopeMax, 0) }

// Smooth reports whether phi' is Lipschitz and is computed with a proved error. If so,
// QueryBounds.Sum bounds the distance of a computed gradient from the exact gradient.
func (b ScalarBounds) Smooth() bool {
	return !math.IsInf(b.Curvature, 0) && !math.IsInf(b.SlopeError, 0)
}

// smoothness returns Curvature if Smooth holds, and +Inf otherwise.
func (b ScalarBounds) smoothness() float64 {
	if !b.Smooth() {
		return math.Inf(1)
	}
	return b.Curvature
}

// scalarMarginSlack is the relative amount by which the range of margins is widened on
// which the constants of a Scalar's loss hold. The widened range contains every margin
// that a backend computes, because ScoreRange.Margin and the Mahalanobis distances are
// within 2^-19 of their exact range. So the constants also hold for pair gradients at
// computed margins. See QueryBounds.Sum.
const scalarMarginSlack = 0x1p-18

// BoundsOn returns the bounds on a whole range of margins. If the loss has a Gate method, BoundsOn first calls
// Gate to check the symbolic derivative.
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

// Origin is the source of a constant. Every report prints it.
type Origin int

// The origins are ordered from the strongest to the weakest. The zero value is not an
// origin, and a loss that does not state the origin of its constants is refused.
const (
	Proved       Origin = iota + 1 // proved by hand, next to the code
	Derived                        // proved by interval arithmetic
	Clipped                        // enforced by clipping the slope phi' of every pair
	ClippedTerms                   // enforced by clipping the Jacobian of every record, or the gradient of every pair
	Asserted                       // stated by the user, not checked
)

// String returns the word for the origin in reports.
func (o Origin) String() string {
	if o < Proved || o > Asserted {
		return "unknown"
	}
	return [...]string{
		Proved:       "proved",
		Derived:      "derived by interval arithmetic",
		Clipped:      "enforced by clipping the slope",
		ClippedTerms: "enforced by clipping Jacobians of records or gradients of pairs",
		Asserted:     "asserted by the user",
	}[o]
}

// LossError reports a fault in the definition of a loss.
type LossError struct{ Why error } // The text of Why continues a sentence that begins with the loss.

func (e *LossError) Error() string { return "engine: loss" + e.Why.Error() }

// Unwrap returns Why. Package input has marked Why as an error of the user's input.
func (e *LossError) Unwrap() error { return e.Why }

func lossError(why string, args ...any) error { return &LossError{input.Errorf(why, args...)} }

// checkClip checks a bound of the slope of a loss.
func checkClip(name string, clip float64) error {
	if !(clip >= 0) || math.IsInf(clip, 0) {
		return lossError(" %s: Clip is %v, but must be a finite bound for the slope, or 0 for none", name, clip)
	}
	return nil
}
