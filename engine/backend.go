package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
)

// ErrUnsupported is wrapped by the error of Backend.Plan if the backend has no method for
// the problem.
var ErrUnsupported = errors.New("engine: not supported by this backend")

// Problem holds the public facts about a computation. The choice of a method, its
// roundoff bound and its cost depend on no other facts.
type Problem struct {
	N, D   int     // records and features, N >= 2, D >= 1
	Bounds Bounds  // the bounds of every record
	Loss   Loss    // the pair loss
	Radius float64 // r > 0: gradients are computed only at ||w||_2 <= r
	// NonZerosPerRow is the largest number of stored features of a row. If it is 0, a row
	// may store all D features. NonZerosPerRow is public, because it is part of the
	// schema.
	NonZerosPerRow int
	// LabelValues bounds the number of different labels. 0 means 2 (two classes), and
	// AnyLabels sets no bound. LabelValues is public, because it is part of the schema.
	// The choice of a method that needs few labels depends on LabelValues and not on the
	// labels of the records. The running time may still depend on the labels: for two
	// classes with n+ and n- records, the direct method visits n+ n- pairs.
	LabelValues int
	// PersonRows is the public cap on the number of rows of a person. If it is 0, each
	// row is a record. If it is positive, each of the N records is a person, and the loss
	// of two persons is the mean of the losses over the pairs of their rows
	// (docs/theory.md#persons).
	PersonRows int
	// Groups are the sizes of public query groups of consecutive records. The sizes add
	// up to N, and pairs are formed within groups only. If Groups is nil, all pairs are
	// formed.
	Groups []int
	// Candidates are products of features among which a training may choose. Kernels ignore Candidates.
	Candidates Candidates
}

// AnyLabels is the value of Problem.LabelValues that sets no bound on the number of
// different labels, e.g. for graded labels.
const AnyLabels = -1

// LabelLimit returns the largest number of different labels that the rows of the problem's N records may have.
func (p Problem) LabelLimit() int {
	switch p.LabelValues {
	case 0:
		return min(2, p.MaxRows())
	case AnyLabels:
		return p.MaxRows()
	}
	return min(p.LabelValues, p.MaxRows())
}

// The proofs count roundings for sizes up to these limits, and no count overflows.
const (
	maxFeatures = 1 << 27 // Problem.D
	maxParams   = 1 << 32 // parameters of a model
)

// Validate returns an error that names the first field out of range.
func (p Problem) Validate() error {
	switch {
	case p.N < 2:
		return fmt.Errorf("engine: Problem.N is %d, but a pairwise loss needs at least 2 records", p.N)
	case p.D < 1:
		return fmt.Errorf("engine: Problem.D is %d, but at least 1 feature is needed", p.D)
	case p.D > maxFeatures:
		return fmt.Errorf("engine: Problem.D is %d, but at most %d features are allowed", p.D, maxFeatures)
	case p.Loss == nil:
		return errors.New("engine: Problem.Loss is nil; choose a loss such as Logistic{}")
	case p.Loss.ParamDim(p.D) > maxParams:
		return fmt.Errorf("engine: %d features need %d parameters, but at most %d are allowed; choose fewer "+
			"features or a loss for scores", p.D, p.Loss.ParamDim(p.D), maxParams)
	case !(p.Radius >= smallestScale && p.Radius <= largestScale):
		return fmt.Errorf("engine: Problem.Radius is %v, want between 2^-500 and 2^500", p.Radius)
	case !(p.Bounds.FeatureNorm >= smallestScale && p.Bounds.FeatureNorm <= largestScale):
		return fmt.Errorf("engine: Bounds.FeatureNorm is %v, want between 2^-500 and 2^500", p.Bounds.FeatureNorm)
	case p.NonZerosPerRow < 0 || p.NonZerosPerRow > p.D:
		return fmt.Errorf("engine: Problem.NonZerosPerRow is %d, want 0 (dense) to %d", p.NonZerosPerRow, p.D)
	case p.LabelValues < AnyLabels:
		return fmt.Errorf("engine: Problem.LabelValues is %d; set the number of labels, 0 for two classes, or "+
			"AnyLabels", p.LabelValues)
	}
	if err := p.validatePersons(); err != nil {
		return err
	}
	if err := p.validateGroups(); err != nil {
		return err
	}
	return p.Bounds.Validate()
}

// Fits returns an error unless the records fit the problem. The records must have the n, d and
// bounds of the problem. They must be grouped by person if and only if the problem has
// persons. The stored features of a row, the rows of a person and the different labels must
// not exceed the numbers that the problem allows.
func (p Problem) Fits(r *Records) error {
	if r != nil && r.IsShard() {
		return fmt.Errorf("engine: this process has only %d of %d records; load all records, or run as a team",
			r.Units(), r.Total())
	}
	return p.FitsShard(r)
}

