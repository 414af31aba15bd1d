package embedding

import "context"

// Engine is a device that sums clipped gradients of pairs. CPU implements it here, and package engine/cuda
// implements it for a GPU.
type Engine interface {
	// Name returns the name of the device as on the command line, "cpu" or "cuda:0".
	Name() string
	// Sums returns a Sums over data for a matrix of rows x Dim. If the device cannot compute the sums, the
	// error wraps engine.ErrUnsupported and comes before any sum is computed.
	Sums(data *Data, loss ListLoss, rows int) (Sums, error)
}

// Sums computes sums of clipped gradients over batches of the pairs of one data set. It
// is used from one goroutine at a time.
//
// A guarantee rests on the same facts for every device. The computed sum of a batch is within SumError of a sum
// of terms, one term for each listed pair. Each term is a function of the records of its own pair, of w and of
// clip, and has norm at most clip.
type Sums interface {
	// Len returns the number of entries of W.
	Len() int
	// Sum computes the sum that Gradients.Sum describes.
	Sum(ctx context.Context, dst, w []float64, pairs []int32, clip float64, how Clip) error
	// Close frees the resources of the device.
	Close() error
}

// CPU is the Engine of this package.
type CPU struct {
	// Workers is the number of goroutines. If it is below 1, one goroutine is used. Workers changes the running
	// time but not the result.
	Workers int
}

// Name returns "cpu".
func (CPU) Name() string { return "cpu" }

// Sums returns NewGradients with Workers goroutines.
func (c CPU) Sums(data *Data, loss ListLoss, rows int) (Sums, error) {
	return NewGradients(data, loss, rows, c.Workers)
}

// Close implements Sums. There is nothing to free.
func (g *Gradients) Close() error { return nil }
