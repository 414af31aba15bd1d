package gorgonia

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"dyad/autodiff"
	"dyad/engine/embedding"
	"dyad/engine/layers"
)

// NewLayers makes the network of a file for records of d features and an output of m numbers: a Gorgonia graph of one
// record on values of gorgonia.org/tensor, differentiated by gorgonia.Grad. Its Jacobian is that of each record by itself,
// so that it can be clipped. Batches of records are not built into one graph: the sum over a batch that Grad gives has no
// Jacobian of a record to clip.
//
// It compares values with those of layers.Network, which is plain Go, and Jacobians with differences of these, and wraps
// autodiff.ErrGradientsDisagree for a graph that computes something else.
func NewLayers(spec layers.Spec, d, m int) (embedding.Network, error) {
	net, err := spec.Network(d, m)
	if err != nil {
		return nil, err
	}
	n := Network{Name: net.Name(), In: d, Out: m, Layers: net.Layers(), StartAt: net.Start, split: true}
	n.Build = func(g *gorgonia.ExprGraph, x *gorgonia.Node, theta []*gorgonia.Node) (*gorgonia.Node, error) {
		b := &layerBuilder{g: g, theta: theta}
		for _, l := range net.Layers() {
			b.first = append(b.first, len(b.nodes))
			b.nodes = append(b.nodes, b.theta[0])
			if b.theta = b.theta[1:]; l.Bias {
				b.nodes, b.theta = append(b.nodes, b.theta[0]), b.theta[1:]
			}
		}
		f := b.run(net.Steps(), x)
		return f, b.err
	}
	return embedding.NewGraph(userGraph{n}), n.checkLayers(net)
}

// layerBuilder adds layers to a graph. After an error its methods return nil and do nothing.
type layerBuilder struct {
	g            *gorgonia.ExprGraph
	theta, nodes []*gorgonia.Node
	first        []int // the first of nodes of each matrix
	constants    int
	err          error
}

type vertex = *gorgonia.Node

// unary and binary apply an operation of Gorgonia.
func (b *layerBuilder) unary(op func(vertex) (vertex, error), x vertex) (y vertex) {
	if b.err == nil {
		y, b.err = op(x)
	}
	return y
}

func (b *layerBuilder) binary(op func(x, y vertex) (vertex, error), x, y vertex) (z vertex) {
	if b.err == nil {
		z, b.err = op(x, y)
	}
	return z
}

func (b *layerBuilder) mul(x, y vertex) vertex { return b.binary(gorgonia.Mul, x, y) }
func (b *layerBuilder) add(x, y vertex) vertex { return b.binary(gorgonia.Add, x, y) }

// gather is y_k = x_of(k), of a shape.
func (b *layerBuilder) gather(x vertex, of func(k int) int, shape ...int) vertex {
	return b.unary(func(x vertex) (vertex, error) { return gorgonia.ApplyOp(newGather(x.Shape(), shape, of), x) }, x)
}

func (b *layerBuilder) transpose(x vertex) vertex {
	if b.err != nil {
		return nil
	}
	rows, cols := x.Shape()[0], x.Shape()[1]
	return b.gather(x, func(k int) int { return k%rows*cols + k/rows }, cols, rows)
}

func (b *layerBuilder) reshape(x vertex, shape ...int) vertex {
	if b.err != nil || slices.Equal(x.Shape(), shape) { // Shape.Eq takes a column for a vector
		return x
	}
	return b.gather(x, func(k int) int { return k }, shape...)
}

// constant is an input with a value that nobody changes.
func (b *layerBuilder) constant(value func(k int) float64, shape ...int) vertex {
	backing := make([]float64, layers.Size(shape))
	for k := range backing {
		backing[k] = value(k)
	}
	b.constants++
	return gorgonia.NewTensor(b.g, tensor.Float64, len(shape), gorgonia.WithName(fmt.Sprintf("constant %d", b.constants)), gorgonia.WithShape(shape...),
		gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing))))
}

// all is a constant of one number.
func (b *layerBuilder) all(v float64, shape ...int) vertex {
	return b.constant(func(int) float64 { return v }, shape...)
}

// weights and bias are the nodes of a matrix.
func (b *layerBuilder) weights(matrix int) vertex { return b.nodes[b.first[matrix]] }
func (b *layerBuilder) bias(matrix int) vertex    { return b.nodes[b.first[matrix]+1] }

// items is X W^T + 1 b^T for the rows of X.
func (b *layerBuilder) items(x vertex, matrix, count, units int) vertex {
	return b.add(b.mul(x, b.transpose(b.weights(matrix))), b.gather(b.bias(matrix), func(k int) int { return k % units }, count, units))
}

func (b *layerBuilder) run(steps []layers.Step, x vertex) vertex {
	for _, s := range steps {
		if x = b.step(s, x); b.err != nil {
			if errors.Is(b.err, errStep) {
				return nil
			}
			b.err = fmt.Errorf("%w %s of an input of shape %v: %w", errStep, s.Kind, s.In, b.err)
			return nil
		}
	}
	return x
}

var errStep = errors.New("layer")