// FitsShard is Fits for records that may be one shard of a team's data. It does not check
// the number of different labels of all shards together. The members of the team check
// this number when they agree on a run.
func (p Problem) FitsShard(r *Records) error {
	if r == nil {
		return errors.New("engine: no records to bind")
	}
	if r.Total() != p.N || r.Dim() != p.D || r.Bounds() != p.Bounds {
		return fmt.Errorf("engine: the records are %d x %d with bounds %+v, but the problem was planned for %d x "+
			"%d with bounds %+v", r.Total(), r.Dim(), r.Bounds(), p.N, p.D, p.Bounds)
	}
	if err := p.fitsPersons(r); err != nil {
		return err
	}
	if p.NonZerosPerRow > 0 && r.MaxRow() > p.NonZerosPerRow {
		return fmt.Errorf("engine: a row stores more features than Problem.NonZerosPerRow = %d allows", p.NonZerosPerRow)
	}
	if limit := p.LabelLimit(); limit < p.MaxRows() && r.MoreLabelsThan(limit) {
		return fmt.Errorf("engine: the records have more than %d different labels; raise Problem.LabelValues, or "+
			"set engine.AnyLabels for graded labels", limit)
	}
	return nil
}

// Backend turns a public Problem into a Kernel.
type Backend interface {
	// Name returns the name of the backend and its variant for reports, e.g. "cpu".
	Name() string
	// Plan chooses the cheapest exact method from public numbers alone. It returns an
	// error wrapping ErrUnsupported if the backend has no method for the problem. A
	// backend does not have to support query groups, because Grouped adds this support.
	Plan(Problem) (Kernel, error)
	// PlanMoments returns a kernel for moments of the records of a problem. It ignores the loss of
	// the problem. It returns an error wrapping ErrUnsupported if the backend has no such kernel.
	PlanMoments(Problem) (Kernel, error)
}

// Kernel is the method that was chosen for a Problem. It is not bound to data yet.
type Kernel interface {
	// Problem returns the problem for which the kernel was planned.
	Problem() Problem
	// Method returns the name of the method for reports, e.g. "near-linear".
	Method() string
	// Bounds returns the public bounds of the answer to a query. They hold for every W and
	// Centre that the query may have, so W and Centre need not be set.
	Bounds(q Query) QueryBounds
	// Bind attaches records. It fails if Problem.Fits fails. It never fails because of
	// the values of the records.
	Bind(*Records) (Evaluator, error)
}

// QueryBounds holds error bounds and costs of the answer to a Query. They are computed from public numbers alone.
type QueryBounds struct {
	// Sum bounds ||computed - exact||_2 of a gradient, or of Moments.Sum. The bound holds for every
	// data set within Bounds and every w in the ball of radius Problem.Radius. The exact gradient
	// is the sum in real arithmetic for the stored (float64) records and w. The exact moments are
	// the sums in real arithmetic of the computed t, a and x~. Sum is +Inf if the kernel does not
	// answer the query. Certificates use Sum as docs/theory.md#roundoff describes.
	//
	// For a loss with Constants.Smoothness = +Inf, the distance to the exact gradient is not small, because
	// rounding a margin near a kink can change the slope of its pair. "Exact" then means a sum in real arithmetic
	// of terms g(w; z, z') with two properties. First, a term depends only on the two records, their places in the
	// data set and w. Second, a term obeys Constants: ||g|| <= Lipschitz, and replacing one record of a pair moves
	// g by at most PairDiameter. To give the terms these properties, a backend clamps each slope to the bounds of
	// phi'. It computes the slope of a pair from this pair alone, bit for bit. The other pairs in the same block,
	// list, vector or chunk do not influence the slope (Scalar.Slopes, docs/theory.md#kinks). These properties
	// suffice for a certificate of one gradient (privacy.MeanGradient), because the sums of two neighbouring data
	// sets at the same w differ only in the terms of one record. They do not suffice for a certificate of a
	// recursion, which compares gradients at different w and needs a finite Smoothness. Certificates of recursions
	// refuse +Inf.
	Sum float64
	// Neighbour bounds how much one record changes the error of a gradient. It is 0 if Sum is the
	// only known bound (see OneRecord). Neighbour suffices for the sensitivity of one gradient. It
	// can be far smaller than Sum, because the errors of pairs without the record cancel if they
	// do not depend on the record (docs/theory.md#neighbour-roundoff). A recursion needs Sum,
	// because its certificate compares computed steps with exact steps.
	//
	// Let r be Neighbour, let ||w|| be at most Problem.Radius, and let the data sets D
	// and D' within Bounds differ in one record, which has the same place in D and in D'.
	// Then the computed gradient satisfies
	//
	//	||(computed(D) - computed(D')) - (S(D) - S(D'))||_2 <= 2 r
	//
	// where S is the exact sum. For a loss that is not smooth, S is the sum of the terms
	// g that Sum describes. Each term depends only on its own two records, their places
	// and w, and obeys Constants.
	Neighbour float64
	// Positives and Second bound the errors of Moments.Positives and Moments.Second, as
	// Sum bounds the error of Moments.Sum.
	Positives, Second float64
	// Seconds and Bytes are estimates. No result depends on these estimates. Seconds is the time that
	// one core at about 2.5 GHz takes to answer. Bytes is the memory of the Evaluator besides the
	// records. Either is 0 if the kernel has no estimate.
	Seconds, Bytes float64
	// Make names the implementation that computes the terms, if the last bits of a term depend on the
	// implementation. All members of a Team must have the same Make.
	Make string
}

