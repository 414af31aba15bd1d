package engine

import (
	"fmt"
	"math"
)

// Bounds are the public limits of a record. The user declares them, and they are enforced
// on every record. They are never computed from the data (docs/theory.md#records).
type Bounds struct {
	// FeatureNorm is the bound R > 0 of the feature norm. Every feature vector is projected to ||x||_2 <= R.
	FeatureNorm float64
	// LabelAbs > 0 is the largest absolute value of a label. Every label is clamped to
	// [-LabelAbs, LabelAbs]. Binary labels are -1 and +1, with LabelAbs 1.
	LabelAbs float64
}

// UnitBounds returns the bounds R = 1 and |y| <= 1.
func UnitBounds() Bounds { return Bounds{FeatureNorm: 1, LabelAbs: 1} }

// Validate returns an error unless FeatureNorm and LabelAbs are positive and finite.
func (b Bounds) Validate() error {
	for _, f := range []struct {
		name string
		v    float64
	}{{"FeatureNorm", b.FeatureNorm}, {"LabelAbs", b.LabelAbs}} {
		if !(f.v > 0) || math.IsInf(f.v, 0) {
			return fmt.Errorf("engine: Bounds.%s is %v, but it must be positive and finite", f.name, f.v)
		}
	}
	return nil
}

// Radii and norms stay within a range in which squares and roundings neither overflow nor
// underflow, so the relative error bounds of the proofs hold.
const (
	smallestScale = 0x1p-500
	largestScale  = 0x1p+500
)

// unitRoundoff is the relative rounding error of one float64 operation that rounds to nearest.
const unitRoundoff = 0x1p-53

// Gamma returns k u / (1 - k u) with u = 2^-53, rounded up. This is the relative error of
// k consecutive roundings (Higham 2002, Lemma 3.1). Gamma returns +Inf if k u >= 1/2.
func Gamma(k int) float64 {
	ku := float64(k) * unitRoundoff
	if ku >= 0.5 {
		return math.Inf(1)
	}
	return ku / (1 - ku) * (1 + 4*unitRoundoff)
}

// RadiusSlack is the relative amount by which ||w|| may exceed Problem.Radius because of
// rounding. Every bound of ScoreRange covers this slack.
const RadiusSlack = 0x1p-30
