package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// SecondMoments says which second moments of records are summed.
type SecondMoments int

// The kinds of second moments.
const (
	NoSecond       SecondMoments = iota
	DiagonalSecond               // squares of the coordinates
	FullSecond                   // x x^T
)

// String returns "none", "diagonal" or "full".
func (s SecondMoments) String() string {
	switch s {
	case NoSecond:
		return "none"
	case DiagonalSecond:
		return "diagonal"
	case FullSecond:
		return "full"
	}
	return "unknown"
}

// Len is the number of coordinates for d features: 0, d, or those of Symmetric.
func (s SecondMoments) Len(d int) int {
	switch s {
	case DiagonalSecond:
		return d
	case FullSecond:
		return Symmetric{Dim: d}.Len()
	}
	return 0
}

// MomentSums describes sums over all records of
//
//	t,   a x~,   x~ x~^T,        x~ = clip(x - Centre),
//
// where t = (1 + y/B)/2 is the share of a positive of a record (1 and 0 for the labels B
// and -B, B = Bounds.LabelAbs), and clip scales to norm Radius what is longer. All of t, a
// and x~ are functions of one record and of these numbers, which are public or were released
// before, bit for bit, and as computed 0 <= t <= 1, |a| <= 1 and ||x~|| <= Radius.
type MomentSums struct {
	// Centre is public or released before; d finite numbers of norm at most
	// Bounds.FeatureNorm, or nil for the origin.
	Centre []float64
	// Radius is R, from 2^-500 to 2^500.
	Radius float64
	// Signed makes a = (y/B - Offset)/(1 + |Offset|), Offset in [-1, 1]; otherwise a = 1.
	Signed bool
	Offset float64
	// Class is 1 or -1 to sum over the records with the label B or -B alone: the others count
	// in t, and are 0 in the sums; 0 sums over all records.
	Class float64
	// Model makes a = 1/(1 + e^-(Model.x~ + Intercept)) - t, so that the sum of a x~ is the
	// gradient of the pointwise logistic loss; d numbers of norm at most 2^500/Radius, and
	// Intercept within 2^500. nil: a is as Signed says.
	Model     []float64
	Intercept float64
	// Second are the second moments that are summed, too.
	Second SecondMoments
}

// Validate returns an error for the first field out of range for d features within b.
func (m MomentSums) Validate(d int, b Bounds) error {
	switch {
	case !(m.Radius >= smallestScale && m.Radius <= largestScale):
		return fmt.Errorf("engine: MomentSums.Radius is %v, want between 2^-500 and 2^500", m.Radius)
	case !(m.Offset >= -1 && m.Offset <= 1):
		return fmt.Errorf("engine: MomentSums.Offset is %v, want between -1 and 1", m.Offset)
	case m.Class != 0 && m.Class != 1 && m.Class != -1, m.Class != 0 && (m.Signed || m.Model != nil):
		return fmt.Errorf("engine: MomentSums.Class is %v, want 0, 1 or -1, and 0 if Signed or with a Model", m.Class)
	case m.Signed && m.Model != nil:
		return errors.New("engine: MomentSums has a Model and is Signed: leave one out")
	case m.Model != nil && len(m.Model) != d:
		return fmt.Errorf("engine: MomentSums.Model has %d numbers for %d features", len(m.Model), d)
	case !inBall(m.Model, largestScale/m.Radius) || !(math.Abs(m.Intercept) <= largestScale):
		return errors.New("engine: MomentSums.Model or Intercept is not finite, or so large that scores may overflow")
	case m.Second < NoSecond || m.Second > FullSecond:
		return fmt.Errorf("engine: MomentSums.Second is %d, want NoSecond, DiagonalSecond or FullSecond", m.Second)
	case m.Centre != nil && len(m.Centre) != d:
		return fmt.Errorf("engine: MomentSums.Centre has %d numbers for %d features", len(m.Centre), d)
	case !inBall(m.Centre, b.FeatureNorm):
		return fmt.Errorf("engine: MomentSums.Centre is not within Bounds.FeatureNorm = %v", b.FeatureNorm)
	}
	return nil
}

// Moments are the sums that MomentSums describes.
type Moments struct {
	Positives float64   // sum of t
	Sum       []float64 // sum of a x~, d numbers
	// Second is the sum of x~ x~^T: nothing, its diagonal, or isometric coordinates
	// (Symmetric).
	Second []float64
}

// MomentsError bounds what floating point does to Moments, for every data set within
// Bounds: the Euclidean distances of the computed sums to the exact ones over the records'
// t, a and x~ as computed.
type MomentsError struct{ Positives, Sum, Second float64 }

// MomentsBackend is a Backend that sums moments.
type MomentsBackend interface {
	Backend
	// PlanMoments returns a kernel for the records of a problem, whose loss it ignores. It
	// wraps ErrUnsupported if the backend cannot.
	PlanMoments(Problem) (MomentsKernel, error)
}

// MomentsKernel is a Kernel that sums moments and no gradients: its evaluators are
// MomentsEvaluators whose GradSum fails with ErrUnsupported, and Roundoff is +Inf.
type MomentsKernel interface {
	Kernel
	// MomentsError holds for all sums with this radius and these second moments.
	MomentsError(radius float64, second SecondMoments) MomentsError
}

// MomentsEvaluator computes moments of bound records.
type MomentsEvaluator interface {
	Evaluator
	// Moments sets dst, whose slices must have the lengths that it states, in one pass over
	// the records. Its bits depend on the records and m only. When ctx is done it returns
	// ctx.Err() and dst is unspecified.
	Moments(ctx context.Context, dst *Moments, m MomentSums) error
}
