package cuda

import (
	"fmt"
	"math"
	"slices"

	"dyad/engine"
	"dyad/kernels"
)

// Plan returns the kernel for a problem with a smooth engine.ScoreLoss that has a near-linear method (see
// planNearLinear). Plan also supports the logistic loss and every Expression with code for GPUs, both as an
// engine.ScoreLoss, smooth or not, and as a smooth engine.MetricLoss. For score losses, pairs may be formed
// within query groups.
//
// The error wraps engine.ErrUnsupported for other losses and for records that do not fit into the memory of the
// GPU. For a score loss, it is enough that two panels of records fit. If the method visits every pair, the
// error also wraps engine.ErrUnsupported for bounds outside the range of float32.
func (b Backend) Plan(p engine.Problem) (engine.Kernel, error) {
	k, err := b.plan(p)
	return k, orCPU(err)
}

func (b Backend) plan(p engine.Problem) (engine.Kernel, error) {
	if b.Method < AnyMethod || b.Method > NearLinear {
		return nil, fmt.Errorf("cuda: Backend.Method is %d, want AnyMethod, Direct or NearLinear", b.Method)
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.MaxRows() >= maxRecords {
		return nil, fmt.Errorf("%w: there may be %d rows, but a GPU takes fewer than %d", engine.ErrUnsupported,
			p.MaxRows(), maxRecords)
	}
	if loss, ok := p.Loss.(engine.MetricLoss); ok {
		if len(p.Groups) > 0 {
			return nil, fmt.Errorf("%w: a GPU kernel cannot compute query groups with loss %q",
				engine.ErrUnsupported, loss.Name())
		}
		return b.planMetric(p, loss)
	}
	if len(p.Groups) > 0 && p.ByPerson() {
		return nil, fmt.Errorf("%w: a GPU kernel cannot compute persons within query groups", engine.ErrUnsupported)
	}
	k := &kernel{backend: b, problem: p, mostPrompt: promptNumbers}
	var err error
	if k.loss, k.scores, err = engine.NewScoreRange(p, p.D); err != nil {
		return nil, err
	}
	if err := k.planMethod(b.Method); err != nil {
		return nil, err
	}
	if err := k.planPersons(); err != nil {
		return nil, err
	}
	if err := k.planTeam(); err != nil {
		return nil, err
	}
	k.grid = gridOf(rowsAre(p, p.MaxRows()), k.rowTeam())
	if k.grid, err = k.grid.placed(k.columnBytes()+personRoom(p), b.memory()); err != nil {
		return nil, err
	}
	if !k.usable() {
		return nil, fmt.Errorf("%w: the rounding errors of loss %q on a GPU are too large for margins up to %.3g",
			engine.ErrUnsupported, k.loss.Name(), k.scores.Margin)
	}
	return k, nil
}

// nearGroup is the smallest size of query groups for which the near-linear method is preferred. For one group,
// the launches of the near-linear method and a wait take about 30 us. In this time a GPU visits the pairs of
// about nearGroup records (an estimate).
const nearGroup = 1 << 13

// planMethod chooses the methods. The near-linear method is preferred for all pairs and for large groups
// wherever it exists. It needs only a few launches, and its rounding error is a millionth of the direct
// method's error. The choice follows from the sizes of groups, which are public.
func (k *kernel) planMethod(m Method) error {
	groups := k.groups()
	k.nearFrom = 2
	if len(k.problem.Groups) > 0 && m == AnyMethod {
		k.nearFrom = nearGroup
	}
	if m == Direct {
		k.nearFrom = math.MaxInt
	} else if slices.Max(groups) >= k.nearFrom {
		if err := k.planNearLinear(); err != nil {
			if m == NearLinear {
				return err
			}
			k.nearFrom = math.MaxInt
		}
	}
	if !slices.ContainsFunc(groups, func(size int) bool { return size > 1 && size < k.nearFrom }) {
		return nil
	}
	k.direct = true
	_, logistic := k.loss.(engine.Logistic)
	k.factored = logistic && len(groups) == 1 && !k.problem.ByPerson() && k.problem.LabelLimit() <= 2 &&
		k.scores.Margin <= maxFactoredMargin
	if k.factored {
		return nil
	}
	return k.planPairs()
}

// planPairs inserts the code of phi' into the kernel.
func (k *kernel) planPairs() error {
	s := k.scores
	code, err := slopeOf(k.loss, s.Margin, s.SlopeErr)
	if err != nil {
		return err
	}
	exponent := math.Ceil(math.Log2(s.Slope * s.LabelSpan * (1 + 0x1p-20)))
	for _, v := range []float64{s.Score, s.LabelSpan, math.Exp2(exponent)} {
		if !(v > math.Exp2(-spread) && v < math.Exp2(spread)) {
			return fmt.Errorf("%w: a value of size %.3g does not fit float32 on a GPU; rescale the features or labels",
				engine.ErrUnsupported, v)
		}
	}
	k.unit, k.slopeError, k.instructions = math.Exp2(exponent), code.absError, len(code.lines)
	lo, hi := k.slopeRange()
	if k.clamps, err = clampsOf(s.Margin, lo, hi); err != nil {
		return err
	}
	if !(max(-lo, hi)*s.LabelSpan*(1+0x1p-21) <= k.unit) { // pair_tiles relies on it
		return fmt.Errorf("cuda: the computed slope lies in [%g, %g], beyond the bound %g of loss %q", lo, hi,
			s.Slope, k.loss.Name())
	}
	k.ptx, err = splice(kernels.PTX(k.splicedName()), code, s.Margin, lo, hi)
	return err
}

// planNearLinear finds the expansion of phi' in the scores of one class. The error wraps engine.ErrUnsupported
// if there is no expansion. This is the case for a loss that is not an engine.AnalyticLoss, for margins that
// need more than 256 terms, and for many labels.
//
// The method uses one expansion for the whole range of scores. A record then adds to a few dozen sums that a
// thread holds in registers. Shorter expansions on parts of the range would make the choice of these sums
// depend on the record's score.
func (k *kernel) planNearLinear() error {
	loss, ok := k.loss.(engine.AnalyticLoss)
	// without smoothness a sum must be a sum of terms of pairs (engine.QueryBounds.Sum), and a sum of interpolants is not
	if !ok || !k.scores.Smooth() {
		return fmt.Errorf("%w: loss %q is not analytic, or its slope has no proved error bound; use Direct",
			engine.ErrUnsupported, k.loss.Name())
	}
	if k.problem.LabelLimit() > maxClasses {
		return fmt.Errorf("%w: there may be %d labels, but NearLinear takes at most %d; set Problem.LabelValues or "+
			"use Direct", engine.ErrUnsupported, k.problem.LabelLimit(), maxClasses)
	}
	size, q := loss.StripBound(k.scores.Margin, 0), k.problem.LabelLimit()
	if size < math.MaxFloat64 {
		e, ok := engine.Expand(loss, k.scores.Margin, k.scores.LabelSpan*k.scores.Score, size*tolerance, maxTerms, 1)
		if ok && q*(q-1)*e.Terms*e.Terms <= maxTable {
			k.expansion = e
			return nil
		}
	}
	return fmt.Errorf("%w: the expansion of loss %q needs more than %d terms for margins up to %.3g; use Direct",
		engine.ErrUnsupported, k.loss.Name(), maxTerms, k.scores.Margin)
}

// mostPersons is the largest number of persons for methods that visit pairs. It keeps weighted sums over all
// persons below 2^53.
const mostPersons = 1 << 22

// planPersons returns an error for problems that the kernels for persons do not support.
func (k *kernel) planPersons() error {
	if k.problem.ByPerson() && k.direct && k.problem.N > mostPersons {
		return fmt.Errorf("%w: a GPU cannot visit the pairs of %d persons one by one; it takes at most %d persons",
			engine.ErrUnsupported, k.problem.N, mostPersons)
	}
	return nil
}

// planTeam returns an error for sums that a team cannot share: sums within query groups that are all near-linear.
func (k *kernel) planTeam() error {
	if k.backend.Team != nil && len(k.problem.Groups) > 0 && !k.direct {
		return fmt.Errorf("%w: a team of GPUs does not support loss %q within query groups; use moments or one "+
			"process",
			engine.ErrUnsupported, k.loss.Name())
	}
	return nil
}
