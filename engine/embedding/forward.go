package embedding

import (
	"fmt"
	"math"

	"dyad/kernels"
)

// Forward is a network of which a program knows the weights and no Jacobian: what reads a model file of a network that
// another program differentiated. It maps records, and nothing trains it.
type Forward struct {
	Title   string
	In, Out int
	Parts   []Layer
	// Map sets g (Out numbers) to g_theta(x); nil where it is not known either.
	Map func(g, theta, x []float64)
}

// Validate returns an error for parts that no weights of a file can have.
func (f Forward) Validate() error {
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
func (f Forward) Name() string { return f.Title }

// Dims are d and m.
func (f Forward) Dims() (d, m int) { return f.In, f.Out }

// Layers are the parts.
func (f Forward) Layers() []Layer { return f.Parts }

// Reach is +Inf: nothing is proved.
func (f Forward) Reach(float64) float64 { return math.Inf(1) }

// PullError is not asked for, as there is no Pull.
func (f Forward) PullError(float64) PullError { return PullError{Size: math.Inf(1)} }

// Start is zero.
func (f Forward) Start(uint64) []float64 { return make([]float64, Parameters(f)) }

// NewPass implements Network.
func (f Forward) NewPass(*kernels.Set) Pass { return &forwardPass{of: f} }

type forwardPass struct {
	of    Forward
	theta []float64
}

func (p *forwardPass) Set(theta []float64) { p.theta = theta }

// Embed implements Pass; the norms are 0, as there are no Jacobians to clip.
func (p *forwardPass) Embed(g, norms, x []float64, rows int) {
	for i := range rows {
		p.of.Map(g[i*p.of.Out:][:p.of.Out], p.theta, x[i*p.of.In:][:p.of.In])
		norms[i] = 0
	}
}

// Pull implements Pass.
func (p *forwardPass) Pull([]float64, []float64, int) {
	panic(fmt.Sprintf("embedding: network %s was read without its Jacobian, and cannot be trained", p.of.Title))
}
