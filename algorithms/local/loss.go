package local

import (
	"math"

	"dyad/engine"
)

// ScalarLoss is the MarginLoss of an engine.Scalar: a built-in loss or a formula, with the
// slopes that engine derives.
type ScalarLoss struct {
	Of engine.Scalar // not nil
}

var _ MarginLoss = ScalarLoss{}

// Name returns the name of the function.
func (l ScalarLoss) Name() string { return l.Of.Name() }

// Slope is phi'(v).
func (l ScalarLoss) Slope(v float64) float64 { return l.Of.DPhi(v) }

// MaxSlope is sup |phi'| on [-margin, margin], rounded up; +Inf if phi' cannot be
// bounded there, or fails the check of its derivative by machine.
func (l ScalarLoss) MaxSlope(margin float64) float64 {
	if g, ok := l.Of.(interface{ Gate(lo, hi float64) error }); ok {
		if g.Gate(-margin, margin) != nil {
			return math.Inf(1)
		}
	}
	b, err := l.Of.Bounds(-margin, margin)
	if err != nil {
		return math.Inf(1)
	}
	return b.Slope()
}
