package cpu

import (
	"fmt"
	"math"

	"dyad/engine"
	"dyad/kernels"
)

// Plan returns the kernel for a problem. It supports an engine.ScoreLoss or engine.MetricLoss that is smooth or is an
// engine.ScalarLoss. It also supports a loss that is neither an engine.ScoreLoss nor an engine.MetricLoss, if its
// Constants have Smoothness +Inf, and computes it pair by pair. For all other losses and for query groups (see
// engine.Grouped), the error wraps engine.ErrUnsupported. The error also wraps engine.ErrUnsupported if Method cannot
// be used: NearLinear needs an engine.AnalyticLoss whose expansion converges over the public range, and Sorted needs a
// slope that is piecewise linear on the public range.
func (b Backend) Plan(p engine.Problem) (engine.Kernel, error) {
	if b.Method < Auto || b.Method > Sorted {
		return nil, fmt.Errorf("cpu: Backend.Method is %d, want Auto, Direct, NearLinear or Sorted", b.Method)
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if len(p.Groups) > 0 {
		return nil, fmt.Errorf("%w: this backend does not support query groups; wrap it in engine.Grouped",
			engine.ErrUnsupported)
	}
	if p.N >= math.MaxInt32 {
		return nil, fmt.Errorf("%w: there are %d records, but the cpu backend takes fewer than %d", engine.ErrUnsupported,
			p.N, math.MaxInt32)
	}
	if err := b.refuseForPersons(p); err != nil {
		return nil, err
	}
	set, err := kernels.Select(b.Variant)
	if err != nil {
		return nil, fmt.Errorf("%w: Backend.Variant: %w", engine.ErrUnsupported, err)
	}
	if loss, ok := p.Loss.(engine.MetricLoss); ok {
		return b.planMetric(p, loss, set)
	}
	if _, ok := p.Loss.(engine.ScoreLoss); !ok {
		return b.planOwn(p)
	}
	return b.planScore(p, set)
}

// planScore returns the kernel for a valid problem with a ScoreLoss.
func (b Backend) planScore(p engine.Problem, set *kernels.Set) (engine.Kernel, error) {
	k := &kernel{problem: p, rows: p.MaxRows(), set: set, moves: set, rowLen: p.D, workers: b.workers(), team: b.Team}
	if p.NonZerosPerRow > 0 {
		k.rowLen = p.NonZerosPerRow
	}
	var err error
	if k.loss, k.scores, err = engine.NewScoreRange(p, kernels.DotDepth(k.rowLen)); err != nil {
		return nil, err
	}
	form, scalar := k.loss.(engine.ScalarLoss)
	if !k.scores.Smooth() && !scalar {
		return nil, fmt.Errorf("%w: loss %q is neither smooth nor an engine.ScalarLoss, so the cpu backend cannot "+
			"bound its rounding error", engine.ErrUnsupported, k.loss.Name())
	}
	_, k.logistic = k.loss.(engine.Logistic)
	k.dphi = k.loss.DPhi
	switch {
	case k.logistic:
		k.dphi = kernels.LogisticSlope
	case !k.scores.Smooth():
		// Scores must not depend on the other rows of a block (engine.QueryBounds.Sum).
		// The plain kernels sum every row in the same way, but the vector kernels need
		// not.
		if k.set, err = kernels.Select(kernels.Generic); err != nil {
			return nil, err
		}
		lo, hi := k.scores.SlopeMin, k.scores.SlopeMax
		k.dphi = func(u float64) float64 { return kernels.Clamp(form.Scalar().DPhi(u), lo, hi) }
		k.block = kernels.ClampedSlopes(form.Scalar().Slopes, lo, hi)
	case scalar:
		k.block = form.Scalar().Slopes
	}
	k.factored = k.logistic && k.scores.Margin <= kernels.MaxLogisticMargin
	expansion := (b.Method == Auto || b.Method == NearLinear) && k.planExpansion()
	pieces := (b.Method == Auto || b.Method == Sorted) && k.planPieces()
	switch {
	case b.Method == Direct:
		k.method = Direct
	case b.Method == Sorted && !pieces:
		return nil, fmt.Errorf("%w: the slope of loss %q is not piecewise linear over margins up to %.3g; use Direct",
			engine.ErrUnsupported, k.loss.Name(), k.scores.Margin)
	case b.Method == Sorted:
		k.method = Sorted
	case b.Method == NearLinear && !k.fewLabels():
		return nil, fmt.Errorf("%w: the problem allows %d labels, but NearLinear takes at most %d; set "+
			"Problem.LabelValues or use Direct", engine.ErrUnsupported, p.LabelLimit(), maxClasses)
	case b.Method == NearLinear && !expansion:
		return nil, fmt.Errorf("%w: the expansion of loss %q does not converge for margins up to %.3g; use Direct",
			engine.ErrUnsupported, k.loss.Name(), k.scores.Margin)
	case b.Method == NearLinear:
		k.method = NearLinear
	default:
		k.method = k.cheapest(expansion && k.fewLabels(), pieces && k.sortedError() < k.smallError())
	}
	if k.method == Sorted && k.team != nil {
		return nil, fmt.Errorf("%w: a team cannot sum loss %q; in a team, use a loss that is analytic, such as "+
			"logistic or square",
			engine.ErrUnsupported, k.loss.Name())
	}
	k.planGrid()
	if !k.usable() {
		return nil, fmt.Errorf("%w: the rounding errors of loss %q are too large for margins up to %.3g",
			engine.ErrUnsupported, k.loss.Name(), k.scores.Margin)
	}
	return k, nil
}

// refuseForPersons returns an error for problems and methods that cannot sum with weights.
func (b Backend) refuseForPersons(p engine.Problem) error {
	if p.ByPerson() && b.Float32 {
		return fmt.Errorf("%w: pairs of persons need float64; leave --precision out", engine.ErrUnsupported)
	}
	return nil
}

// planMetric returns the kernel for a valid problem with a MetricLoss.
func (b Backend) planMetric(p engine.Problem, loss engine.MetricLoss, set *kernels.Set) (engine.Kernel, error) {
	if b.Method == NearLinear {
		return nil, fmt.Errorf("%w: loss %q does not use scores, so it has no near-linear method; use Auto or Direct",
			engine.ErrUnsupported, loss.Name())
	}
	k := &metricKernel{problem: p, rows: p.MaxRows(), set: set, loss: loss, workers: b.workers(),
		single: b.Float32, team: b.Team, partialFloats: 16 << 20, productFloats: 4 << 20}
	var err error
	if k.limits, err = engine.NewMetricRange(p, loss, marginDepth(p.D)); err != nil {
		return nil, err
	}
	form, scalar := loss.(engine.ScalarLoss)
	_, logistic := loss.(engine.MahalanobisLogistic)
	switch {
	case logistic && k.limits.Margin <= kernels.MaxLogisticMargin:
		k.slopes = set.LogisticSlopes
	case logistic:
		k.slopes = each(kernels.LogisticSlope)
		k.tiles = k.slopes
	case scalar && k.limits.Smooth():
		k.slopes = form.Scalar().Slopes
		k.tiles = k.slopes
	case scalar:
		// Margins must not depend on the other rows of a block, for the same reason as scores.
		if k.set, err = kernels.Select(kernels.Generic); err != nil {
			return nil, err
		}
		k.slopes = kernels.ClampedSlopes(form.Scalar().Slopes, k.limits.SlopeMin, k.limits.SlopeMax)
		k.tiles = k.slopes
	default:
		k.slopes = each(loss.MetricDPhi)
		k.tiles = k.slopes
	}
	k.planGrid()
	if !k.usable() {
		return nil, fmt.Errorf("%w: the rounding errors of loss %q are too large for margins up to %.3g",
			engine.ErrUnsupported, loss.Name(), k.limits.Margin)
	}
	if k.single {
		return k, k.planSingle(logistic)
	}
	return k, nil
}

// each applies f to every number of a slice.
func each(f func(float64) float64) func([]float64) {
	return func(x []float64) {
		for i, v := range x {
			x[i] = f(v)
		}
	}
}

// planSingle checks that the problem is within the range of the proof for pairs in float32.
func (k *metricKernel) planSingle(logistic bool) error {
	b, m := k.problem.Bounds, k.limits
	if !logistic {
		return fmt.Errorf("%w: loss %q cannot be computed in float32 on the CPU; leave out --precision to use float64",
			engine.ErrUnsupported, k.loss.Name())
	}
	for _, v := range []float64{b.FeatureNorm, b.LabelAbs} {
		if !(v >= 1/spread32 && v <= spread32) {
			return fmt.Errorf("%w: float32 cannot be used for features or labels of size %.3g; rescale them or use "+
				"float64", engine.ErrUnsupported, v)
		}
	}
	if m.Margin*(1+0x1p-10) > kernels.MaxLogisticMargin32 || !(k.relativeError() < 0x1p-8) {
		return fmt.Errorf("%w: float32 is too inexact here (margins up to %.3g, %d features); use a smaller radius "+
			"or float64", engine.ErrUnsupported, m.Margin, k.problem.D)
	}
	return nil
}
