package layers

import (
	"errors"
	"math"

	"dyad/engine/embedding"
	"dyad/kernels"
)

// Epsilon is the constant that a normalisation adds to the variance.
const Epsilon = 1e-5

var errNoGradients = errors.New("layers: a network in plain Go cannot be trained; make the network with " +
	"dyad/autodiff/gorgonia")

// functions are the activations.
var functions = map[string]func(z float64) float64{
	"tanh":     math.Tanh,
	"softplus": func(z float64) float64 { return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) },
	"relu":     func(z float64) float64 { return max(z, 0) },
	"silu":     func(z float64) float64 { return z / (1 + math.Exp(-z)) },
}

// pass computes a Network record by record, so a row is a function of its record and theta alone, bit for bit.
type pass struct {
	*Network
	theta [][]float64 // of each matrix
	slab  []float64   // scratch space for one record
	used  int
}

// NewPass implements embedding.Network. The pass computes no Jacobian. Its bound of a Jacobian's norm is a finite
// number far above any norm in practice, so rows count as usable. Pull panics.
func (n *Network) NewPass(*kernels.Set) embedding.Pass { return &pass{Network: n} }

// noNorm stands for the norm of a Jacobian that is not computed.
const noNorm = 0x1p500

// Set implements embedding.Pass.
func (p *pass) Set(theta []float64) {
	p.theta = p.theta[:0]
	for _, l := range p.Network.theta {
		p.theta = append(p.theta, theta[:l.Len()])
		theta = theta[l.Len():]
	}
}

// Pull implements embedding.Pass.
func (p *pass) Pull([]float64, []float64, int) { panic(errNoGradients) }

// Embed implements embedding.Pass.
func (p *pass) Embed(g, norms, x []float64, rows int) {
	for i := range rows {
		p.used = 0
		copy(g[i*p.m:][:p.m], p.run(p.steps, x[i*p.d:][:p.d]))
		norms[i] = noNorm
	}
}

// take returns n zeros.
func (p *pass) take(n int) []float64 {
	if p.used+n > len(p.slab) {
		p.slab, p.used = make([]float64, 2*len(p.slab)+n), 0 // what was taken keeps its memory
	}
	s := p.slab[p.used:][:n:n]
	p.used += n
	clear(s)
	return s
}

// run computes the steps of one record.
func (p *pass) run(steps []Step, x []float64) []float64 {
	for _, s := range steps {
		x = p.step(s, x)
	}
	return x
}

func (p *pass) step(s Step, x []float64) []float64 {
	switch s.Kind {
	case "dense":
		if len(s.In) == 2 {
			return p.affine(s.First, x, s.In[0], s.In[1])
		}
		return p.affine(s.First, x, 1, len(x))
	case "output":
		return p.affine(s.First, x, 1, len(x))
	case "convolution":
		c := s.Convolution
		return p.convolve(s, x, c.Size, c.Stride, c.Padding)
	case "pooling":
		return p.pool(s, x)
	case "embedding":
		return p.categories(s, x)
	case "residual":
		y := p.take(len(x))
		for k, v := range p.run(s.Inner, x) {
			y[k] = x[k] + v
		}
		return y
	case "layernorm":
		return p.normalise(s, x)
	case "attention":
		return p.attend(s, x)
	}
	y, f := p.take(len(x)), functions[s.Activation]
	for k, v := range x {
		y[k] = f(v)
	}
	return y
}

// affine returns Theta [x; 1] for each of count rows of x. For a matrix without a bias it returns Theta x.
func (p *pass) affine(matrix int, x []float64, count, in int) []float64 {
	l, theta := p.Network.theta[matrix], p.theta[matrix]
	y := p.take(count * l.Rows)
	for i := range count {
		for k := range l.Rows {
			row := theta[k*l.Cols:][:l.Cols]
			v := kernels.Dot(row[:in], x[i*in:][:in])
			if l.Bias {
				v += row[in]
			}
			y[i*l.Rows+k] = v
		}
	}
	return y
}

// window calls each for the pixels of the window of size x size at (row, column) of an image.
func window(in []int, x []float64, row, column, size int, each func(at int, v float64)) {
	at := 0
	for c := range in[0] {
		for i := row; i < row+size; i++ {
			for j := column; j < column+size; j++ {
				if i >= 0 && i < in[1] && j >= 0 && j < in[2] {
					each(at, x[(c*in[1]+i)*in[2]+j])
				}
				at++
			}
		}
	}
}

