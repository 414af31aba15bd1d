package export

import (
	"math"
	"slices"

	"dyad/engine/layers"
)

// steps adds the layers of a network file to a graph. It uses only operators that runtimes support in float64. A
// convolution is a product of the windows and the filters, because Conv is supported for float32 only. Between steps, a
// record is one row. Within a step, it can have several rows.
type steps struct {
	*graph
	layers []Layer // the matrices of layers.Network in their order
}

// inOrder returns the features of x in the order of the encoder.
func (g *graph) inOrder(x string, order []int) string {
	columns := make([]int64, slices.Max(order)+1)
	for k, feature := range order {
		if feature != noFeature {
			columns[feature] = int64(k)
		}
	}
	return g.pick(x, columns)
}

// pick returns the given columns of x.
func (g *graph) pick(x string, columns []int64) string {
	return g.op("Gather", []string{x, g.ints(columns...)}, intAttribute("axis", 1))
}

// shaped returns the numbers of each record as an array of the given shape.
func (g *graph) shaped(x string, shape ...int) string {
	dims := []int64{-1}
	for _, n := range shape {
		dims = append(dims, int64(n))
	}
	return g.on("Reshape", x, g.ints(dims...))
}

// reduced returns the mean or the maximum over an axis, which then has length 1.
func (g *graph) reduced(how, x string, axis int64) string {
	return g.op(how, []string{x}, intsAttribute("axes", axis), intAttribute("keepdims", 1))
}

// affine returns W x + b along the last axis of x.
func (s steps) affine(matrix int, x string) string {
	l := s.layers[matrix]
	x = s.on("MatMul", x, s.doubles(transposed(l), l.Cols, l.Rows))
	if l.Bias != nil {
		x = s.on("Add", x, s.doubles(l.Bias, 1, l.Rows))
	}
	return x
}

func (s steps) run(list []layers.Step, x string) string {
	for _, l := range list {
		x = s.step(l, x)
	}
	return x
}

func (s steps) step(l layers.Step, x string) string {
	switch l.Kind {
	case "dense":
		if len(l.In) == 2 {
			return s.shaped(s.affine(l.First, s.shaped(x, l.In...)), layers.Size(l.Out))
		}
		return s.affine(l.First, x)
	case "output":
		return s.affine(l.First, x)
	case "convolution":
		c := l.Convolution
		patch := l.In[0] * c.Size * c.Size
		x = s.affine(l.First, s.shaped(s.windows(x, l, c.Size, c.Stride, c.Padding), l.Out[1]*l.Out[2], patch))
		return s.shaped(s.op("Transpose", []string{x}, intsAttribute("perm", 0, 2, 1)), layers.Size(l.Out))
	case "pooling":
		return s.pool(l, x)
	case "embedding":
		return s.categories(l, x)
	case "residual":
		return s.on("Add", x, s.run(l.Inner, x))
	case "layernorm":
		return s.normalise(l, x)
	case "attention":
		return s.attend(l, x)
	}
	switch l.Activation {
	case "relu": // operator Where keeps NaN
		return s.on("Where", s.on("Less", x, s.scalar(0)), s.scalar(0), x)
	case "silu":
		return s.on("Div", x, s.on("Add", s.on("Exp", s.on("Neg", x)), s.scalar(1)))
	}
	return s.activated(x, Activation(l.Activation))
}

// windows returns the pixels of all windows of an image. At each position it has the pixels of all channels.
// Padding is 0.
func (s steps) windows(x string, l layers.Step, size, stride, padding int) string {
	var columns []int64
	for place := range l.Out[1] * l.Out[2] {
		top, left := place/l.Out[2]*stride-padding, place%l.Out[2]*stride-padding
		for c := range l.In[0] {
			for i := top; i < top+size; i++ {
				for j := left; j < left+size; j++ {
					at := layers.Size(l.In) // index of a column of zeros
					if i >= 0 && i < l.In[1] && j >= 0 && j < l.In[2] {
						at = (c*l.In[1]+i)*l.In[2] + j
					}
					columns = append(columns, int64(at))
				}
			}
		}
	}
	if padding > 0 {
		first := s.pick(x, []int64{0})
		x = s.concat([]string{x, s.on("Sub", first, first)})
	}
	return s.pick(x, columns)
}

// pool returns the mean or the maximum over windows or items.
func (s steps) pool(l layers.Step, x string) string {
	how := map[string]string{"mean": "ReduceMean", "max": "ReduceMax"}[l.Pooling.Kind]
	if len(l.In) == 2 {
		return s.shaped(s.reduced(how, s.shaped(x, l.In...), 1), layers.Size(l.Out))
	}
	places, square := l.Out[1]*l.Out[2], l.Pooling.Size*l.Pooling.Size
	x = s.shaped(s.windows(x, l, l.Pooling.Size, l.Pooling.Stride, 0), places, l.In[0], square)
	x = s.op("Transpose", []string{s.reduced(how, x, 3)}, intsAttribute("perm", 0, 2, 1, 3))
	return s.shaped(x, layers.Size(l.Out))
}

// categories replaces categorical columns by vectors and multiplies the other columns by a number.
func (s steps) categories(l layers.Step, x string) string {
	var parts []string
	from := 0
	span := func(until int) string {
		columns := make([]int64, until-from)
		for k := range columns {
			columns[k] = int64(from + k)
		}
		from = until
		return s.pick(x, columns)
	}
	pass := func(until int) {
		if until > from {
			parts = append(parts, s.on("Mul", span(until), s.scalar(l.Pass)))
		}
	}
	for k, c := range l.Embedding {
		pass(c.Columns[0] - 1)
		parts = append(parts, s.affine(l.First+k, span(c.Columns[1])))
	}
	pass(layers.Size(l.In))
	return s.concat(parts)
}

// normalise normalises each item, or the whole record.
func (s steps) normalise(l layers.Step, x string) string {
	items, size := 1, layers.Size(l.In)
	if len(l.In) == 2 {
		items, size = l.In[0], l.In[1]
	}
	features := s.layers[l.First].Cols
	factors, shifts := make([]float64, size), make([]float64, size)
	for k := range size {
		factors[k], shifts[k] = s.layers[l.First].W[k*features/size], s.layers[l.First].W[features+k*features/size]
	}
	x = s.shaped(x, items, size)
	off := s.on("Sub", x, s.reduced("ReduceMean", x, 2))
	by := s.on("Sqrt", s.on("Add", s.reduced("ReduceMean", s.on("Mul", off, off), 2), s.scalar(layers.Epsilon)))
	x = s.on("Add", s.on("Mul", s.on("Div", off, by), s.doubles(factors, 1, size)), s.doubles(shifts, 1, size))
	return s.shaped(x, items*size)
}

// attend returns the sum over heads of softmax(Q K^T/sqrt(size)) V W^T.
func (s steps) attend(l layers.Step, x string) string {
	x = s.shaped(x, l.In...)
	root, sum := s.scalar(math.Sqrt(float64(l.Attention.Size))), ""
	for h := range l.Attention.Heads {
		first := l.First + 4*h
		q, k, v := s.affine(first, x), s.affine(first+1, x), s.affine(first+2, x)
		scores := s.on("Div", s.on("MatMul", q, s.op("Transpose", []string{k}, intsAttribute("perm", 0, 2, 1))), root)
		head := s.affine(first+3, s.on("MatMul", s.op("Softmax", []string{scores}, intAttribute("axis", -1)), v))
		if sum != "" {
			head = s.on("Add", sum, head)
		}
		sum = head
	}
	return s.shaped(sum, layers.Size(l.In))
}