// OneRecord returns Sum if Sum is less than Neighbour, if Sum is infinite, or if
// Neighbour is not known. Otherwise it returns Neighbour.
func (b QueryBounds) OneRecord() float64 {
	if b.Neighbour > 0 && b.Neighbour < b.Sum && !math.IsInf(b.Sum, 1) {
		return b.Neighbour
	}
	return b.Sum
}

// Memory returns Bytes, or the size of five numbers for each record if Bytes is 0.
func (b QueryBounds) Memory(p Problem) float64 { return cmp.Or(b.Bytes, 40*float64(p.N)) }

// Unanswered returns the bounds of a query that a kernel does not answer.
func Unanswered() QueryBounds {
	return QueryBounds{Sum: math.Inf(1), Positives: math.Inf(1), Second: math.Inf(1)}
}

// Evaluator answers queries about bound records. It has no randomness. It returns no loss
// values, because a loss on private data is not a release.
//
// An Evaluator is used from one goroutine at a time.
type Evaluator interface {
	// Kernel returns the kernel whose Bind returned the evaluator.
	Kernel() Kernel
	// Sum sets dst to the sum requested by q. This is a sum of gradients of length ParamDim,
	// or moments in the layout of Moments.All. The bits of the result depend only on the
	// records and q, and not on the number of workers. Sum fails if the kernel does not answer
	// q. When ctx is done, Sum returns ctx.Err() and dst is unspecified.
	Sum(ctx context.Context, dst []float64, q Query) error
	// Close releases the workers and the device memory of the evaluator.
	Close() error
}

// ByPerson reports whether a record is a person with one or more rows.
func (p Problem) ByPerson() bool { return p.PersonRows > 0 }

// MaxRows returns the largest number of rows that the records may have: N, or N PersonRows if records are persons.
func (p Problem) MaxRows() int { return p.N * max(p.PersonRows, 1) }

func (p Problem) validatePersons() error {
	switch {
	case p.PersonRows < 0:
		return fmt.Errorf("engine: Problem.PersonRows is %d; want the largest number of rows of a person, or 0 if "+
			"a row is a record", p.PersonRows)
	case p.PersonRows > 0 && p.N > math.MaxInt32/p.PersonRows:
		return fmt.Errorf("%w: %d persons with up to %d rows each may exceed 2^31 - 1 rows; set a smaller "+
			"max_rows_per_person", ErrUnsupported, p.N, p.PersonRows)
	}
	return nil
}

// fitsPersons returns an error unless r has persons if and only if the problem has
// persons. If there are persons, their number must be N, and no person may have more than
// PersonRows rows.
func (p Problem) fitsPersons(r *Records) error {
	switch {
	case p.ByPerson() != r.ByPerson():
		return fmt.Errorf("engine: Problem.PersonRows is %d, but ByPerson of the records is %t; want persons in "+
			"both or in neither",
			p.PersonRows, r.ByPerson())
	case r.mostRows() > p.PersonRows:
		return fmt.Errorf("engine: a person has more than the %d rows of Problem.PersonRows", p.PersonRows)
	}
	return nil
}

func (p Problem) validateGroups() error {
	if len(p.Groups) == 0 {
		return nil
	}
	total, largest := 0, 0
	for _, s := range p.Groups {
		if s < 1 {
			return fmt.Errorf("engine: Problem.Groups has a group of %d records, but each group needs at least 1", s)
		}
		total, largest = total+s, max(largest, s)
	}
	if total != p.N {
		return fmt.Errorf("engine: the query groups have %d records in total, but Problem.N is %d", total, p.N)
	}
	if largest < 2 {
		return errors.New("engine: Problem.Groups has no group of 2 records or more, so there is no pair")
	}
	return nil
}
