package engine

import (
	"errors"
	"fmt"
	"math"
)

// SecondMoments selects which second moments of the records are summed.
type SecondMoments int

// NoSecond, DiagonalSecond and FullSecond are the kinds of second moments.
const (
	NoSecond       SecondMoments = iota
	DiagonalSecond               // squares of the coordinates
	FullSecond                   // x x^T
)

// String returns "none", "diagonal" or "full".
func (s SecondMoments) String() string {
	if s < NoSecond || s > FullSecond {
		return "unknown"
	}
	return [...]string{"none", "diagonal", "full"}[s]
}

// Len returns the number of coordinates for d features: 0, d or Symmetric{d}.Len().
func (s SecondMoments) Len(d int) int {
	switch s {
	case DiagonalSecond:
		return d
	case FullSecond:
		return Symmetric{Dim: d}.Len()
	}
	return 0
}

// Query asks an Evaluator for one sum over its records. If Pairs is set, the sum is a sum of
// gradients. Otherwise it is a sum of moments.
//
// A sum of gradients adds grad l(W; z, z') over the ordered Pairs, without any division. ||W||_2 must
// be at most Problem.Radius. If Radius is not 0 (for a Recentred kernel), the sum is over the moved
// records
//
//	x^ = (x - Centre) X/Radius, scaled to norm X where it is longer,   X = Bounds.FeatureNorm.
//
// The labels of moved records are unchanged. Each x^ is a function of its record, Centre and Radius alone, bit for bit.
//
// Moments are sums over all records of
//
//	t,   a x~,   x~ x~^T,        x~ = clip(x - Centre),
//
// where t = (1 + y/B)/2 with B = Bounds.LabelAbs, so t is 1 for the label B and 0 for the
// label -B. The function clip scales vectors longer than Radius to norm Radius. t, a and x~
// are functions of one record and of the numbers in the query, bit for bit. The numbers in
// the query are public or were released before. As computed, 0 <= t <= 1, |a| <= 1 and
// ||x~|| <= Radius.
type Query struct {
	Pairs Pairs // nil for moments
	// W are the parameters at which a gradient is computed. For moments, W may be nil; then Signed
	// determines the factor a. Otherwise a = 1/(1 + e^-(W.x~ + Intercept)) - t, so the sum of all
	// a x~ is the gradient of the pointwise logistic loss. In this case W has d numbers and norm
	// at most 2^500/Radius, and |Intercept| is at most 2^500.
	W         []float64
	Intercept float64
	// Centre is public or was released before. It has d finite numbers and norm at most
	// Bounds.FeatureNorm. If it is nil, the centre is the origin.
	Centre []float64
	// Radius is the norm to which moments are clipped, from 2^-500 to 2^500. For gradients
	// it may also be 0, which leaves the records unchanged.
	Radius float64
	// Signed makes a = (y/B - Offset)/(1 + |Offset|), where Offset is in [-1, 1]. If
	// Signed is false and W is nil, a is 1.
	Signed bool
	Offset float64
	// Class restricts the sums to the records of one label: to label B if Class is 1, and to
	// label -B if Class is -1. The other records still count in the sum of t, but add 0 to
	// the other sums. If Class is 0, the sums are over all records.
	Class float64
	// Second selects the second moments that are also summed.
	Second SecondMoments
}

// Gradient returns the query for the sum of gradients at w over the pairs p. It moves no records.
func Gradient(w []float64, p Pairs) Query { return Query{W: w, Pairs: p} }

// IsPlain reports whether q asks for a gradient over unmoved records. Most kernels answer only plain queries.
func (q Query) IsPlain() bool { return q.Pairs != nil && q.Radius == 0 && q.Centre == nil }

// Validate returns an error that names the first field out of range. d is the number of
// features, and b holds the bounds of the records. It checks the fields of a query of moments.
// For a query of gradients, it checks the fields Radius and Centre, which move the records.
func (q Query) Validate(d int, b Bounds) error {
	switch {
	case !(q.Radius >= smallestScale && q.Radius <= largestScale):
		return fmt.Errorf("engine: Query.Radius is %v, want between 2^-500 and 2^500", q.Radius)
	case !(q.Offset >= -1 && q.Offset <= 1):
		return fmt.Errorf("engine: Query.Offset is %v, want between -1 and 1", q.Offset)
	case q.Class != 0 && q.Class != 1 && q.Class != -1, q.Class != 0 && (q.Signed || q.W != nil):
		return fmt.Errorf("engine: Query.Class is %v; want 0, 1 or -1, and 0 with Signed or W", q.Class)
	case q.Signed && q.W != nil:
		return errors.New("engine: Query has both W and Signed; set only one of the two")
	case q.W != nil && len(q.W) != d:
		return fmt.Errorf("engine: Query.W has %d numbers for %d features", len(q.W), d)
	case !inBall(q.W, largestScale/q.Radius) || !(math.Abs(q.Intercept) <= largestScale):
		return errors.New("engine: Query.W or Intercept is not finite or too large (scores may overflow)")
	case q.Second < NoSecond || q.Second > FullSecond:
		return fmt.Errorf("engine: Query.Second is %d, want NoSecond, DiagonalSecond or FullSecond", q.Second)
	case q.Centre != nil && len(q.Centre) != d:
		return fmt.Errorf("engine: Query.Centre has %d numbers for %d features", len(q.Centre), d)
	case !inBall(q.Centre, b.FeatureNorm):
		return fmt.Errorf("engine: Query.Centre is not within Bounds.FeatureNorm = %v", b.FeatureNorm)
	}
	return nil
}

// Moments holds the answer to a query of moments.
type Moments struct {
	All []float64 // dst of Evaluator.Sum: the sum of t, then Sum, then Second
	Sum []float64 // the sum of a x~, d numbers
	// Second is the sum of x~ x~^T. It is empty, the diagonal of the sum, or the
	// isometric coordinates of the sum (Symmetric).
	Second []float64
}

// NewMoments returns Moments, set to 0, for d features.
func NewMoments(d int, second SecondMoments) Moments {
	return momentsIn(make([]float64, 1+d+second.Len(d)), d)
}

func momentsIn(all []float64, d int) Moments { return Moments{all, all[1 : 1+d], all[1+d:]} }

// Positives returns the sum of t.
func (m Moments) Positives() float64 { return m.All[0] }
