package cuda

import (
	"fmt"
	"math"

	"dyad/engine"
	"dyad/kernels"
)

// Sizes of the grid, as in kernels/cuda/metric*.cu.
const (
	metricGram  = 64      // features of a tile of the d x d result
	metricSpan  = 1024    // number of columns whose products are summed in float32
	metricFixed = 0x1p-32 // fixed-point unit of the sums of products, relative to the units of a coefficient and a feature
)

// metricPairsPerLaunch is the number of pairs times features that the GPU visits in one launch. According to
// the float32 rate of a GPU, a launch takes a few milliseconds. This time has not been measured.
const metricPairsPerLaunch = 1 << 36

// metricGramFloats bounds the number of entries of all partial sums of the d x d result.
const metricGramFloats = 1 << 22

// metricKernel is a planned problem with a MetricLoss. It is immutable.
type metricKernel struct {
	backend Backend
	problem engine.Problem
	loss    engine.MetricLoss
	limits  engine.MetricRange
	tiling
	tiles string // PTX of the tiles
	n     int    // rows on the GPU; before Bind, the largest possible number of rows of persons
	chunk int    // rows in a partial sum of the d x d result

	// Coefficients are multiples of grid unit. Features, X W and coefficients are divided by powers of two, so
	// that their absolute values are at most 1.
	unit, features, products float64
	slopeError               float64 // error of the code for phi'

	pairsPerLaunch int // limits the time until a cancelled context is noticed
}

// planMetric returns the kernel for a valid problem without groups. Rows of persons use the tiling personTiling,
// which is based on FP32.
func (b Backend) planMetric(p engine.Problem, loss engine.MetricLoss) (engine.Kernel, error) {
	precision, err := b.precision(p)
	if err != nil {
		return nil, err
	}
	k := &metricKernel{backend: b, problem: p, loss: loss, n: p.MaxRows(), tiling: tilingOf(precision, p.D)}
	if p.ByPerson() {
		k.tiling = personTiling()
	}
	if k.limits, err = engine.NewMetricRange(p, loss, distanceDepth(p.D)); err != nil {
		return nil, err
	}
	m := k.limits
	if !m.Smooth() {
		return nil, fmt.Errorf("%w: loss %q is not smooth, the GPU's rounding error has no bound",
			engine.ErrUnsupported, loss.Name())
	}
	code, err := slopeOf(loss, m.Margin, m.SlopeErr)
	if err != nil {
		return nil, err
	}
	R, r := p.Bounds.FeatureNorm, p.Radius
	k.slopeError = code.absError
	k.unit = powerAbove(m.Slope * m.Labels)
	k.features, k.products = powerAbove(R), powerAbove(R*r)
	for _, v := range []float64{R, p.Bounds.LabelAbs, m.Distance, m.Slope, k.unit} {
		if !(v > math.Exp2(-spread) && v < math.Exp2(spread)) {
			return nil, fmt.Errorf("%w: features, labels, distances or gradients of size %.3g on a GPU, which computes pairs "+
				"in float32; rescale the features or labels", engine.ErrUnsupported, v)
		}
	}
	if k.tiles, err = splice(kernels.PTX(k.file), code, m.Margin, -m.Slope, m.Slope); err != nil {
		return nil, err
	}
	k.pairsPerLaunch = metricPairsPerLaunch / roundUp(p.D, 64)
	k.chunk = max(2048, chunksOf(k.n, maxChunks))
	if most := metricGramFloats/p.D/p.D + 1; k.chunks() > most {
		k.chunk = chunksOf(k.n, most)
	}
	if err := b.fits(p, k.memory()); err != nil {
		return nil, err
	}
	if !k.usable() {
		return nil, fmt.Errorf("%w: rounding errors of loss %q over margins up to %.3g are not small on a GPU",
			engine.ErrUnsupported, loss.Name(), m.Margin)
	}
	return k, nil
}

// powerAbove returns a power of two that is at least v (1 + 2^-20).
func powerAbove(v float64) float64 {
	_, e := math.Frexp(v * (1 + 0x1p-19))
	return math.Ldexp(1, e)
}

// Problem returns the planned problem.
func (k *metricKernel) Problem() engine.Problem { return k.problem }

// Method returns "direct, " followed by the precision.
func (k *metricKernel) Method() string {
	if k.operand == "" {
		return "direct, fp32"
	}
	return "direct, " + k.operand
}

func (k *metricKernel) chunks() int { return chunksOf(k.n, k.chunk) }

// stride returns the number of rows, rounded up to whole tiles.
func (k *metricKernel) stride() int { return roundUp(k.n, k.align) }

// padded returns d, rounded up to whole pieces.
func (k *metricKernel) padded() int { return roundUp(k.problem.D, k.piece) }

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// pieces returns the number of blocks that share the products of a tile.
func (k *metricKernel) pieces() int { return k.padded() / k.piece }

func (k *metricKernel) spans() int { return chunksOf(k.n, metricSpan) }

// blocks returns the memory blocks that an evaluator allocates.
func (k *metricKernel) blocks(e *metricEvaluator) []block {
	n, d, stride := k.n, k.problem.D, k.stride()
	list := []block{
		{&e.x, 8 * n * d}, {&e.z, 8 * n * d}, {&e.left, 4 * stride * k.padded()}, {&e.right, 4 * stride * k.padded()},
		{&e.q, 8 * n}, {&e.labels, 8 * n}, {&e.points, 8 * stride}, {&e.sums, 8 * n},
		{&e.w, 8 * d * d}, {&e.origin, 8 * d}, {&e.zero, 8 * d}, {&e.part, 8 * d * d * k.chunks()},
	}
	if k.tiling.factor.records > 0 {
		list = append(list, block{&e.factor, 4 * stride * k.padded()})
	}
	if k.problem.ByPerson() {
		list = append(list, block{&e.weight, 8 * n}, block{&e.next, 4 * n})
	}
	return list
}

// memory returns the number of bytes that an evaluator allocates, including the memory that the driver needs.
func (k *metricKernel) memory() uint64 {
	need := uint64(512 << 20)
	for _, b := range k.blocks(&metricEvaluator{}) {
		need += uint64(b.bytes) + 256
	}
	return need
}

// Bind implements engine.Kernel. It copies the records to the GPU, sparse records as dense rows. Bind fails
// only if Problem.Fits fails or if the GPU fails.
func (k *metricKernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	if err := k.problem.Fits(r); err != nil {
		return nil, err
	}
	d, own := k.problem.D, *k
	own.n = r.Len()
	e := &metricEvaluator{metricKernel: &own, planned: k, records: r, full: make([]float64, d*d), last: make([]float64, d)}
	if err := e.fill(k.backend.Device, e.load); err != nil {
		return nil, err
	}
	return e, nil
}
