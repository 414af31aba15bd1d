package cpu

import (
	"fmt"

	"dyad/engine"
	"dyad/kernels"
)

// Metric losses have a fixed grid. A tile takes a few hundred kilobytes for any d below
// 256. Its row and column sums are computed over a panel of columns before other rows are
// processed.
const (
	metricRows    = 96
	metricCols    = kernels.MetricTileCols
	metricPanel   = 8160 // columns, a multiple of metricCols
	metricStripes = 64   // largest number of stripes of rows; the stripes are the jobs
	metricJob     = 16   // blocks of metricRows records of one job of PrefixPairs
)

// metricKernel is a planned problem with a MetricLoss. It is immutable.
type metricKernel struct {
	problem engine.Problem
	rows    int // largest number of rows; in an evaluator the number of rows
	set     *kernels.Set
	loss    engine.MetricLoss
	slopes  func(u []float64) // replaces margins by phi'
	tiles   func(u []float64) // slopes, or nil for the logistic ones of a kernels.MetricBlock
	limits  engine.MetricRange
	single  bool // pairs in float32
	workers int
	team    engine.Team // nil alone
	stripe  int         // rows of one job of AllPairs, a multiple of metricRows
	panel   int         // columns that are summed together, a multiple of metricCols

	// Limits of memory; they do not change results.
	partialFloats int // floats in partial sums of d^2 numbers, if there is more than one partial sum
	productFloats int // floats in X W; a larger X W is computed again for each panel
}

// planMetric returns the kernel for a valid problem with a MetricLoss.
func (b Backend) planMetric(p engine.Problem, loss engine.MetricLoss, set *kernels.Set) (engine.Kernel, error) {
	if b.Method == NearLinear {
		return nil, fmt.Errorf("%w: loss %q is not a function of scores and has no near-linear method, use Auto or Direct",
			engine.ErrUnsupported, loss.Name())
	}
	k := &metricKernel{problem: p, rows: p.MaxRows(), set: set, loss: loss, workers: b.workers(),
		single: b.Float32, team: b.Team,
		partialFloats: 16 << 20, productFloats: 4 << 20}
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
		return nil, fmt.Errorf("%w: rounding errors of loss %q over margins up to %.3g are not small", engine.ErrUnsupported,
			loss.Name(), k.limits.Margin)
	}
	if k.single {
		return k, k.planSingle(logistic)
	}
	return k, nil
}

// planGrid determines how rows are cut into jobs. If there are fewer rows, neither stripes nor panels become longer.
func (k *metricKernel) planGrid() {
	blocks := (k.rows + metricRows - 1) / metricRows
	k.stripe = (blocks + metricStripes - 1) / metricStripes * metricRows
	k.panel = min(metricPanel, k.rows)
}

// each applies f to every number of a slice.
func each(f func(float64) float64) func([]float64) {
	return func(x []float64) {
		for i, v := range x {
			x[i] = f(v)
		}
	}
}

// Problem returns the planned problem.
func (k *metricKernel) Problem() engine.Problem { return k.problem }

// Method returns "direct", or "direct, fp32".
func (k *metricKernel) Method() string {
	if k.single {
		return Direct.String() + ", fp32"
	}
	return Direct.String()
}

func (k *metricKernel) stripes() int { return (k.rows + k.stripe - 1) / k.stripe }

// slots returns the number of jobs that run between two reductions. It limits memory and
// does not change results.
func (k *metricKernel) slots(jobs int) int {
	d := k.problem.D
	return min(jobs, max(k.partialFloats/d/d, 1))
}

// Bind implements engine.Kernel.
func (k *metricKernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	if err := k.problem.Fits(r); err != nil {
		return nil, err
	}
	n, d := r.Len(), k.problem.D
	grid := *k
	grid.rows = n
	grid.planGrid()
	e := &metricEvaluator{
		metricKernel: &grid, planned: k, x: newMatrix(r, k.set), y: r.Labels(), persons: newRowsOfPersons(r),
		w: make([]float64, d*d), total: make([]float64, d*d),
		rowSum: make([]float64, n), colSum: make([]float64, n),
	}
	if k.single {
		e.narrow = newNarrow(e.x, e.y)
	}
	return e, nil
}
