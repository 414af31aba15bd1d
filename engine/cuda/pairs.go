package cuda

import (
	"fmt"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/engine/embedding"
	"dyad/kernels"
)

var _ embedding.Engine = Backend{}

// Sizes of the grid, as in kernels/cuda/pairs.cu.
const (
	pairListPairs = 32
	pairListRows  = 8
	pairListStep  = 32
)

const (
	// largestWeight limits the absolute values of the entries of W, so that no square overflows.
	largestWeight = 1e100
	// largestMargin limits the margin, and with it the coefficients, of a contrastive loss. smallestClip is the
	// smallest clipping norm. With these limits, products of numbers whose squares underflow are below the
	// fixed-point unit.
	largestMargin, smallestClip = 0x1p100, 0x1p-150
	// largestSide limits the numbers of rows and columns of W.
	largestSide = 1 << 20
)

// The numbers of the losses in pairs.cu.
const (
	contrastiveLoss = iota
	bradleyTerryLoss
)

// pairSums holds labelled pairs in the memory of a GPU.
type pairSums struct {
	held
	loss    embedding.ListLoss
	number  uint64 // number of the loss in pairs.cu
	margin  float64
	rows, d int
	pairs   int
	slice   int // largest number of pairs of a launch
	norm    embedding.Norm
	bound   float64

	module *module
	// x holds the features, n x d by rows. first, second and label describe the pairs. list is a slice of a
	// batch, and v and length hold the coefficients and lengths of its pairs. w and sums are rows x d.
	x, w, first, second, label, list, v, length, sums driver.Pointer
	integers                                          []int64
}

// Sums implements embedding.Engine. It copies features, pairs and labels to the GPU. The error wraps
// engine.ErrUnsupported for losses without a kernel and for data that do not fit into the memory of the GPU.
func (b Backend) Sums(data *embedding.Data, loss embedding.ListLoss, rows int) (embedding.Sums, error) {
	s, err := b.planSums(data, loss, rows)
	return s, orCPU(err)
}

func (b Backend) planSums(data *embedding.Data, loss embedding.ListLoss, rows int) (embedding.Sums, error) {
	if _, err := embedding.NewGradients(data, loss, rows, 1); err != nil {
		return nil, err // NewGradients checks the arguments
	}
	if rows > largestSide || data.Dim() > largestSide {
		return nil, fmt.Errorf("%w: a matrix of %d x %d is too large for a GPU, which takes at most %d",
			engine.ErrUnsupported, rows, data.Dim(), largestSide)
	}
	s := &pairSums{loss: loss, rows: rows, d: data.Dim(), pairs: len(data.Graph().Pairs())}
	s.norm, s.bound = data.Norm()
	switch l := loss.(type) {
	case embedding.Contrastive:
		if !(l.Margin > 0 && l.Margin <= largestMargin) {
			return nil, fmt.Errorf("%w: a margin of %v is too large for a GPU, which takes at most %g", engine.ErrUnsupported,
				l.Margin, float64(largestMargin))
		}
		s.number, s.margin = contrastiveLoss, l.Margin
	case embedding.BradleyTerry:
		s.number = bradleyTerryLoss
	default:
		return nil, fmt.Errorf("%w: loss %q has no GPU kernel for pairs", engine.ErrUnsupported, loss.Name())
	}
	s.slice = min(max(1<<22/rows, 1<<8), 1<<16, max(s.pairs, 1))
	n := data.Graph().Len()
	if need, have := bytesOf(s.blocks(n)), b.Device.Info().TotalMemory; need > have {
		return nil, fmt.Errorf("%w: %d individuals of %d features, %d pairs and %d rows need %.1f GiB, %s has %.1f",
			engine.ErrUnsupported, n, s.d, s.pairs, rows, gib(need), b.Name(), gib(have))
	}
	s.integers = make([]int64, s.Len())
	return s, s.fill(b.Device, func(c *job) {
		s.module = b.Device.load(c, kernels.PTX("pairs"))
		s.alloc(c, s.blocks(n))
		s.upload(c, data)
	})
}

// Len implements embedding.Sums.
func (s *pairSums) Len() int { return s.rows * s.d }

func (s *pairSums) blocks(n int) []block {
	m := max(s.pairs, 1)
	return []block{
		{&s.x, 8 * n * s.d}, {&s.w, 8 * s.Len()}, {&s.sums, 8 * s.Len()}, {&s.first, 4 * m}, {&s.second, 4 * m},
		{&s.label, 4 * m},
		{&s.list, 4 * s.slice}, {&s.v, 8 * s.rows * s.slice}, {&s.length, 8 * s.slice},
	}
}

func (s *pairSums) upload(c *job, data *embedding.Data) {
	rows := max(stagingBytes/(8*s.d), 1)
	var some []float64
	for v, at := 0, 0; v < data.Graph().Len(); v++ {
		some = append(some, data.Row(v)...)
		if v+1 == data.Graph().Len() || v+1-at == rows {
			c.copyIn(s.x+driver.Pointer(8*at*s.d), some)
			some, at = some[:0], v+1
		}
	}
	var ends [3][]uint32
	for i, p := range data.Graph().Pairs() {
		label := uint32(0)
		if data.Label(i) {
			label = 1
		}
		for k, v := range []uint32{uint32(p.A), uint32(p.B), label} {
			ends[k] = append(ends[k], v)
		}
	}
	for k, to := range []driver.Pointer{s.first, s.second, s.label} {
		c.copyWords(to, ends[k])
	}
}
