package cuda

import (
	"fmt"
	"math"

	"dyad/engine"
	"dyad/kernels"
)

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
		return nil, fmt.Errorf("%w: loss %q is not smooth, so no bound of the rounding error of a GPU is proved",
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
			return nil, fmt.Errorf("%w: a value of size %.3g does not fit float32 on a GPU; rescale the features "+
				"or labels", engine.ErrUnsupported, v)
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
	if err := b.fits(p, k.bytes()); err != nil {
		return nil, err
	}
	if !k.usable() {
		return nil, fmt.Errorf("%w: loss %q has too large rounding errors on a GPU for margins up to %.3g",
			engine.ErrUnsupported, loss.Name(), m.Margin)
	}
	return k, nil
}

// powerAbove returns a power of two that is at least v (1 + 2^-20).
func powerAbove(v float64) float64 {
	_, e := math.Frexp(v * (1 + 0x1p-19))
	return math.Ldexp(1, e)
}

// precision returns the precision that applies to a problem.
func (b Backend) precision(p engine.Problem) (Precision, error) {
	switch {
	case b.Precision == AutoPrecision && p.ByPerson():
		return FP32, nil
	case b.Precision == AutoPrecision:
		return BF16x3, nil
	case b.Precision != FP32 && p.ByPerson():
		return 0, fmt.Errorf("%w: pairs of persons cannot be computed in %s; use fp32, or leave out --precision",
			engine.ErrUnsupported, b.Precision)
	}
	return b.Precision, nil
}
