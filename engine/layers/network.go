package layers

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"dyad/engine/embedding"
)

// Network is the network of a Spec for records of d features and an output of m numbers. It is an embedding.Network
// for predictions and plans. autodiff/gorgonia.NewLayers makes the network for training.
type Network struct {
	spec   Spec
	d, m   int
	steps  []Step
	theta  []embedding.Layer
	scales []float64 // standard deviations of the start
	name   string
}

// Step is a layer with its shapes. Gorgonia and Network compute the steps one after another.
type Step struct {
	Layer
	Kind    string // a key of Layer, or "output"
	In, Out []int
	// First is the index of the step's first matrix among Network.Layers.
	First int
	// Pass belongs to an embedding of categories. The embedding multiplies all other columns by Pass.
	Pass float64
	// Inner are the steps of a residual layer.
	Inner []Step
}

// Size returns the product of the dimensions of a shape.
func Size(shape []int) int {
	n := 1
	for _, v := range shape {
		n *= v
	}
	return n
}

// Network checks the layers for records of d features and returns the Network. Its errors name the file and the layer.
func (s Spec) Network(d, m int) (*Network, error) {
	n, err := s.network(d, m)
	return n, s.named(err)
}

// named adds the file to an error.
func (s Spec) named(err error) error {
	if err == nil || s.file == "" {
		return err
	}
	return fmt.Errorf("layers: %s: %w", s.file, err)
}

func (s Spec) network(d, m int) (*Network, error) {
	if err := s.limits(); err != nil {
		return nil, err
	}
	n := &Network{spec: s, d: d, m: m}
	shape := slices.Clone(s.Input)
	if shape == nil {
		shape = []int{d}
	}
	if d < 1 || d > maxValues || Size(shape) != d {
		return nil, fmt.Errorf("layers: the input %v takes %d features, but the records have %d (dyad data check "+
			"counts them)", shape, Size(shape), d)
	}
	scale := math.Sqrt(float64(d)) * cmp.Or(s.Gain, 2)
	var err error
	if n.steps, shape, err = n.compile(s.Layers, shape, &scale, "layer "); err != nil {
		return nil, err
	}
	n.steps = append(n.steps, Step{Kind: "output", In: shape, Out: []int{m}, First: len(n.theta)})
	n.matrix("output", m, Size(shape), false, 1)
	var kinds []string
	for _, s := range n.steps {
		kinds = append(kinds, s.text())
	}
	n.name = fmt.Sprintf("layers %d %s %d (%s)", d, strings.Join(kinds, " "), m, s.Digest())
	if embedding.Parameters(n) > maxTheta {
		return nil, fmt.Errorf("layers: the network has %d parameters, but at most %d are allowed",
			embedding.Parameters(n), maxTheta)
	}
	if err := (embedding.Model{Network: n, Output: embedding.Output{Unit: true}}).Validate(); err != nil {
		return nil, err
	}
	return n, nil
}

// text returns the name of a step for Name.
func (s Step) text() string {
	switch s.Kind {
	case "dense":
		return fmt.Sprintf("dense %d", s.Dense)
	case "convolution":
		return fmt.Sprintf("convolution %dx%d", s.Convolution.Channels, s.Convolution.Size)
	case "activation":
		return s.Activation
	}
	return s.Kind
}

// matrix adds the parameters of a layer with rows units and cols inputs. The weights start with the variance
// scale^2/cols. The ball of the layer allows twice the norm of the start, as in embedding.MLP.
func (n *Network) matrix(name string, rows, cols int, bias bool, scale float64) {
	l := embedding.Layer{Name: name, Rows: rows, Cols: cols, Bias: bias, Radius: 2 * math.Sqrt(float64(rows)) * scale}
	if bias {
		l.Cols++
	}
	n.theta, n.scales = append(n.theta, l), append(n.scales, scale)
}

