// Package export converts fitted functions of raw columns to forms for other programs: ONNX, arrays, and source
// text of linear functions. In every format, the result equals the result of Encoder.Encode and the layers
// after it, up to rounding.
//
// Exported functions take numbers as numbers and dates as days. The caller must convert the notation of a text
// file (decimal commas, suffixes, layouts of dates). If Encode refuses a value, the result is not a number
// (NULL in SQL, an error in Go).
package export

import (
	"fmt"
	"slices"

	"dyad/engine/dataset"
	"dyad/engine/layers"
)

// Function maps each row of raw columns to Outputs() numbers. It applies the encoder, the projection to the
// unit ball, and the layers, in this order.
type Function struct {
	Encoder *dataset.Encoder
	Layers  []Layer // the layers, at least one
	// Steps, if not nil, are the computations that replace the layers. They use the matrices of Layers. Spec
	// describes them.
	Steps []layers.Step
	Spec  *layers.Spec
	// UnitFloor, if above 0, divides the output g by sqrt(||g||^2 + UnitFloor).
	UnitFloor float64
	// Within, if above 0, projects the output to the ball of this radius.
	Within float64
	// Output is the name of the result, such as "score".
	Output string
	// About lists facts that the file contains, such as the guarantee, in their order.
	About []Fact
}

// Fact is a text with a name.
type Fact struct{ Name, Text string }

// Layer is the map x -> act(W x + b).
type Layer struct {
	Name       string
	Rows, Cols int
	W          []float64  // row-major matrix, Rows x Cols
	Bias       []float64  // nil if there is no bias
	Activation Activation // activation act, of hidden layers
}

// Activation is a function of one number.
type Activation string

// The activation functions.
const (
	Identity Activation = ""
	Tanh     Activation = "tanh"
	Softplus Activation = "softplus" // log(1 + e^z)
)

// Outputs returns the number of outputs for a row.
func (f *Function) Outputs() int { return f.Layers[len(f.Layers)-1].Rows }

// linear returns the weights of a function that is a linear score, and an error for other functions.
func (f *Function) linear() ([]float64, error) {
	if f.Steps != nil || len(f.Layers) != 1 || f.Outputs() != 1 || f.Layers[0].Bias != nil ||
		f.UnitFloor > 0 || f.Within > 0 {
		return nil, fmt.Errorf("export: the model is not a linear score; export it as ONNX, NPZ or safetensors")
	}
	return f.Layers[0].W, nil
}

// numbered reports whether the features have numbers instead of names.
func (f *Function) numbered() bool { return f.Encoder.Schema().Features > 0 }

// nonZeros returns the bound on the number of nonzero features of a row. 0 means no bound.
func (f *Function) nonZeros() int {
	if n := f.Encoder.NonZerosPerRow(); n < f.Encoder.Dim() {
		return n
	}
	return 0
}

// slack returns the norm up to which engine.ProjectBall leaves a record unchanged.
func (f *Function) slack() float64 { return 1 - float64(f.Encoder.Dim()+8)*0x1p-52 }

// outputName returns Output. If a column has this name, underscores are added in front.
func (f *Function) outputName(inputs []dataset.Input) string {
	name := f.Output
	for slices.ContainsFunc(inputs, func(in dataset.Input) bool { return in.Field == name }) {
		name = "_" + name
	}
	return name
}

// The formats of Function.Write.
const (
	ONNX        = "onnx"        // with the encoder: maps raw columns to scores or to outputs of a map
	NPZ         = "npz"         // the numbers only, for encoded records
	Safetensors = "safetensors" // the numbers only, as in NPZ
	Python      = "python"      // a NumPy function for linear scores
	JavaScript  = "javascript"  // a module with the model as plain JSON, for linear scores
	GoSource    = "go"          // a function that needs only the standard library, for linear scores
	SQL         = "sql"         // a SELECT for DuckDB and PostgreSQL, for linear scores
	BigQuery    = "bigquery"    // a SELECT for BigQuery; the formats below are for other engines
	Snowflake   = "snowflake"
	Spark       = "spark"
	SQLServer   = "sqlserver"
)
