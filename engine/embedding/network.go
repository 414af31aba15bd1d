package embedding

import (
	"fmt"

	"dyad/kernels"
)

// Network is a family of functions g_theta: R^d -> R^m. It is immutable and safe for concurrent use.
//
// A guarantee rests on two promises. First, the results of a Pass for a record are functions of this record and
// theta alone, bit for bit. They do not depend on the other records of the block, on the place of the record in
// the block, or on which pass of the same kernels.Set computes them. So there is no normalisation over a batch,
// no dropout and no kernel that is chosen by the data. Second, each norm that Embed computes is at least the
// Frobenius norm of the matrix by which Pull multiplies.
type Network interface {
	// Name returns the name of the architecture for reports, e.g. "mlp 64-32-16 tanh".
	Name() string
	// Dims returns d, the number of features, and m, the dimension of the output.
	Dims() (d, m int)
	// Layers returns the parts of theta in their order. Each part is projected to a public ball.
	Layers() []Layer
	// Reach bounds ||g_theta(x)||, both exact and as computed, for ||x|| <= norm and theta in the balls. It is
	// rounded up. It is +Inf if no bound is proved.
	Reach(norm float64) float64
	// PullError bounds the rounding errors of Pull, for ||x|| <= norm and theta in the balls.
	PullError(norm float64) PullError
	// Start returns a theta within the balls that depends on seed alone.
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
	// Embed sets the rows of g (rows x m) to g_theta(x_i) for the rows of x (rows x d), and sets norms[i], i <
	// rows, to at least ||J_i||_F. Values that are not finite are allowed, and a record with such values has
	// no terms.
	Embed(g, norms, x []float64, rows int)
	// Pull adds the sum of J_i^T v_i over the rows of the last Embed to grad, which is as long as theta. The x
	// of this Embed must not have changed. Pull may overwrite v (rows x m). For a given record and theta, J_i
	// is the same matrix for every v. It is the Jacobian of g_theta at x_i up to roundings that depend on the
	// record and theta alone.
	Pull(grad, v []float64, rows int)
}

// PullError holds public numbers about rounding in Pass.Pull. Pull computes J_i^T v_i as a sum of products,
// whose absolute values add up to a vector of norm at most (Size + PerNorm ||J_i||) ||v_i||. Each product is
// rounded at most Depth times, including its addition to a zero grad. Underflow adds at most Tiny per block.
type PullError struct {
	Depth         int
	Size, PerNorm float64
	Tiny          float64
}

// Layer is a part of theta that is projected to a centred ball.
type Layer struct {
	// Name is the name of the layer, e.g. "hidden 1".
	Name string `json:"name"`
	// Rows and Cols are the dimensions of the layer's matrix, which is row-major.
	Rows int `json:"rows"`
	Cols int `json:"cols"`
	// Bias reports whether the last column of the matrix is a bias.
	Bias bool `json:"bias,omitempty"`
	// Radius is the radius of the ball in the Frobenius norm.
	Radius float64 `json:"radius"`
}

// Len returns the number of parameters of the layer.
func (l Layer) Len() int { return l.Rows * l.Cols }

// Parameters returns the length of theta.
func Parameters(n Network) int {
	sum := 0
	for _, l := range n.Layers() {
		sum += l.Len()
	}
	return sum
}

// Model is a network with an output stage: f_theta = stage(g_theta). If Output is zero, f_theta is g_theta.
type Model struct {
	Network Network
	Output  Output
}

// Output is the stage that is applied to g = g_theta(x), for each record separately.
type Output struct {
	// Unit divides g by sqrt(||g||^2 + 2^-16). Then f.f' is the cosine of g and g' up to the constant 2^-16,
	// which keeps the output differentiable at 0.
	Unit bool
	// Within is the radius of a ball to which g is projected. It bounds the range of a network without a proved
	// range. If it is 0, g is not projected.
	Within float64
}

// Graph is a network whose Jacobian is computed row by row, e.g. by m backward passes of a graph. NewGraph
// makes a Network of a Graph.
type Graph interface {
	Name() string
	Dims() (d, m int)
	Layers() []Layer
	Start(seed uint64) []float64
	// NewTape returns a Tape that computes the Graph. A Tape is used from one goroutine at a time.
	NewTape() (Tape, error)
}

// Tape computes a Graph at one theta.
type Tape interface {
	// Set takes theta, which must not change until the next Set.
	Set(theta []float64) error
	// Jacobian sets g (length m) to g_theta(x), and the rows of jac (m x Parameters, row-major) to the
	// gradients of the entries of g in theta. Both must be functions of x and theta alone, bit for bit. If
	// Jacobian returns an error, the values count as not finite and the record has no terms.
	Jacobian(g, jac, x []float64) error
}

// Blocks is a Tape that computes several records in one run. The results of Row for a record must still be functions of
// this record and theta alone, bit for bit. They must not depend on the place of the record or on the other records,
// even if the other records fail.
type Blocks interface {
	Tape
	// Rows returns the largest number of records of one Block.
	Rows() int
	// Block computes the rows of x.
	Block(x []float64, rows int)
	// Row sets g and jac as Jacobian does, for record i of the last Block.
	Row(g, jac []float64, i int) error
}

// Dims returns d and m of the network.
func (m Model) Dims() (d, dim int) { return m.Network.Dims() }

// Reach bounds ||f|| for ||x|| <= norm, for the exact f and the computed f. It is +Inf if no bound is known.
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
		return fmt.Errorf("embedding: Model.Network is nil; choose a network such as MLP")
	}
	d, dim := m.Network.Dims()
	if d < 1 || dim < 1 || dim > maxDim {
		return fmt.Errorf("embedding: network %s maps %d features to %d numbers; want at least 1 feature and 1 to "+
			"%d numbers", m.Network.Name(), d, dim, maxDim)
	}
	for _, l := range m.Network.Layers() {
		if !(l.Radius > 0x1p-100 && l.Radius < 0x1p100) || l.Rows < 1 || l.Cols < 1 {
			return fmt.Errorf("embedding: layer %s is %d x %d with radius %v, want a radius between 2^-100 and 2^100", l.Name,
				l.Rows, l.Cols, l.Radius)
		}
	}
	switch w := m.Output.Within; { // squares of norms near w must not underflow
	case w != 0 && !(w > 0x1p-100 && w < 0x1p100):
		return fmt.Errorf("embedding: Output.Within is %v, want a radius between 2^-100 and 2^100, or 0", w)
	case w > 0 && m.Output.Unit:
		return fmt.Errorf("embedding: Output.Within is %v and Unit is true; set only one of the two", w)
	}
	return nil
}

// maps returns an error unless the model can be trained on data.
func (m Model) maps(data *Data) error {
	if err := m.Validate(); err != nil {
		return err
	}
	if d, _ := m.Dims(); d != data.d {
		return fmt.Errorf("embedding: network %s takes %d features, but the individuals have %d", m.Network.Name(), d, data.d)
	}
	return nil
}

// maxDim is the largest dimension of embeddings.
const maxDim = 4096