func (b *layerBuilder) step(s layers.Step, x vertex) vertex {
	x = b.reshape(x, s.In...)
	switch s.Kind {
	case "dense":
		if len(s.In) == 2 {
			return b.items(x, s.First, s.In[0], s.Out[1])
		}
		return b.add(b.mul(b.weights(s.First), b.reshape(x, layers.Size(s.In))), b.bias(s.First))
	case "output":
		return b.mul(b.weights(s.First), b.reshape(x, layers.Size(s.In)))
	case "convolution":
		c, places := s.Convolution, s.Out[1]*s.Out[2]
		z := b.mul(b.weights(s.First), b.transpose(b.windows(x, s.In, s.Out, c.Size, c.Stride, c.Padding)))
		return b.reshape(b.add(z, b.gather(b.bias(s.First), func(k int) int { return k / places }, s.Out[0], places)), s.Out...)
	case "pooling":
		return b.pool(s, x)
	case "embedding":
		return b.categories(s, x)
	case "residual":
		return b.add(x, b.run(s.Inner, x))
	case "layernorm":
		return b.normalise(s, x)
	case "attention":
		return b.attend(s, x)
	}
	switch s.Activation {
	case "tanh":
		return b.unary(gorgonia.Tanh, x)
	case "relu":
		return b.unary(gorgonia.Rectify, x)
	case "silu":
		return b.binary(gorgonia.HadamardProd, x, b.unary(gorgonia.Sigmoid, x))
	}
	// softplus: z/2 + |z|/2 + log(1 + e^-|z|), of the slope 1/2 at 0. Gorgonia's own cuts large numbers off.
	abs := b.unary(gorgonia.Abs, x)
	half := b.binary(gorgonia.HadamardProd, b.add(x, abs), b.all(0.5, s.In...))
	return b.add(half, b.unary(gorgonia.Log1p, b.unary(gorgonia.Exp, b.unary(gorgonia.Neg, abs))))
}

// windows has the numbers of a window of an image in each row, 0 outside of it.
func (b *layerBuilder) windows(x vertex, in, out []int, size, stride, padding int) vertex {
	long := in[0] * size * size
	return b.gather(x, func(k int) int {
		place, at := k/long, k%long
		i := place/out[2]*stride - padding + at/size%size
		j := place%out[2]*stride - padding + at%size
		if i < 0 || i >= in[1] || j < 0 || j >= in[2] {
			return -1
		}
		return (at/(size*size)*in[1]+i)*in[2] + j
	}, out[1]*out[2], long)
}

func (b *layerBuilder) pool(s layers.Step, x vertex) vertex {
	mean := func(k int) func(int) float64 { return func(int) float64 { return 1 / float64(k) } }
	most := func(x vertex, size, stride []int) vertex {
		return b.unary(func(x vertex) (vertex, error) { return gorgonia.MaxPool2D(x, size, []int{0, 0}, stride) }, x)
	}
	p := s.Pooling
	switch {
	case len(s.In) == 2 && p.Kind == "mean":
		return b.mul(b.transpose(x), b.constant(mean(s.In[0]), s.In[0]))
	case len(s.In) == 2:
		return b.reshape(most(b.reshape(x, 1, 1, s.In[0], s.In[1]), []int{s.In[0], 1}, []int{1, 1}), s.Out...)
	case p.Kind == "mean": // of each channel, by a convolution without parameters
		size, places := p.Size*p.Size, s.Out[1]*s.Out[2]
		windows := b.windows(x, s.In, s.Out, p.Size, p.Stride, 0)
		apart := b.gather(windows, func(k int) int { // channel by channel
			channel, place := k/(places*size), k/size%places
			return (place*s.In[0]+channel)*size + k%size
		}, s.Out[0]*places, size)
		return b.reshape(b.mul(apart, b.constant(mean(size), size)), s.Out...)
	}
	return b.reshape(most(b.reshape(x, 1, s.In[0], s.In[1], s.In[2]), []int{p.Size, p.Size}, []int{p.Stride, p.Stride}), s.Out...)
}

// categories is the sum of what the embeddings and the columns that they leave add to the output.
func (b *layerBuilder) categories(s layers.Step, x vertex) vertex {
	out := s.Out[0]
	left := make([]int, out) // the column of x that a number of the output is, or -1
	var parts []vertex
	from, to := 0, 0
	leave := func(until int) {
		for ; from < until; from, to = from+1, to+1 {
			left[to] = from
		}
	}
	for k, c := range s.Embedding {
		leave(c.Columns[0] - 1)
		first, start := from, to
		y := b.mul(b.weights(s.First+k), b.gather(x, func(k int) int { return first + k }, c.Columns[1]-first))
		parts = append(parts, b.gather(y, func(k int) int {
			if k < start || k >= start+c.Size {
				return -1
			}
			return k - start
		}, out))
		for range c.Size {
			left[to], to = -1, to+1
		}
		from = c.Columns[1]
	}
	leave(s.In[0])
	y := b.binary(gorgonia.HadamardProd, b.gather(x, func(k int) int { return left[k] }, out), b.all(s.Pass, out))
	for _, p := range parts {
		y = b.add(y, p)
	}
	return y
}

