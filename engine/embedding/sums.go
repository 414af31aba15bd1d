package embedding

import "context"

// Engine is a device that sums clipped pair gradients: CPU here, a GPU in package
// engine/cuda.
type Engine interface {
	// Name is the device as on the command line, "cpu" or "cuda:0".
	Name() string
	// Sums takes the data for sums in a matrix of rows x Dim. It wraps
	// engine.ErrUnsupported for what the device cannot do, before any sum is computed.
	Sums(data *Data, loss ListLoss, rows int) (Sums, error)
}

// Sums computes sums of clipped gradients over batches of the pairs of one data set. It
// is used from one goroutine at a time.
//
// A guarantee rests on the same facts for every device: the computed sum of a batch is
// within SumError of a sum of terms, one for each listed pair. Each term is a function of
// the records of its own pair, of w and of clip, and has norm at most clip.
type Sums interface {
	// Len is the number of entries of W.
	Len() int
	// Sum is Gradients.Sum.
	Sum(ctx context.Context, dst, w []float64, pairs []int32, clip float64, how Clip) error
	// Close frees what the device holds.
	Close() error
}

// CPU is the Engine of this package.
type CPU struct {
	Workers int // below 1 means 1; it changes the time, never the result
}

// Name returns "cpu".
func (CPU) Name() string { return "cpu" }

// Sums is NewGradients.
func (c CPU) Sums(data *Data, loss ListLoss, rows int) (Sums, error) {
	g, err := NewGradients(data, loss, rows, c.Workers)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Close implements Sums; there is nothing to free.
func (g *Gradients) Close() error { return nil }
