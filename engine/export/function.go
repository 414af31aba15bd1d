// Package export writes fitted functions of raw columns for other programs: ONNX, arrays, and source
// text of linear functions. Every format computes what Encoder.Encode and the layers behind it
// compute, up to rounding.
//
// Numbers arrive as numbers and dates as days, so the notation of a text file (decimal commas,
// suffixes, layouts of dates) is left to the caller. Where Encode refuses a value, the result
// is not a number (NULL in SQL, an error in Go).
package export

import (
	"fmt"
	"slices"

	"dyad/engine/dataset"
	"dyad/engine/layers"
)

// Function maps rows of raw columns to Outputs() numbers each: the encoder, the projection to
// the unit ball, and the layers, one after the other.
type Function struct {
	Encoder *dataset.Encoder
	Layers  []Layer // at least one
	// Steps, if not nil, are what is computed instead, by the matrices of Layers; Spec describes them.
	Steps []layers.Step
	Spec  *layers.Spec
	// UnitFloor > 0 divides the output g by sqrt(||g||^2 + UnitFloor).
	UnitFloor float64
	// Within > 0 projects the output to the ball of this radius.
	Within float64
	// Output names the result, such as "score".
	Output string
	// About are facts that the file carries, such as the guarantee, in their order.
	About []Fact
}

// Fact is a named text.
type Fact struct{ Name, Text string }

// Layer is x -> act(W x + b).
type Layer struct {
	Name       string
	Rows, Cols int
	W          []float64  // Rows x Cols, row-major
	Bias       []float64  // nil without one
	Activation Activation // of hidden layers
}

// Activation is a function of one number.
type Activation string

// The activations.
const (
	Identity Activation = ""
	Tanh     Activation = "tanh"
	Softplus Activation = "softplus" // log(1 + e^z)
)

// Outputs is the number of outputs for a row.
func (f *Function) Outputs() int { return f.Layers[len(f.Layers)-1].Rows }

// linear is the weights of a function that is one score, and an error for others.
func (f *Function) linear() ([]float64, error) {
	if f.Steps != nil || len(f.Layers) != 1 || f.Outputs() != 1 || f.Layers[0].Bias != nil || f.UnitFloor > 0 || f.Within > 0 {
		return nil, fmt.Errorf("export: the model is not a linear score, which is what SQL, Go, Python and JavaScript snippets compute; export it as ONNX, or its numbers as NPZ or safetensors")
	}
	return f.Layers[0].W, nil
}

// numbered reports whether the features have numbers instead of names.
func (f *Function) numbered() bool { return f.Encoder.Schema().Features > 0 }

// narrow reports whether records are rounded toward zero to float32.
func (f *Function) narrow() bool { return f.Encoder.Schema().IsNarrow() }

// nonZeros is the bound on the features of a row that are not 0; none is 0.
func (f *Function) nonZeros() int {
	if n := f.Encoder.NonZerosPerRow(); n < f.Encoder.Dim() {
		return n
	}
	return 0
}

// slack of the norm that engine.ProjectBall leaves as it is.
func (f *Function) slack() float64 { return 1 - float64(f.Encoder.Dim()+8)*0x1p-52 }

// outputName is Output, with underlines before it if a column has that name.
func (f *Function) outputName(inputs []dataset.Input) string {
	name := f.Output
	for slices.ContainsFunc(inputs, func(in dataset.Input) bool { return in.Field == name }) {
		name = "_" + name
	}
	return name
}