// compile makes steps of layers. scale is the factor of the first layer with weights. Compile sets it to 1
// after this layer.
func (n *Network) compile(list []Layer, shape []int, scale *float64, path string) (steps []Step, out []int, err error) {
	for i, l := range list {
		s := Step{Layer: l, Kind: l.kind(), In: shape, First: len(n.theta)}
		at := fmt.Sprintf("%s%d", path, i+1)
		name := s.Kind + " " + at[len("layer "):]
		fail := func(format string, args ...any) ([]Step, []int, error) {
			return nil, nil, fmt.Errorf("layers: %s (%s) of an input of shape %v: %s", at, s.Kind, shape,
				fmt.Sprintf(format, args...))
		}
		if s.Kind == "" {
			s.Kind = "unclear"
			return fail(`write each layer as a list item ("-") with one key: dense, convolution, pooling, ` +
				"embedding, residual, layernorm, attention or activation")
		}
		within := func(low int, numbers ...int) bool {
			return !slices.ContainsFunc(numbers, func(v int) bool { return v < low || v > maxWidth })
		}
		by := *scale
		switch s.Kind {
		case "dense":
			if !within(1, l.Dense) {
				return fail("%d units, want 1 to %d", l.Dense, maxWidth)
			}
			in := Size(shape)
			if s.Out = []int{l.Dense}; len(shape) == 2 {
				in, s.Out = shape[1], []int{shape[0], l.Dense}
			}
			n.matrix(name, l.Dense, in, true, by)
		case "convolution":
			c := *l.Convolution
			c.Stride = cmp.Or(c.Stride, 1)
			if s.Convolution = &c; len(shape) != 3 || !within(1, c.Channels, c.Size, c.Stride) || !within(0, c.Padding) ||
				c.Padding >= c.Size {
				return fail("a convolution needs an input [channels, height, width]; channels, size and stride "+
					"must be 1 to %d; padding must be below size", maxWidth)
			}
			height, width := windows(shape[1]+2*c.Padding, c.Size, c.Stride), windows(shape[2]+2*c.Padding, c.Size, c.Stride)
			if s.Out = []int{c.Channels, height, width}; height < 1 || width < 1 {
				return fail("the filter of %d x %d is larger than the image", c.Size, c.Size)
			}
			n.matrix(name, c.Channels, shape[0]*c.Size*c.Size, true, by)
		case "pooling":
			p := *l.Pooling
			s.Pooling = &p
			switch {
			case p.Kind != "mean" && p.Kind != "max":
				return fail("kind %q, want mean or max", p.Kind)
			case len(shape) == 2 && p.Size == 0 && p.Stride == 0:
				s.Out = []int{shape[1]}
			case len(shape) != 3 || !within(0, p.Size, p.Stride):
				return fail("pooling needs a set, or an image with size and stride up to %d; for a set, leave size "+
					"and stride out", maxWidth)
			case p.Size == 0 && shape[1] != shape[2]:
				return fail("pooling without a size needs a square image; give the size")
			default:
				p.Size = cmp.Or(p.Size, shape[1])
				p.Stride = cmp.Or(p.Stride, p.Size)
				height, width := windows(shape[1], p.Size, p.Stride), windows(shape[2], p.Size, p.Stride)
				if s.Out = []int{shape[0], height, width}; height < 1 || width < 1 {
					return fail("the window of %d x %d is larger than the image", p.Size, p.Size)
				}
			}
		case "embedding":
			last, left := 0, Size(shape)
			for k, c := range l.Embedding {
				if len(shape) != 1 || len(c.Columns) != 2 || c.Columns[0] <= last || c.Columns[1] < c.Columns[0] ||
					c.Columns[1] > shape[0] || !within(1, c.Size) {
					return fail("want a vector, and items {columns: [FIRST, LAST], size: N} in rising order without overlap")
				}
				count := c.Columns[1] - c.Columns[0] + 1
				last, left = c.Columns[1], left-count+c.Size
				n.matrix(fmt.Sprintf("%s, columns %d", name, k+1), c.Size, count, false, by)
			}
			s.Out, s.Pass = []int{left}, by
		case "residual":
			if s.Inner, s.Out, err = n.compile(l.Residual, shape, scale, at+"."); err != nil {
				return nil, nil, err
			}
			if !slices.Equal(s.Out, shape) {
				return fail("the inner layers change the shape of their input to %v, but must keep it", s.Out)
			}
		case "layernorm":
			features := shape[0] // channels of an image, features of a vector
			if s.Out = shape; len(shape) == 2 {
				features = shape[1]
			}
			if Size(shape)/items(shape) < 2 {
				return fail("layernorm needs at least two numbers; the mean of one number is that number")
			}
			n.matrix(name, 2, features, false, math.Sqrt(float64(features)/2))
		case "attention":
			a := *l.Attention
			a.Heads = cmp.Or(a.Heads, 1)
			if s.Attention = &a; len(shape) != 2 || shape[0] < 2 || !within(1, a.Size, a.Heads) || a.Heads > maxLayers {
				return fail("attention needs an input [items, features] with at least 2 items; size must be 1 to "+
					"%d, heads at most %d", maxWidth, maxLayers)
			}
			for h := range a.Heads {
				for _, of := range []string{"queries", "keys", "values"} {
					n.matrix(fmt.Sprintf("%s, %s %d", name, of, h+1), a.Size, shape[1], true, by)
				}
				n.matrix(fmt.Sprintf("%s, output %d", name, h+1), shape[1], a.Size, false, 1)
			}
			s.Out = shape
		case "activation":
			if s.Out = shape; functions[l.Activation] == nil {
				return fail("%q is unknown; it must be tanh, softplus, relu or silu", l.Activation)
			}
		}
		if s.Kind != "residual" && len(n.theta) > s.First {
			*scale = 1
		}
		if v := valuesOf(s); v > maxValues {
			return fail("the layer computes %d numbers of a record, but at most %d are allowed", v, maxValues)
		}
		shape, steps = s.Out, append(steps, s)
	}
	return steps, shape, nil
}