func (p *pass) convolve(s Step, x []float64, size, stride, padding int) []float64 {
	places := s.Out[1] * s.Out[2]
	patch, y := p.take(s.In[0]*size*size), p.take(Size(s.Out))
	for at := range places {
		clear(patch)
		window(s.In, x, at/s.Out[2]*stride-padding, at%s.Out[2]*stride-padding, size, func(k int, v float64) { patch[k] = v })
		for c, v := range p.affine(s.First, patch, 1, len(patch)) {
			y[c*places+at] = v
		}
	}
	return y
}

func (p *pass) pool(s Step, x []float64) []float64 {
	y, most := p.take(Size(s.Out)), s.Pooling.Kind == "max"
	merge := func(k, count int, first bool, v float64) {
		switch {
		case !most:
			y[k] += v / float64(count)
		case first || v > y[k] || v != v:
			y[k] = v
		}
	}
	if len(s.In) == 2 {
		for i, v := range x {
			merge(i%s.In[1], s.In[0], i < s.In[1], v)
		}
		return y
	}
	size, stride, plane := s.Pooling.Size, s.Pooling.Stride, s.In[1]*s.In[2]
	for k := range y {
		c, at := k/(s.Out[1]*s.Out[2]), k%(s.Out[1]*s.Out[2])
		window([]int{1, s.In[1], s.In[2]}, x[c*plane:][:plane], at/s.Out[2]*stride, at%s.Out[2]*stride, size, func(i int, v float64) {
			merge(k, size*size, i == 0, v)
		})
	}
	return y
}

func (p *pass) categories(s Step, x []float64) []float64 {
	y, from := p.take(Size(s.Out)), 0
	to := y
	pass := func(until int) {
		for _, v := range x[from:until] {
			to[0], to = v*s.Pass, to[1:]
		}
	}
	for k, c := range s.Embedding {
		pass(c.Columns[0] - 1)
		from = c.Columns[1]
		columns := x[c.Columns[0]-1 : from]
		to = to[copy(to, p.affine(s.First+k, columns, 1, len(columns))):]
	}
	pass(len(x))
	return y
}

func (p *pass) normalise(s Step, x []float64) []float64 {
	count, features := items(s.In), p.Network.theta[s.First].Cols
	size := len(x) / count
	factors, shifts := p.theta[s.First][:features], p.theta[s.First][features:]
	y := p.take(len(x))
	for i := range count {
		row, to := x[i*size:][:size], y[i*size:][:size]
		var mean, square float64
		for _, v := range row {
			mean += v / float64(size)
		}
		for _, v := range row {
			square += (v - mean) * (v - mean) / float64(size)
		}
		by := math.Sqrt(square + Epsilon)
		for k, v := range row {
			feature := k * features / size // of a channel, all its pixels
			to[k] = (v-mean)/by*factors[feature] + shifts[feature]
		}
	}
	return y
}

// attend returns the sum over heads of softmax(Q K^T/sqrt(size)) V W^T. The softmax is taken over each row separately.
func (p *pass) attend(s Step, x []float64) []float64 {
	count, features, size := s.In[0], s.In[1], s.Attention.Size
	y, weights, mixed := p.take(len(x)), p.take(count), p.take(size)
	for h := range s.Attention.Heads {
		first := s.First + 4*h
		q, k, v := p.affine(first, x, count, features), p.affine(first+1, x, count, features),
			p.affine(first+2, x, count, features)
		for i := range count {
			most, sum := math.Inf(-1), 0.0
			for j := range count {
				weights[j] = kernels.Dot(q[i*size:][:size], k[j*size:][:size]) / math.Sqrt(float64(size))
				most = max(most, weights[j])
			}
			for j, w := range weights {
				weights[j] = math.Exp(w - most)
				sum += weights[j]
			}
			clear(mixed)
			for j, w := range weights {
				for c := range mixed {
					mixed[c] += w / sum * v[j*size+c]
				}
			}
			for c, v := range p.affine(first+3, mixed, 1, size) {
				y[i*features+c] += v
			}
		}
	}
	return y
}