func (b *layerBuilder) normalise(s layers.Step, x vertex) vertex {
	count, features := 1, s.In[0]
	if len(s.In) == 2 {
		count, features = s.In[0], s.In[1]
	}
	size := layers.Size(s.In) / count
	spread := func(x vertex) vertex { // the mean of each row in all its columns
		return b.gather(b.mul(x, b.all(1/float64(size), size)), func(k int) int { return k / size }, count, size)
	}
	x = b.reshape(x, count, size)
	x = b.binary(gorgonia.Sub, x, spread(x))
	by := b.unary(gorgonia.Sqrt, b.add(spread(b.unary(gorgonia.Square, x)), b.all(layers.Epsilon, count, size)))
	theta := func(row int) vertex {
		return b.gather(b.weights(s.First), func(k int) int { return row*features + k%size*features/size }, count, size)
	}
	x = b.binary(gorgonia.HadamardProd, b.binary(gorgonia.HadamardDiv, x, by), theta(0))
	return b.reshape(b.add(x, theta(1)), s.Out...)
}

func (b *layerBuilder) attend(s layers.Step, x vertex) (sum vertex) {
	count, size := s.In[0], s.Attention.Size
	for h := range s.Attention.Heads {
		first := s.First + 4*h
		q := b.binary(gorgonia.HadamardProd, b.items(x, first, count, size), b.all(1/math.Sqrt(float64(size)), count, size))
		scores := b.mul(q, b.transpose(b.items(x, first+1, count, size)))
		weights := b.unary(func(x vertex) (vertex, error) { return gorgonia.SoftMax(x, 1) }, scores)
		y := b.mul(b.mul(weights, b.items(x, first+2, count, size)), b.transpose(b.weights(first+3)))
		if h > 0 {
			y = b.add(sum, y)
		}
		sum = y
	}
	return sum
}

// The gate of built-in layers: how far values of a graph may be from those of plain Go, relative to their size, and the
// points that are tried.
const (
	layersTolerance = 1e-10
	layersTries     = 4
)

// checkLayers is check for built-in layers, whose values are known: a difference in a random direction of each matrix
// takes two of them, where differences in every parameter would take as many Jacobians as there are parameters. A
// difference may cross a kink of relu or of a maximum, but not at every point that is tried.
func (n Network) checkLayers(net *layers.Network) error {
	made, err := userGraph{n}.NewTape()
	if err != nil {
		return err
	}
	other, err := userGraph{n}.NewTape()
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(2, 2))
	size := embedding.Parameters(net)
	x, f, jac := make([]float64, n.In), make([]float64, n.Out), make([]float64, n.Out*size)
	plain, above, below := make([]float64, n.Out), make([]float64, n.Out), make([]float64, n.Out)
	pass := net.NewPass(nil)
	value := func(dst, theta []float64) {
		pass.Set(theta)
		pass.Embed(dst, make([]float64, 1), x, 1)
	}
	var wrong error
	agreed := make([]bool, len(n.Layers)) // of matrices
	for try := range layersTries {
		for k := range x {
			x[k] = r.NormFloat64() / math.Sqrt(float64(n.In))
		}
		theta := net.Start(uint64(try))
		for k := range theta {
			theta[k] += 0.1 * r.NormFloat64()
		}
		if err := errors.Join(made.Set(theta), made.Jacobian(f, jac, x)); err != nil {
			return err
		}
		value(plain, theta)
		for k, v := range f {
			if !(math.Abs(v-plain[k]) <= layersTolerance*(1+math.Abs(v))) {
				return fmt.Errorf("%w: network %s: the graph has the value %v, and plain Go %v", autodiff.ErrGradientsDisagree, n.Name, v, plain[k])
			}
		}
		at := 0
		for i, l := range n.Layers {
			block, moved := theta[at:][:l.Len()], make([]float64, l.Len())
			for k := range moved {
				moved[k] = r.NormFloat64() / math.Sqrt(float64(l.Len()))
			}
			was := slices.Clone(block)
			step := func(dst []float64, h float64) {
				for k, u := range moved {
					block[k] = was[k] + h*u
				}
				value(dst, theta)
			}
			step(above, gateStep)
			step(below, -gateStep)
			copy(block, was)
			var norm, off float64
			for k := range f {
				var slope float64
				for e, j := range jac[k*size+at:][:l.Len()] {
					slope, norm = slope+j*moved[e], norm+j*j
				}
				off = max(off, math.Abs(slope-(above[k]-below[k])/(2*gateStep)))
			}
			if norm = math.Sqrt(norm); off <= gateTolerance*max(norm, 0x1p-10) {
				agreed[i] = true
			} else {
				wrong = fmt.Errorf("%w: network %s, %s: a derivative differs from differences of f by %.3g, and the Jacobian has the norm %.3g", autodiff.ErrGradientsDisagree, n.Name, l.Name, off, norm)
			}
			at += l.Len()
		}
		if err := n.sameAgain(theta, x, f, jac, made, other); err != nil {
			return err
		}
	}
	if slices.Contains(agreed, false) {
		return wrong
	}
	return nil
}
