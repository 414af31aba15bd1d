package embedding

import (
	"fmt"
	"math"

	"dyad/kernels"
)

// Shape is a network that only another program can compute. The other program wrote a model file. The file states
// Parts, the sizes of the network's weights. A Shape cannot map records.
type Shape struct {
	Title   string
	In, Out int
	Parts   []Layer
}

// Validate returns an error if a network with these Parts cannot be in a model file.
func (f Shape) Validate() error {
	size := 0
	for _, l := range f.Parts {
		if l.Rows < 1 || l.Cols < 1 || l.Rows > maxInputs || l.Cols > maxInputs || l.Len() > maxInputs-size {
			return fmt.Errorf("embedding: part %q of network %s is %d x %d; the whole network must have 1 to %d "+
				"weights", l.Name, f.Title, l.Rows, l.Cols, maxInputs)
		}
		size += l.Len()
	}
	return Model{Network: f, Output: Output{Unit: true}}.Validate()
}

// Name returns the title.
func (f Shape) Name() string { return f.Title }

// Dims returns d, the number of features, and m, the dimension of the output.
func (f Shape) Dims() (d, m int) { return f.In, f.Out }

// Layers returns the parts.
func (f Shape) Layers() []Layer { return f.Parts }

// Reach returns +Inf because no bound is proved.
func (f Shape) Reach(float64) float64 { return math.Inf(1) }

// PullError returns a PullError with Size +Inf because no bound is proved.
func (f Shape) PullError(float64) PullError { return PullError{Size: math.Inf(1)} }

// Start returns zeros.
func (f Shape) Start(uint64) []float64 { return make([]float64, Parameters(f)) }

// NewPass panics because the function is unknown.
func (f Shape) NewPass(*kernels.Set) Pass {
	panic(fmt.Sprintf("embedding: network %s cannot run, because it was read without its function", f.Title))
}
