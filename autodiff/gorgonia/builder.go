package gorgonia

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"dyad/engine/layers"
)

type vertex = *gorgonia.Node

// layerBuilder adds layers to the graph of a batch. The operand and the result of a step are matrices with a
// row for each record. After an error its methods return nil and do nothing.
type layerBuilder struct {
	g        *gorgonia.ExprGraph
	batch    int
	matrices []matrix
	inputs   int
	err      error
}

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

// input returns a node whose value is the slice, which may be written between runs.
func (b *layerBuilder) input(value []float64, shape ...int) vertex {
	b.inputs++
	return gorgonia.NewTensor(b.g, tensor.Float64, len(shape), gorgonia.WithName(fmt.Sprintf("input %d", b.inputs)),
		gorgonia.WithShape(shape...), gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(value))))
}

// all returns an input whose elements all equal v.
func (b *layerBuilder) all(v float64, shape ...int) vertex {
	return b.input(slices.Repeat([]float64{v}, layers.Size(shape)), shape...)
}

// gather returns y_k = x_of(k) for the numbers of one record. The first dimension of shape is the number of
// records or of their rows.
func (b *layerBuilder) gather(x vertex, of func(k int) int, shape ...int) vertex {
	return b.unary(func(x vertex) (vertex, error) {
		from, to := x.Shape().TotalSize()/b.batch, layers.Size(shape)/b.batch
		return gorgonia.ApplyOp(newGather(x.Shape(), shape, func(k int) int {
			at := of(k % to)
			if at < 0 {
				return at
			}
			return k/to*from + at
		}), x)
	}, x)
}

// reshape changes the shape and keeps the order of the numbers.
func (b *layerBuilder) reshape(x vertex, shape ...int) vertex {
	if b.err == nil && slices.Equal(x.Shape(), shape) { // Shape.Eq accepts a column as equal to a vector
		return x
	}
	return b.copied(x, shape...)
}

// copied returns a copy with its own memory, because the tape machine overwrites the memory of nodes that are
// no longer needed.
func (b *layerBuilder) copied(x vertex, shape ...int) vertex {
	if b.err == nil && shape == nil {
		shape = x.Shape().Clone()
	}
	return b.gather(x, func(k int) int { return k }, shape...)
}

// linear returns X W^T + 1 b^T for the rows of X.
func (b *layerBuilder) linear(x vertex, index int) vertex {
	m := &b.matrices[index]
	m.weights = make([]float64, m.in*m.out)
	m.weighted = b.input(m.weights, m.in, m.out)
	return b.shift(m, x, func(x vertex) vertex { return b.binary(gorgonia.Mul, x, m.weighted) })
}

// shift stores the operand of a matrix, and adds the node of the bias, with respect to which derivatives are
// taken.
func (b *layerBuilder) shift(m *matrix, x vertex, multiply func(vertex) vertex) vertex {
	rows := b.batch * m.rows
	m.shift = make([]float64, rows*m.out)
	m.shifted = b.input(m.shift, rows, m.out)
	m.inputs = make([]float64, rows*m.in)
	x = b.reshape(x, rows, m.in)
	m.x = b.copied(x)
	y := b.binary(gorgonia.Add, multiply(x), m.shifted)
	if b.err == nil {
		m.derivative = make([]float64, rows*m.out*m.outputs)
	}
	return y
}

// run adds the steps. Each result has a row for each record.
func (b *layerBuilder) run(steps []layers.Step, x vertex) vertex {
	for _, s := range steps {
		if x = b.reshape(b.step(s, x), b.batch, layers.Size(s.Out)); b.err != nil {
			return nil
		}
	}
	return x
}

func (b *layerBuilder) step(s layers.Step, x vertex) vertex {
	switch s.Kind {
	case "dense", "output":
		return b.linear(x, s.First)
	case "convolution":
		c, places, channels := s.Convolution, s.Out[1]*s.Out[2], s.Out[0]
		z := b.linear(b.windows(x, s.In, s.Out, c.Size, c.Stride, c.Padding), s.First)
		return b.gather(z, func(k int) int { return k%places*channels + k/places }, b.batch, channels*places)
	case "pooling":
		return b.pool(s, x)
	case "embedding":
		return b.categories(s, x)
	case "residual":
		return b.binary(gorgonia.Add, x, b.run(s.Inner, x))
	case "layernorm":
		return b.normalise(s, x)
	case "attention":
		return b.attend(s, x)
	}
	half := func(x vertex) vertex {
		return b.binary(gorgonia.HadamardProd, x, b.all(0.5, b.batch, layers.Size(s.In)))
	}
	switch s.Activation {
	case "tanh":
		return b.unary(gorgonia.Tanh, x)
	case "relu":
		return b.unary(gorgonia.Rectify, x)
	case "silu": // z/2 (1 + tanh(z/2)); Gorgonia's Sigmoid returns 1 for z from 19 on
		x = half(x)
		return b.binary(gorgonia.Add, x, b.binary(gorgonia.HadamardProd, x, b.unary(gorgonia.Tanh, x)))
	}
	// softplus: z/2 + |z|/2 + log(1 + e^-|z|), with slope 1/2 at 0. Gorgonia's Softplus returns z for z from 16
	// on.
	abs := b.unary(gorgonia.Abs, x)
	return b.binary(gorgonia.Add, half(b.binary(gorgonia.Add, x, abs)),
		b.unary(gorgonia.Log1p, b.unary(gorgonia.Exp, b.unary(gorgonia.Neg, abs))))
}

