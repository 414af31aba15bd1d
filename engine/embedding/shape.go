package embedding

import (
	"fmt"
	"math"

	"dyad/kernels"
)

// Shape is a network whose function a program does not know: it knows the parts of the weights alone, from the model file of another
// program. Nothing maps a record by it.
type Shape struct {
	Title   string
	In, Out int
	Parts   []Layer
}

// Validate returns an error for parts that no weights of a file can have.
func (f Shape) Validate() error {
	size := 0
	for _, l := range f.Parts {
		if l.Rows < 1 || l.Cols < 1 || l.Rows > maxInputs || l.Cols > maxInputs || l.Len() > maxInputs-size {
			return fmt.Errorf("embedding: part %q of network %s is %d x %d; all parts together have 1 to %d weights", l.Name, f.Title, l.Rows, l.Cols, maxInputs)
		}
		size += l.Len()
	}
	return Model{Network: f, Output: Output{Unit: true}}.Validate()
}

// Name is the title.
func (f Shape) Name() string { return f.Title }

// Dims are d and m.
func (f Shape) Dims() (d, m int) { return f.In, f.Out }

// Layers are the parts.
func (f Shape) Layers() []Layer { return f.Parts }

// Reach is +Inf: nothing is proved.
func (f Shape) Reach(float64) float64 { return math.Inf(1) }

// PullError is +Inf, too.
func (f Shape) PullError(float64) PullError { return PullError{Size: math.Inf(1)} }

// Start is zero.
func (f Shape) Start(uint64) []float64 { return make([]float64, Parameters(f)) }

// NewPass panics: nothing is known of the function.
func (f Shape) NewPass(*kernels.Set) Pass {
	panic(fmt.Sprintf("embedding: network %s was read without its function", f.Title))
}
