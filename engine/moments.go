package engine

import (
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

// Query asks an Evaluator for one sum over its records: of gradients if it has Pairs, else of moments.
//
// A sum of gradients adds grad l(W; z, z') over the ordered Pairs, without any division. ||W||_2 must
// be at most Problem.Radius. With a Radius (a Recentred kernel) it is over moved records
//
//	x^ = (x - Centre) X/Radius, scaled to norm X where it is longer,   X = Bounds.FeatureNorm,
//
// whose labels stay. Each x^ is a function of its record, Centre and Radius alone, bit for bit.
//
// Moments are sums over all records of
//
//	t,   a x~,   x~ x~^T,        x~ = clip(x - Centre),
//
// where t = (1 + y/B)/2 is the share of a positive of a record (1 and 0 for the labels B
// and -B, B = Bounds.LabelAbs), and clip scales to norm Radius what is longer. All of t, a
// and x~ are functions of one record and of these numbers, which are public or were released
// before, bit for bit, and as computed 0 <= t <= 1, |a| <= 1 and ||x~|| <= Radius.
type Query struct {
	Pairs Pairs // nil for moments
	// W are the parameters of a gradient. Of moments W makes a = 1/(1 + e^-(W.x~ + Intercept)) - t,
	// so that the sum of a x~ is the gradient of the pointwise logistic loss; d numbers of norm at
	// most 2^500/Radius, and Intercept within 2^500. nil: a is as Signed says.
	W         []float64
	Intercept float64
	// Centre is public or released before; d finite numbers of norm at most
	// Bounds.FeatureNorm, or nil for the origin.
	Centre []float64
	// Radius is R, from 2^-500 to 2^500; of gradients also 0, for the records as they are.
	Radius float64
	// Signed makes a = (y/B - Offset)/(1 + |Offset|), Offset in [-1, 1]; otherwise a = 1.
	Signed bool
	Offset float64
	// Class is 1 or -1 to sum over the records with the label B or -B alone: the others count
	// in t, and are 0 in the sums; 0 sums over all records.
	Class float64
	// Second are the second moments that are summed, too.
	Second SecondMoments
}

// Gradient is the query of a gradient at w over pairs of the records as they are.
func Gradient(w []float64, p Pairs) Query { return Query{W: w, Pairs: p} }

// IsPlain reports whether q is a gradient over the records as they are, all that most kernels answer.
func (q Query) IsPlain() bool { return q.Pairs != nil && q.Radius == 0 && q.Centre == nil }

// Validate returns an error for the first field of moments, or of the move of a gradient, that is out
// of range for d features within b.
func (q Query) Validate(d int, b Bounds) error {
	switch {
	case !(q.Radius >= smallestScale && q.Radius <= largestScale):
		return fmt.Errorf("engine: Query.Radius is %v, want between 2^-500 and 2^500", q.Radius)
	case !(q.Offset >= -1 && q.Offset <= 1):
		return fmt.Errorf("engine: Query.Offset is %v, want between -1 and 1", q.Offset)
	case q.Class != 0 && q.Class != 1 && q.Class != -1, q.Class != 0 && (q.Signed || q.W != nil):
		return fmt.Errorf("engine: Query.Class is %v, want 0, 1 or -1, and 0 if Signed or with W", q.Class)
	case q.Signed && q.W != nil:
		return errors.New("engine: moments have W and are Signed: leave one out")
	case q.W != nil && len(q.W) != d:
		return fmt.Errorf("engine: Query.W has %d numbers for %d features", len(q.W), d)
	case !inBall(q.W, largestScale/q.Radius) || !(math.Abs(q.Intercept) <= largestScale):
		return errors.New("engine: Query.W or Intercept is not finite, or so large that scores may overflow")
	case q.Second < NoSecond || q.Second > FullSecond:
		return fmt.Errorf("engine: Query.Second is %d, want NoSecond, DiagonalSecond or FullSecond", q.Second)
	case q.Centre != nil && len(q.Centre) != d:
		return fmt.Errorf("engine: Query.Centre has %d numbers for %d features", len(q.Centre), d)
	case !inBall(q.Centre, b.FeatureNorm):
		return fmt.Errorf("engine: Query.Centre is not within Bounds.FeatureNorm = %v", b.FeatureNorm)
	}
	return nil
}

// Moments is room for the answer to a query of moments.
type Moments struct {
	All []float64 // dst of Evaluator.Sum: the sum of t, then Sum, then Second
	Sum []float64 // of a x~, d numbers
	// Second is the sum of x~ x~^T: nothing, its diagonal, or isometric coordinates
	// (Symmetric).
	Second []float64
}

// NewMoments makes room for moments of d features.
func NewMoments(d int, second SecondMoments) Moments {
	return momentsIn(make([]float64, 1+d+second.Len(d)), d)
}

func momentsIn(all []float64, d int) Moments { return Moments{all, all[1 : 1+d], all[1+d:]} }

// Positives is the sum of t.
func (m Moments) Positives() float64 { return m.All[0] }
