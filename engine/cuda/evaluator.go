package cuda

import (
	"context"

	"dyad/engine"
	"dyad/engine/cuda/driver"
)

// evaluator holds records on a GPU.
type evaluator struct {
	*kernel // of rows, if planned is a kernel of persons
	planned *kernel
	persons *persons // nil if each row is a record

	y    []float64 // labels in the order of the records
	slot []int32   // row of a record, nil if the rows are in the order of the records

	held
	rows *rows
	s, c driver.Pointer // scores and coefficients of the rows
	// pairs and near compute the coefficients of the pairs in their own groups, one after the other. Either may be
	// nil. pairs may set the coefficients of other groups to arbitrary values.
	pairs  pairMethod
	near   *nearLinear
	replay replay
}

// pairMethod is a method that visits pairs. terms adds up the integer terms at places, and finish converts the
// integer sums to coefficients.
type pairMethod interface {
	terms(ctx context.Context, c *job)
	places() (at driver.Pointer, n int)
	finish(c *job)
}

// Kernel implements engine.Evaluator.
func (e *evaluator) Kernel() engine.Kernel { return e.planned }

// promptNumbers is a number of entries of X that both passes together read in less than a millisecond.
const promptNumbers = 1 << 27

// prompt reports whether a sum over all pairs by the near-linear method is so short that checking the context
// in the middle is unnecessary.
func (e *evaluator) prompt() bool { return e.grid.resident && e.problem.N*e.problem.D <= e.mostPrompt }

// persons holds the weights of rows, and the contributions of the pairs within persons, which a sum over all
// pairs includes and which must be subtracted.
type persons struct {
	records     *engine.Records
	weights     []float64 // weights of the rows in the order of the records
	weight, own driver.Pointer

	s, sums []float64 // in the order of the rows on the GPU, or on the GPUs of a team
}

// nearLinear computes c of the sorted groups by Chebyshev interpolation in both scores of
// a pair, one group after the other.
//
// Let M_b be the moments of the records of class b: sums of T_j at the positions of the records. Let G_ab[k] be
// the coefficients of 2 (y_a - y_b) phi'((y_a - y_b)(x_k - t)), as a function of the position t of a record of
// class b, at a node x_k of class a. The sum over b != a of G_ab[k] M_b is c at the node. The values at the
// nodes have a Chebyshev series, and the method evaluates the series at every record.
//
// All steps run on the GPU, so that a sum waits for the host only once. If all records form one group, the
// method needs neither the second pass over the scores nor c. The kernel that computes scores also adds up the
// moments, and the kernel that computes X^T c also evaluates the series.
type nearLinear struct {
	e       *evaluator
	module  *module
	classes classes
	scale   uint64
	groups  []sortedGroup
	covered int // number of rows in the groups

	part, moments, coefs, matrices, tables driver.Pointer
}

// sortedGroup is a group whose moments are summed. It consists of parts, and each part is a run of rows of one class.
type sortedGroup struct {
	parts              []uint32 // partWords numbers each, see kernels/cuda/nearlinear.cu
	at, first, classes driver.Pointer
}

// rowTeam returns the team that shares the rows. It is nil if each rank has all rows, which is the case if the
// team shares pairs.
func (k *kernel) rowTeam() engine.Team {
	if k.direct {
		return nil
	}
	return k.backend.Team
}
