package cuda

import (
	"fmt"
	"math"
	"math/bits"

	"dyad/engine"
	"dyad/kernels"
)

// Backend computes on a GPU.
type Backend struct {
	// Device is where kernels run. A plan needs only its size.
	Device *Device
	// Precision is that of the pairs of Mahalanobis losses.
	Precision Precision
}

var _ engine.Backend = Backend{}

// Name returns "cuda:" and the number of the GPU.
func (b Backend) Name() string { return b.Device.Name() }

// Sizes of the grid, as in kernels/cuda/score.cu.
const (
	blockThreads = 256
	factoredRows = 128
	factoredCols = 2048
	pairRows     = 64
	pairCols     = 1024
)

const (
	// maxFactoredMargin is the largest public margin V for the factored form: a and b
	// are within e^(+-V/2), |V/2 log2 e| < 92.4, so a and b are normal float32
	// numbers and a padded b is above 2^27, where 1/(1 + a b) rounds to 0.
	maxFactoredMargin = 128
	// maxRecords keeps sums of integers below 2^53, where float64 is exact.
	maxRecords = 1 << 30
	// spread is the range 2^-spread to 2^spread of scores, labels and terms in float32.
	spread = 40
)

// Plan returns the kernel for a problem with a smooth engine.ScoreLoss or
// engine.MetricLoss that is logistic or an Expression. It wraps engine.ErrUnsupported for other losses, for
// query groups, for records that do not fit into the memory of the GPU and for bounds
// outside of the range of float32.
func (b Backend) Plan(p engine.Problem) (engine.Kernel, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if len(p.Groups) > 0 {
		return nil, fmt.Errorf("%w: query groups on a GPU", engine.ErrUnsupported)
	}
	if p.N >= maxRecords {
		return nil, fmt.Errorf("%w: %d records, a GPU takes fewer than %d", engine.ErrUnsupported, p.N, maxRecords)
	}
	if loss, ok := p.Loss.(engine.MetricLoss); ok {
		return b.planMetric(p, loss)
	}
	k := &kernel{backend: b, problem: p}
	var err error
	if k.loss, k.scores, err = engine.NewScoreRange(p, p.D); err != nil {
		return nil, err
	}
	if math.IsInf(k.scores.Curvature, 0) {
		return nil, fmt.Errorf("%w: loss %q is not smooth, the GPU's rounding error has no bound", engine.ErrUnsupported, k.loss.Name())
	}
	_, logistic := k.loss.(engine.Logistic)
	k.factored = logistic && p.LabelLimit() <= 2 && k.scores.Margin <= maxFactoredMargin
	k.ptx = kernels.PTX("score")
	if !k.factored {
		if err := k.planPairs(); err != nil {
			return nil, err
		}
	}
	k.chunk = blockThreads * max(64, (p.N+blockThreads*maxChunks-1)/(blockThreads*maxChunks))
	if err := b.fits(p, k.memory()); err != nil {
		return nil, err
	}
	if !k.usable() {
		return nil, fmt.Errorf("%w: rounding errors of loss %q over margins up to %.3g are not small on a GPU", engine.ErrUnsupported, k.loss.Name(), k.scores.Margin)
	}
	return k, nil
}

// fits returns an error unless the GPU has that many bytes.
func (b Backend) fits(p engine.Problem, need uint64) error {
	if have := b.Device.Info().TotalMemory; need > have {
		return fmt.Errorf("%w: %d records of %d features need %.1f GiB, %s has %.1f; use the CPU", engine.ErrUnsupported, p.N, p.D, gib(need), b.Name(), gib(have))
	}
	return nil
}

func gib(bytes uint64) float64 { return float64(bytes) / (1 << 30) }

// planPairs puts the code of the slope into the kernel.
func (k *kernel) planPairs() error {
	code, err := slopeOf(k.loss, k.scores.Margin, k.scores.SlopeErr)
	if err != nil {
		return err
	}
	s := k.scores
	exponent := math.Ceil(math.Log2(s.Slope * s.LabelSpan * (1 + 0x1p-20)))
	for _, v := range []float64{s.Score, s.LabelSpan, math.Exp2(exponent)} {
		if !(v > math.Exp2(-spread) && v < math.Exp2(spread)) {
			return fmt.Errorf("%w: scores, labels or gradients of size %.3g on a GPU, which computes pairs in float32; rescale the features or labels", engine.ErrUnsupported, v)
		}
	}
	k.unit, k.slopeError = math.Exp2(exponent), code.absError
	k.ptx, err = splice(kernels.PTX("score"), code, s.Margin, s.Slope)
	return err
}

// kernel is a planned problem. It is immutable.
type kernel struct {
	backend  Backend
	problem  engine.Problem
	loss     engine.ScoreLoss
	scores   engine.ScoreRange
	factored bool
	ptx      string
	chunk    int // rows of a partial sum of X^T c, a multiple of blockThreads

	// For pairs that are not factored: terms are in units of 2^-22 unit, a power of two
	// above Slope LabelSpan, and phi' is within slopeError.
	unit, slopeError float64
}

var _ engine.Kernel = (*kernel)(nil)

// Problem returns the planned problem.
func (k *kernel) Problem() engine.Problem { return k.problem }

// Method returns "direct, factored" or "direct".
func (k *kernel) Method() string {
	if k.factored {
		return "direct, factored"
	}
	return "direct"
}

// maxChunks bounds the partial sums of X^T c.
const maxChunks = 1024

func (k *kernel) chunks() int { return (k.problem.N + k.chunk - 1) / k.chunk }

// memory is what an evaluator allocates, in bytes, at most, with room for the driver.
func (k *kernel) memory() uint64 {
	n, d := uint64(k.problem.N), uint64(k.problem.D)
	return 8*n*d + 8*d + 8*d*uint64(k.chunks()) + n*(8+8+8+16) + 1<<20 + 512<<20
}

// rowSumDepth is the depth of X^T c: a thread, a block, and the chunks in a tree.
func (k *kernel) rowSumDepth() int {
	return k.chunk/blockThreads + 1 + bits.Len(blockThreads) + bits.Len(uint(k.chunks()))
}
