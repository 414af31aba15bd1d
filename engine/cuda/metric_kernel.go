package cuda

import "dyad/engine"

// Sizes of the grid, as in kernels/cuda/metric*.cu.
const (
	metricGram  = 64      // features of a tile of the d x d result
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