// highest returns the maximum of each row.
func (b *layerBuilder) highest(x vertex) vertex {
	return b.unary(func(x vertex) (vertex, error) {
		return gorgonia.ApplyOp(highest{rows: x.Shape()[0], long: x.Shape()[1]}, x)
	}, x)
}

// windows returns a matrix with the numbers of one window of an image in each row, and 0 outside of the
// image.
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
	}, b.batch*out[1]*out[2], long)
}

func (b *layerBuilder) pool(s layers.Step, x vertex) vertex {
	in, places := s.In, layers.Size(s.Out)/s.Out[0]
	size := []int{s.Pooling.Size, s.Pooling.Size}
	stride := []int{s.Pooling.Stride, s.Pooling.Stride}
	if len(in) == 2 { // an image whose columns are features
		in, size, stride, places = []int{1, in[0], in[1]}, []int{in[0], 1}, []int{1, 1}, in[1]
	}
	long, across := size[0]*size[1], (in[2]-size[1])/stride[1]+1
	windows := b.gather(x, func(k int) int { // windows of each channel
		channel, place, at := k/(places*long), k/long%places, k%long
		return (channel*in[1]+place/across*stride[0]+at/size[1])*in[2] + place%across*stride[1] + at%size[1]
	}, b.batch*in[0]*places, long)
	if s.Pooling.Kind == "max" {
		return b.highest(windows)
	}
	return b.binary(gorgonia.Mul, windows, b.all(1/float64(long), long))
}

// categories returns the output of an embedding step: the embeddings, and the columns that are not embedded.
func (b *layerBuilder) categories(s layers.Step, x vertex) vertex {
	out := s.Out[0]
	left := make([]int, out) // for each number of the output, its column of x, or -1
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
		y := b.linear(b.gather(x, func(k int) int { return first + k }, b.batch, c.Columns[1]-first), s.First+k)
		parts = append(parts, b.gather(y, func(k int) int {
			if k < start || k >= start+c.Size {
				return -1
			}
			return k - start
		}, b.batch, out))
		for range c.Size {
			left[to], to = -1, to+1
		}
		from = c.Columns[1]
	}
	leave(s.In[0])
	y := b.binary(gorgonia.HadamardProd, b.gather(x, func(k int) int { return left[k] }, b.batch, out),
		b.all(s.Pass, b.batch, out))
	for _, p := range parts {
		y = b.binary(gorgonia.Add, y, p)
	}
	return y
}

// normalise normalises each row separately.
func (b *layerBuilder) normalise(s layers.Step, x vertex) vertex {
	m := &b.matrices[s.First]
	m.norm = true
	rows, size := b.batch*m.rows, layers.Size(s.In)/m.rows
	m.in, m.out = size, size
	mean := func(x vertex) vertex { // the mean of a row, in all columns
		return b.gather(b.binary(gorgonia.Mul, x, b.all(1/float64(size), size)),
			func(k int) int { return k / size }, rows, size)
	}
	x = b.reshape(x, rows, size)
	x = b.binary(gorgonia.Sub, x, mean(x))
	by := b.unary(gorgonia.Sqrt, b.binary(gorgonia.Add, mean(b.unary(gorgonia.Square, x)),
		b.all(layers.Epsilon, rows, size)))
	m.weights = make([]float64, rows*size)
	m.weighted = b.input(m.weights, rows, size)
	return b.shift(m, b.binary(gorgonia.HadamardDiv, x, by),
		func(x vertex) vertex { return b.binary(gorgonia.HadamardProd, x, m.weighted) })
}

func (b *layerBuilder) attend(s layers.Step, x vertex) (sum vertex) {
	count, size := s.In[0], s.Attention.Size
	product := func(x, y vertex) (vertex, error) { return gorgonia.BatchedMatMul(x, y) }
	for h := range s.Attention.Heads {
		first := s.First + 4*h
		q := b.binary(gorgonia.HadamardProd, b.linear(x, first), b.all(1/math.Sqrt(float64(size)), b.batch*count, size))
		keys := b.gather(b.linear(x, first+1), func(k int) int { return k%count*size + k/count }, b.batch, size, count)
		weights := b.softmax(b.binary(product, b.reshape(q, b.batch, count, size), keys), count)
		y := b.binary(product, weights, b.reshape(b.linear(x, first+2), b.batch, count, size))
		if y = b.linear(y, first+3); h > 0 {
			y = b.binary(gorgonia.Add, sum, y)
		}
		sum = y
	}
	return sum
}

// softmax returns the softmax of each row of count x count numbers of each record. Gorgonia's own softmax is
// not used: it starts the search for the maximum of every row at the first number of the first record, so
// that this number changes the results of other records.
func (b *layerBuilder) softmax(x vertex, count int) vertex {
	rows := b.batch * count
	x = b.reshape(x, rows, count)
	spread := func(x vertex) vertex { return b.gather(x, func(k int) int { return k / count }, rows, count) }
	x = b.unary(gorgonia.Exp, b.binary(gorgonia.Sub, x, spread(b.highest(x))))
	return b.reshape(b.binary(gorgonia.HadamardDiv, x, spread(b.binary(gorgonia.Mul, x, b.all(1, count)))),
		b.batch, count, count)
}
