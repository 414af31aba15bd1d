package embedding

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"dyad/kernels"
)

// MLP is a multilayer perceptron with up to two hidden layers,
//
//	g(x) = W_out h,   h = act(W x + b) of the layer before, h = x for the first,
//
// which is a linear (low-rank) map if it has no hidden layers. The last layer has no bias. A bias would cancel
// in losses of differences and would only add noise.
type MLP struct {
	In     int   // the number d of features
	Hidden []int // the numbers of units of the hidden layers, at most two
	Out    int   // the dimension m of the output
	// Activation is the activation of hidden layers. The zero value is Tanh.
	Activation Activation
	// Radii are the radii of the layers' balls, with the hidden layers first. If it is nil, the radius of each
	// layer is 2 sqrt(rows).
	Radii []float64
}

// Activation is a function of one number, with a derivative in [0, 1].
type Activation int

// The activations.
const (
	Tanh     Activation = iota
	Softplus            // log(1 + e^z)
)

var activationNames = []string{"tanh", "softplus"}

// String returns "tanh" or "softplus".
func (a Activation) String() string {
	if a < Tanh || a > Softplus {
		return "unknown"
	}
	return activationNames[a]
}

// parseActivation parses a name that String returns, "tanh" or "softplus".
func parseActivation(s string) (Activation, error) {
	if a := Activation(slices.Index(activationNames, s)); a >= 0 {
		return a, nil
	}
	return 0, fmt.Errorf("embedding: activation %q is unknown; it must be tanh or softplus", s)
}

// The largest number of units of a layer, and of features.
const (
	maxWidth  = 1 << 16
	maxInputs = 1 << 28
)

// NewMLP checks n and returns it.
func NewMLP(n MLP) (MLP, error) {
	switch {
	case n.In < 1 || n.In > maxInputs || n.Out < 1 || n.Out > maxDim:
		return n, fmt.Errorf("embedding: a network from %d features to %d numbers, want 1 to %d and 1 to %d", n.In, n.Out,
			maxInputs, maxDim)
	case len(n.Hidden) > 2:
		return n, fmt.Errorf("embedding: there are %d hidden layers, but at most 2 are allowed; write a deeper "+
			"network as a Graph", len(n.Hidden))
	case n.Activation < Tanh || n.Activation > Softplus:
		return n, fmt.Errorf("embedding: activation %d is unknown, want Tanh or Softplus", n.Activation)
	case n.Radii != nil && len(n.Radii) != len(n.Hidden)+1:
		return n, fmt.Errorf("embedding: %d radii for %d layers", len(n.Radii), len(n.Hidden)+1)
	}
	for _, h := range n.Hidden {
		if h < 1 || h > maxWidth {
			return n, fmt.Errorf("embedding: a hidden layer has %d units, but it must have 1 to %d", h, maxWidth)
		}
	}
	return n, Model{Network: n}.Validate()
}

// Name returns the sizes and the activation.
func (n MLP) Name() string {
	if len(n.Hidden) == 0 {
		return fmt.Sprintf("linear %d-%d", n.In, n.Out)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "mlp %d", n.In)
	for _, h := range n.Hidden {
		fmt.Fprintf(&b, "-%d", h)
	}
	fmt.Fprintf(&b, "-%d %v", n.Out, n.Activation)
	return b.String()
}

// Dims returns d, the number of features, and m, the dimension of the output.
func (n MLP) Dims() (d, m int) { return n.In, n.Out }

// Layers returns the hidden layers followed by the last layer.
func (n MLP) Layers() []Layer {
	layers := make([]Layer, 0, len(n.Hidden)+1)
	in := n.In
	for i, h := range n.Hidden {
		layers = append(layers, Layer{Name: fmt.Sprintf("hidden %d", i+1), Rows: h, Cols: in + 1, Bias: true})
		in = h
	}
	layers = append(layers, Layer{Name: "output", Rows: n.Out, Cols: in})
	for i := range layers {
		layers[i].Radius = 2 * math.Sqrt(float64(layers[i].Rows))
		if n.Radii != nil {
			layers[i].Radius = n.Radii[i]
		}
	}
	return layers
}

// roundings is a factor that covers the relative errors of sums of nonnegative numbers in the bounds of a
// network. Such a sum has at most 2^28 terms.
const roundings = 1 + 0x1p-20

// inputs bounds the norm of the input of each layer, including the 1 of its bias, for records of norm at most norm.
//
// |tanh z| <= min(1, |z|), 0 <= log(1 + e^z) <= log 2 + |z|, and both derivatives are in [0, 1].
func (n MLP) inputs(norm float64) []float64 {
	var all []float64
	for i, l := range n.Layers() {
		if i == len(n.Hidden) {
			return append(all, norm*roundings)
		}
		with := math.Sqrt(norm*norm+1) * roundings
		all = append(all, with)
		root := math.Sqrt(float64(l.Rows))
		if norm = l.Radius * with * roundings; n.Activation == Tanh {
			norm = min(norm, root*roundings)
		} else {
			norm = (norm + root*math.Ln2) * roundings
		}
	}
	return all
}

// Reach returns the product of the last layer's radius and the bound of its input.
func (n MLP) Reach(norm float64) float64 {
	all, layers := n.inputs(norm), n.Layers()
	return layers[len(layers)-1].Radius * all[len(all)-1] * roundings
}

// PullError implements Network.
//
// Proof. The gradient of layer l is the sum over the rows of delta_l in_l^T. The delta of the last layer is v,
// and delta_l = D_l W_(l+1)^T delta_(l+1). The gradient is a sum of products of entries of v, W, D and in. The
// number of roundings of each product is at most the sum of the depths of the matrix products. A matrix of
// absolute values has the same Frobenius norm. So the absolute values of the products of row i add up to a
// matrix of norm at most ||v_i|| times the radii of the later layers times ||in_l||. The root sum of squares
// over the layers is at most the sum over the layers. QED
func (n MLP) PullError(norm float64) PullError {
	all, layers := n.inputs(norm), n.Layers()
	e := PullError{Depth: kernels.AddRowsDepth(BlockRows) + 2}
	back := 1.0
	for l := len(layers) - 1; l >= 0; l-- {
		e.Size += back * all[l] * roundings
		back *= layers[l].Radius * roundings
		e.Depth += kernels.AddRowsDepth(layers[l].Rows) + 1
		e.Tiny += float64(layers[l].Len())
	}
	e.Tiny *= (1 + e.Size) * 0x1p-1000
	return e
}

// Start draws every weight from N(0, 1/inputs) and sets biases to 0. Layers outside of their balls are projected.
func (n MLP) Start(seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 0x6479616d6c700000))
	theta := make([]float64, 0, Parameters(n))
	for _, l := range n.Layers() {
		in := l.Cols
		if l.Bias {
			in--
		}
		for range l.Rows {
			for range in {
				theta = append(theta, r.NormFloat64()/math.Sqrt(float64(in)))
			}
			if l.Bias {
				theta = append(theta, 0)
			}
		}
	}
	projectLayers(n.Layers(), theta)
	return theta
}
