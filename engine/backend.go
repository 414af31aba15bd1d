package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
)

// ErrUnsupported is wrapped by Backend.Plan when a backend has no method for a
// problem.
var ErrUnsupported = errors.New("engine: not supported by this backend")

// Problem holds the public facts about a computation: everything that the choice of a
// method, its roundoff bound and its cost may depend on.
type Problem struct {
	N, D   int     // records and features, N >= 2, D >= 1
	Bounds Bounds  // of every record
	Loss   Loss    // the pair loss
	Radius float64 // r: gradients are at ||w||_2 <= r only; > 0
	// NonZerosPerRow bounds the stored features of a row; 0 means D. It is
	// public, as part of the schema.
	NonZerosPerRow int
	// LabelValues bounds the number of different labels; 0 means 2, for two classes,
	// and AnyLabels sets no bound. It is public, as part of the schema: methods that
	// need few labels are chosen by it, never by the labels of the records. The time of
	// a run may still tell about them: the direct method visits n+ n- pairs of two
	// classes.
	LabelValues int
	// PersonRows is the public cap of the rows of a person; 0 means that each row is a
	// record. With it the N records are persons, and the loss of two persons is the mean
	// over the pairs of their rows (docs/theory.md#persons).
	PersonRows int
	// Groups are the sizes of public query groups of consecutive records, which
	// add up to N; pairs are then formed within groups only. nil means all pairs.
	Groups []int
	// Candidates are products of features that a training may choose among. Kernels ignore them.
	Candidates Candidates
}

// AnyLabels is Problem.LabelValues without a bound, e.g. for graded labels.
const AnyLabels = -1

// LabelLimit is the largest number of different labels of the rows of N records.
func (p Problem) LabelLimit() int {
	switch p.LabelValues {
	case 0:
		return min(2, p.MaxRows())
	case AnyLabels:
		return p.MaxRows()
	}
	return min(p.LabelValues, p.MaxRows())
}

// Sizes for which the proofs count roundings and nothing overflows.
const (
	maxFeatures = 1 << 27 // Problem.D
	maxParams   = 1 << 32 // parameters of a model
)

// Radii and norms stay where squares and roundings neither overflow nor underflow,
// so that the relative error bounds of the proofs hold.
const (
	smallestScale = 0x1p-500
	largestScale  = 0x1p+500
)

// Validate returns an error that names the first field out of range.
func (p Problem) Validate() error {
	switch {
	case p.N < 2:
		return fmt.Errorf("engine: Problem.N is %d, a pairwise loss needs at least 2 records", p.N)
	case p.D < 1:
		return fmt.Errorf("engine: Problem.D is %d, want at least 1 feature", p.D)
	case p.D > maxFeatures:
		return fmt.Errorf("engine: Problem.D is %d, want at most %d features", p.D, maxFeatures)
	case p.Loss == nil:
		return errors.New("engine: Problem.Loss is nil, choose a loss such as Logistic{}")
	case p.Loss.ParamDim(p.D) > maxParams:
		return fmt.Errorf("engine: a model of %d features has %d parameters, want at most %d; choose fewer features or a loss of scores", p.D, p.Loss.ParamDim(p.D), maxParams)
	case !(p.Radius >= smallestScale && p.Radius <= largestScale):
		return fmt.Errorf("engine: Problem.Radius is %v, want between 2^-500 and 2^500", p.Radius)
	case !(p.Bounds.FeatureNorm >= smallestScale && p.Bounds.FeatureNorm <= largestScale):
		return fmt.Errorf("engine: Bounds.FeatureNorm is %v, want between 2^-500 and 2^500", p.Bounds.FeatureNorm)
	case p.NonZerosPerRow < 0 || p.NonZerosPerRow > p.D:
		return fmt.Errorf("engine: Problem.NonZerosPerRow is %d, want 0 (dense) to %d", p.NonZerosPerRow, p.D)
	case p.LabelValues < AnyLabels:
		return fmt.Errorf("engine: Problem.LabelValues is %d, want a number of labels, 0 (two classes) or AnyLabels", p.LabelValues)
	}
	if err := p.validatePersons(); err != nil {
		return err
	}
	if err := p.validateGroups(); err != nil {
		return err
	}
	return p.Bounds.Validate()
}

// Fits returns an error unless the records have the problem's n, d and bounds, are persons if
// it has persons, and have no more stored features in a row, no more rows a person and no more
// different labels than it allows.
func (p Problem) Fits(r *Records) error {
	if r.IsShard() {
		return fmt.Errorf("engine: these records are %d of %d, and a kernel without a team needs all", r.Units(), r.Total())
	}
	return p.FitsShard(r)
}

// FitsShard is Fits for records that may be a shard. That the shards of a team have no more
// different labels together than the problem allows, the team agrees on.
func (p Problem) FitsShard(r *Records) error {
	if r.Total() != p.N || r.Dim() != p.D || r.Bounds() != p.Bounds {
		return fmt.Errorf("engine: records of shape %d x %d with bounds %+v do not fit a problem planned for %d x %d with %+v", r.Total(), r.Dim(), r.Bounds(), p.N, p.D, p.Bounds)
	}
	if err := p.fitsPersons(r); err != nil {
		return err
	}
	if p.NonZerosPerRow > 0 && r.MaxRow() > p.NonZerosPerRow {
		return fmt.Errorf("engine: a row stores more than the %d features of Problem.NonZerosPerRow", p.NonZerosPerRow)
	}
	if limit := p.LabelLimit(); limit < p.MaxRows() && r.MoreLabelsThan(limit) {
		return fmt.Errorf("engine: the records have more than the %d different labels of Problem.LabelValues; declare more, or engine.AnyLabels for graded labels", limit)
	}
	return nil
}

