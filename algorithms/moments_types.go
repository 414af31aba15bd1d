package algorithms

import (
	"dyad/engine"
)

// Moments is a private linear discriminant. It releases class moments once and computes the model from them.
// The centre c is released or public, and x~ = clip(x - c, R). The share p of positives is released or
// declared, and b = 2 p - 1. Then
//
//	v = sum (y - b) x~,   M = sum x~ x~^T,   w = (Xi + lambda I)^-1 v, scaled to norm r
//
// where Xi is M after its eigenvalues were cleaned of noise. If b has large noise, it may be shrunk towards 0
// (moments_filter.go, momentsOffset). Without noise, w minimises the least-squares loss (w.(x - x') - (y -
// y')/2)^2 over all pairs of clipped records, with a ridge (docs/theory.md#least-squares-auc). Scores w.x
// order records as the scores of other algorithms do. Labels may be grades. The loss is then the least-squares
// loss of the differences of grades.
//
// If Steps > 0, this model is the start. Each step then releases one gradient of the pointwise logistic loss of
// the clipped records:
//
//	g = sum (sigmoid(w.x~ + c) - t) x~,   w -= (h Xi + (l + h ridge) I)^-1 g,
//
// where t is the share of a positive (1, 0, or a value between them for a grade), and l is the damping computed
// from the noise of g. c and h are fixed at the start. The steps are close to Newton's steps
// (docs/theory.md#damped-steps).
//
// In Certified mode the algorithm is (epsilon, delta)-DP for replacing one record, by the exact composition of
// Gaussian releases. If delta is 0 it is epsilon-DP, by K-norm noise (docs/theory.md#released-centre). The
// guarantee covers all released moments, which leave Train only through w.
type Moments struct {
	// Second selects the second moments that are released: "none", "diagonal" or "full". If it is "", the
	// public rule applies.
	Second string
	// CountShare, CentreShare and SecondShare are the shares of mu^2 (or of epsilon if delta is 0) that are
	// spent on the number of positives, the centre and the second moments. Each share is in (0, 1). The
	// remaining share is spent on the signed sum. If a share is 0, the public rule applies.
	CountShare, CentreShare, SecondShare float64
	// ClipRadius is R, at most twice the norm bound of records. If it is 0, the public rule applies.
	ClipRadius float64
	// Ridge sets one summand of the ridge lambda: Ridge s sqrt(d) for full second moments, and Ridge s for
	// diagonal second moments. The number s is the standard deviation of the noise of a diagonal entry. If
	// Ridge is 0, the public rule applies. An L2 term alpha/2 ||w||^2 of the objective adds n alpha/4 to
	// lambda.
	Ridge float64
	// Centre is a public centre: d numbers within the norm bound, or a single 0 for the origin. It must not
	// come from the data. If it is nil, the public rule decides between a released centre and the origin.
	Centre []float64
	// Balance is a public share of positives in (0, 1). If it is 0, the number of positives is released.
	Balance float64
	// Steps is the number of steps, at most 20. If it is 0 there are no steps. Steps need second moments, delta
	// > 0 and no L2 term.
	Steps int
	// StepShare is the share of mu^2 that is spent on all steps together. Each step gets an equal part of
	// it. If it is 0, the public rule applies.
	StepShare float64
	// Intervals appends the standard errors of the weights to the weights: d more numbers, computed from the
	// released values. It cannot be combined with Steps, and it needs second moments.
	Intervals bool
	// LogOdds appends 4 + d numbers to the weights (and their standard errors), in the order of the fields of
	// metrics.LogOdds. The numbers describe the log odds of the positive class and are computed from the released
	// values. Without second moments, it appends nothing. See docs/theory.md#log-odds.
	LogOdds bool `flag:"-"`
	// Blocks holds the sizes of blocks of neighbouring features, such as the features of one curve. The sizes add up
	// to d. The covariance of the noise of the weights in each block is appended to the weights (and errors). A block
	// of k features has k(k+1)/2 numbers, the lower triangle by rows, computed from the released values. A nil Blocks
	// appends nothing. Trainings of package dyad replace Blocks and Lines by those of the schema. See docs/theory.md#curve-bands.
	Blocks []int
	// Lines holds d numbers. In each block, the features times their numbers add up to a straight line, and at
	// least one of the numbers is not 0. The model is split into a sum of multiples of these lines and a rest,
	// and the rest is shrunk according to its size relative to its noise. Lines needs full second moments of
	// up to 512 features. A nil Lines shrinks nothing. See docs/theory.md#bends.
	Lines []float64
}

// releasedMoments holds the released values, and the values computed from them for the next pass.
type releasedMoments struct {
	first []float64 // number of positives and sum of records, zero if they are not released
	last  []float64 // the part of sums with the signed sum over 1 + |b| and the second moments of clipped records
	sums  engine.Moments

	centre []float64 // nil: the origin
	offset float64   // b
	share  float64   // share of positives
	// balance is 2 p - 1, shrunk according to its noise, for the share p.
	balance float64
}

func (r *releasedMoments) sum() []float64 { return r.sums.Sum }

func (r *releasedMoments) second() []float64 { return r.sums.Second }

// momentsFit is the model computed from released moments, of any length, in units of R.
type momentsFit struct {
	spectrum
	signed, w []float64 // the signed sum and the model along the vectors
	lambda    float64
}

// over returns x/by.
func over(x []float64, by float64) []float64 {
	y := make([]float64, len(x))
	for k := range x {
		y[k] = x[k] / by
	}
	return y
}

// MomentsPlan holds the fields of a plan that only Moments, MomentMetric and MomentsDescent use.
type MomentsPlan struct {
	Passes int // number of passes over the records
	Steps  int // number of passes that are steps
	// Classes is true if one release has the sums, the second moments and the number of positives of both
	// classes, as for MomentMetric.
	Classes bool
	// CentreReleased is true if the centre is released. Otherwise Centre is public, and nil stands for the
	// origin. Balance is a public share of positives.
	CentreReleased bool
	Centre         []float64
	Balance        float64 // 0 if the number of positives is released

	ClipRadius float64
	Second     engine.SecondMoments
	// Scale is h of the joint release (v, h M). It is 0 if v and M are released separately or M is not
	// released.
	Scale float64
	// Ridge is the part of lambda that is a public number. It includes the number that an L2
	// term adds to lambda. The rest of lambda is computed from released values.
	Ridge float64
	// These fields are standard deviations of noise, 0 for a number that is not released. SumNoise is the
	// noise of an entry of v (or of a class sum). SecondNoise is the noise of an isometric coordinate of M,
	// and CountNoise the noise of the number of positives. CentreNoise is the noise of an entry of the sum of
	// records, and StepNoise the noise of an entry of the gradient of a step.
	SumNoise, SecondNoise, CountNoise, CentreNoise, StepNoise float64

	// Group is the number of records of the largest part into which query groups are cut. Records are compared only
	// within parts (engine.Together). All sums are then over pairs within parts, and there is one pass with one
	// release. Group is 0 without query groups.
	Group int

	// Pairs plans the private choice of interactions, which comes before the other releases; nil if there is none.
	Pairs *PairsPlan
	// NoPairs is the reason why no interactions are chosen although the schema asks for a choice.
	NoPairs string

	// Gradients is the number of mean gradients of the loss that are released after the moments. GradientNoise
	// is the standard deviation of the noise of an entry of each gradient. Both are 0 for Moments.
	Gradients     int
	GradientNoise float64
}