// valuesOf returns the largest number of values that a step computes for a record at once.
func valuesOf(s Step) int {
	v := Size(s.Out)
	switch s.Kind {
	case "convolution":
		v = max(v, s.Out[1]*s.Out[2]*(s.In[0]*s.Convolution.Size*s.Convolution.Size+1))
	case "attention":
		v = max(v, s.In[0]*s.In[0])
	}
	return v
}

// windows returns the number of positions of a window along a side. It is 0 if the window is longer than the side.
func windows(side, size, stride int) int {
	if size > side {
		return 0
	}
	return (side-size)/stride + 1
}

// items returns the number of parts of a shape that are normalised separately.
func items(shape []int) int {
	if len(shape) == 2 {
		return shape[0]
	}
	return 1
}

// Name returns the layers and their digest.
func (n *Network) Name() string { return n.name }

// Dims returns d, the number of features, and m, the dimension of the output.
func (n *Network) Dims() (d, m int) { return n.d, n.m }

// Layers returns the matrices of all layers in their order.
func (n *Network) Layers() []embedding.Layer { return n.theta }

// Steps returns the layers with their shapes.
func (n *Network) Steps() []Step { return n.steps }

// Activations implements embedding.Dense. ok is true only if every layer maps a vector to a vector and at most one
// activation follows each layer. If a record is an image, the first layer takes the image as a vector.
func (n *Network) Activations() (names []string, ok bool) {
	for _, s := range n.steps {
		switch {
		case s.Kind == "dense" && len(s.In) != 2:
			names = append(names, "")
		case s.Kind == "activation" && len(names) > 0 && names[len(names)-1] == "":
			names[len(names)-1] = s.Activation
		case s.Kind != "output":
			return nil, false
		}
	}
	return names, true
}

// Spec returns the description of the network.
func (n *Network) Spec() Spec { return n.spec }

// Reach returns +Inf, because no bound of the outputs is proved. So a Model must set Output.Unit or Output.Within.
func (n *Network) Reach(float64) float64 { return math.Inf(1) }

// PullError returns the error bounds of the network that is used for training. It has the same
// layers but is an embedding.Graph.
func (n *Network) PullError(norm float64) embedding.PullError {
	return embedding.NewGraph(graph{n}).PullError(norm)
}

type graph struct{ *Network }

func (graph) NewTape() (embedding.Tape, error) { return nil, errNoGradients }

// Start draws every weight from N(0, 1/inputs) and sets biases to 0. In the first layer the weights are multiplied by
// the gain. The factors of a normalisation start at 1. The start has the same bits as the start of an embedding.MLP
// with the same layers.
func (n *Network) Start(seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 0x6479616d6c700000))
	theta := make([]float64, 0, embedding.Parameters(n))
	for i, l := range n.theta {
		in := l.Cols
		if l.Bias {
			in--
		}
		for row := range l.Rows {
			for range in {
				if !strings.HasPrefix(l.Name, "layernorm") {
					theta = append(theta, r.NormFloat64()/math.Sqrt(float64(in))*n.scales[i])
				} else {
					theta = append(theta, float64(1-row))
				}
			}
			if l.Bias {
				theta = append(theta, 0)
			}
		}
	}
	embedding.Model{Network: n}.Project(theta)
	return theta
}
