package embedding

import (
	"fmt"

	"dyad/kernels"
)

// Network is a family of functions g_theta: R^d -> R^m. It is immutable and safe for concurrent use.
//
// A guarantee rests on two promises. What a Pass computes for a record is a function of this record and
// theta alone, bit for bit: whatever other records are in the block, wherever it stands in it, and
// whichever pass of the same kernels.Set computes it. So there is no normalisation over a batch, no
// dropout and no kernel that is chosen by the data. And Norms is at least the Frobenius norm of the
// matrix that Pull multiplies by.
type Network interface {
	// Name identifies the architecture in reports, e.g. "mlp 64-32-16 tanh".
	Name() string
	// Dims are d and m.
	Dims() (d, m int)
	// Layers are the parts of theta, one after the other; each is projected to a public ball.
	Layers() []Layer
	// Reach bounds ||g_theta(x)||, exact and as computed, for ||x|| <= norm and theta in the balls; +Inf
	// if nothing is proved. Rounded up.
	Reach(norm float64) float64
	// PullError bounds what Pull rounds, for ||x|| <= norm and theta in the balls.
	PullError(norm float64) PullError
	// Start is a theta within the balls that depends on seed alone.
	Start(seed uint64) []float64
	// NewPass returns a Pass with scratch space for blocks of up to BlockRows records.
	NewPass(set *kernels.Set) Pass
}

// BlockRows is the largest number of records of one call of a Pass.
const BlockRows = 64

// Pass computes a network at one theta. It is used from one goroutine at a time.
type Pass interface {
	// Set takes theta, which must not change until the next Set.
	Set(theta []float64)
	// Embed sets the rows of g (rows x m) to g_theta(x_i) for the rows of x (rows x d), and norms[i], i <
	// rows, to at least ||J_i||_F. Values that are not finite are allowed; the record then has no terms.
	Embed(g, norms, x []float64, rows int)
	// Pull adds the sum of J_i^T v_i over the rows of the last Embed, whose x has not changed, to grad, as
	// long as theta. It may overwrite v (rows x m). J_i is one matrix for a record and theta, the same for
	// every v: the Jacobian of g_theta at x_i, up to roundings that depend on the record and theta alone.
	Pull(grad, v []float64, rows int)
}

// PullError are public numbers about the roundings of Pass.Pull. J_i^T v_i is a sum of products whose
// absolute values form a vector of norm at most (Size + PerNorm ||J_i||) ||v_i||. Each product is rounded at
// most Depth times until Pull has added it to a grad of zeros, and underflow adds at most Tiny for a block.
type PullError struct {
	Depth         int
	Size, PerNorm float64
	Tiny          float64
}

// Layer is a part of theta that is projected to a centred ball.
type Layer struct {
	Name   string  `json:"name"` // e.g. "hidden 1"
	Rows   int     `json:"rows"` // of its matrix, row-major; the last column of a layer with a bias is the bias
	Cols   int     `json:"cols"`
	Bias   bool    `json:"bias,omitempty"` // the last column is one
	Radius float64 `json:"radius"`         // of the ball, in the Frobenius norm
}

// Len is the number of its parameters.
func (l Layer) Len() int { return l.Rows * l.Cols }

// Parameters is the length of theta.
func Parameters(n Network) int {
	sum := 0
	for _, l := range n.Layers() {
		sum += l.Len()
	}
	return sum
}

// Model is a network with an output stage: f_theta = stage(g_theta). The zero Output is g itself.
type Model struct {
	Network Network
	Output  Output
}

// Output is what is done to g = g_theta(x), for each record by itself.
type Output struct {
	// Unit divides by sqrt(||g||^2 + 2^-16), so that f.f' is the cosine of g and g' up to that number,
	// which keeps it differentiable at 0.
	Unit bool
	// Within > 0 projects g to the ball of this radius. It bounds the range of a network for which
	// nothing is proved; 0 leaves g as it is.
	Within float64
}

// Graph is a network whose Jacobian is computed row by row, e.g. by m backward passes of a graph.
// NewGraph makes a Network of it.
type Graph interface {
	Name() string
	Dims() (d, m int)
	Layers() []Layer
	Start(seed uint64) []float64
	// NewTape returns what computes it; used from one goroutine at a time.
	NewTape() (Tape, error)
}

// Tape computes a Graph at one theta.
type Tape interface {
	// Set takes theta, which must not change until the next Set.
	Set(theta []float64) error
	// Jacobian sets g (length m) to g_theta(x), and the rows of jac (m x Parameters, row-major) to the
	// gradients of its entries in theta. Both must be functions of x and theta alone, bit for bit. An
	// error counts as values that are not finite: the record has no terms.
	Jacobian(g, jac, x []float64) error
}

// Blocks is a Tape that computes several records in one run. What Row gives for a record must be a function of this record
// and theta alone all the same, bit for bit, wherever it stands and whatever the others are, even if these fail.
type Blocks interface {
	Tape
	// Rows is the number of records that one Block holds at most.
	Rows() int
	// Block computes the rows of x.
	Block(x []float64, rows int)
	// Row is Jacobian for record i of the last Block.
	Row(g, jac []float64, i int) error
}

// Dims are d and m of the network.
func (m Model) Dims() (d, dim int) { return m.Network.Dims() }

// Reach bounds ||f||, exact and as computed, for ||x|| <= norm; +Inf if nothing is known.
func (m Model) Reach(norm float64) float64 {
	reach := m.Network.Reach(norm)
	switch {
	case m.Output.Unit:
		reach = min(reach/SmallestNorm, 1) * (1 + 0x1p-40)
	case m.Output.Within > 0:
		reach = min(reach, m.Output.Within*(1+0x1p-40))
	}
	return reach
}

// Validate returns an error for a model that cannot be trained.
func (m Model) Validate() error {
	if m.Network == nil {
		return fmt.Errorf("embedding: Model.Network is nil; choose one such as MLP")
	}
	d, dim := m.Network.Dims()
	if d < 1 || dim < 1 || dim > MaxDim {
		return fmt.Errorf("embedding: network %s maps %d features to %d numbers, want at least 1 and 1 to %d", m.Network.Name(), d, dim, MaxDim)
	}
	for _, l := range m.Network.Layers() {
		if !(l.Radius > 0x1p-100 && l.Radius < 0x1p100) || l.Rows < 1 || l.Cols < 1 {
			return fmt.Errorf("embedding: layer %s is %d x %d with radius %v, want a radius between 2^-100 and 2^100", l.Name, l.Rows, l.Cols, l.Radius)
		}
	}
	switch w := m.Output.Within; { // squares of norms near it must not underflow
	case w != 0 && !(w > 0x1p-100 && w < 0x1p100):
		return fmt.Errorf("embedding: Output.Within is %v, want a radius between 2^-100 and 2^100, or 0", w)
	case w > 0 && m.Output.Unit:
		return fmt.Errorf("embedding: Output.Within is %v and Unit is true; want one of them", w)
	}
	return nil
}

// MaxDim is the largest dimension of embeddings.
const MaxDim = 4096