// Backend turns a public Problem into a Kernel.
type Backend interface {
	// Name identifies the backend and its variant in reports, e.g. "cpu".
	Name() string
	// Plan chooses the cheapest exact method from public numbers alone. It
	// wraps ErrUnsupported if it has none, in particular for query groups: see Grouped.
	Plan(Problem) (Kernel, error)
	// PlanMoments returns a kernel of moments of the records of a problem, whose loss it ignores. It
	// wraps ErrUnsupported if the backend has none.
	PlanMoments(Problem) (Kernel, error)
}

// Kernel is a chosen method for a Problem, still without data.
type Kernel interface {
	// Problem returns the problem it was planned for.
	Problem() Problem
	// Method names the method, e.g. "near-linear", for reports.
	Method() string
	// Bounds returns what is public about the answer to a query whose vectors are any that it
	// may have: W and Centre need not be set.
	Bounds(q Query) QueryBounds
	// Bind attaches records. It fails if Problem.Fits does; it never fails on
	// content.
	Bind(*Records) (Evaluator, error)
}

// QueryBounds holds bounds and costs of the answer to a Query, from public numbers alone.
type QueryBounds struct {
	// Sum bounds ||computed - exact||_2 of a gradient, or of Moments.Sum, for every data set within
	// Bounds and every w in the ball of radius Problem.Radius, where "exact" is the real-arithmetic
	// sum for the stored (float64) records and w; of moments for the records' t, a and x~ as
	// computed. It is +Inf if the kernel does not answer the query. Certificates use it as
	// docs/theory.md#roundoff describes.
	//
	// For a loss with Constants.Smoothness = +Inf that distance is not small: near a kink a rounded margin gives
	// another slope. "Exact" is then a real-arithmetic sum of terms g(w; z, z'), where a term depends only on the
	// two records, their places in the data set and w, and obeys Constants: ||g|| <= Lipschitz, and replacing one
	// record of a pair moves g by at most PairDiameter. A backend reaches this with slopes that it clamps to the
	// bounds of phi' and computes for each pair from that pair alone, bit for bit: whatever else is in the block,
	// list, vector or chunk that it is computed in (Scalar.Slopes, docs/theory.md#kinks). It is what a certificate
	// of one gradient needs (privacy.MeanGradient), because the sums of two neighbouring data sets at the same w
	// differ in the terms of one record. It is not enough for a certificate of a recursion, which compares gradients
	// at different w and needs a finite Smoothness: those certificates refuse +Inf.
	Sum float64
	// Neighbour bounds the change of the error of a gradient by one record, 0 if no more than Sum is
	// known (see OneRecord). That is what the sensitivity of one gradient needs, and it can be far
	// smaller, because the errors of pairs without the record cancel if they do not depend on it
	// (docs/theory.md#neighbour-roundoff). It is not enough for a recursion, whose certificates
	// compare with exact steps.
	//
	// It is a number r such that, for every w as above and every two
	// data sets D and D' within Bounds that differ in one record, which has the same place
	// in both, the computed gradient satisfies
	//
	//	||(computed(D) - computed(D')) - (S(D) - S(D'))||_2 <= 2 r
	//
	// where S is the exact sum, or another sum of terms as stated at Sum for
	// losses that are not smooth: each depends on its own two records, their places and w,
	// and on nothing else, and obeys Constants.
	Neighbour float64
	// Positives and Second bound the errors of the other Moments, as Sum does.
	Positives, Second float64
	// Seconds and Bytes are estimates; no result depends on them. Seconds is the time of the answer by
	// one core at about 2.5 GHz, and Bytes what the Evaluator holds besides the records; 0 if
	// the kernel cannot tell.
	Seconds, Bytes float64
	// Make names what computes terms, if a term's last bits depend on it: the members of a Team must have the same.
	Make string
}

// OneRecord is Neighbour, or Sum where that is less or infinite, or Neighbour is not known.
func (b QueryBounds) OneRecord() float64 {
	if b.Neighbour > 0 && b.Neighbour < b.Sum && !math.IsInf(b.Sum, 1) {
		return b.Neighbour
	}
	return b.Sum
}

// Memory is Bytes, or five numbers a record if the kernel cannot tell.
func (b QueryBounds) Memory(p Problem) float64 { return cmp.Or(b.Bytes, 40*float64(p.N)) }

// Unanswered are the bounds of queries that a kernel does not answer.
func Unanswered() QueryBounds {
	return QueryBounds{Sum: math.Inf(1), Positives: math.Inf(1), Second: math.Inf(1)}
}

// Evaluator answers queries about bound records. It holds no randomness
// and returns no loss value: a loss on private data is not a release.
//
// It is used from one goroutine at a time.
type Evaluator interface {
	// Kernel returns what the evaluator was bound from.
	Kernel() Kernel
	// Sum sets dst to the sum that q asks for: of a gradient, of length ParamDim, or
	// Moments.All. Its bits depend on the records and q only: not on the number of workers. It
	// fails if the kernel does not answer q. When ctx is done it returns ctx.Err() and dst is
	// unspecified.
	Sum(ctx context.Context, dst []float64, q Query) error
	// Close releases workers and device memory.
	Close() error
}
