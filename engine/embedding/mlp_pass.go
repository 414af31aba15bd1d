package embedding

import (
	"math"

	"dyad/kernels"
)

// mlpPass computes an MLP. Every record is computed by calls of the same shape with the numbers of this record.
// So the results are functions of the record and theta alone, bit for bit, in every kernels.Set.
type mlpPass struct {
	net    MLP
	set    *kernels.Set
	layers []Layer
	theta  []float64

	weights [][]float64 // of each layer, without the bias
	bias    [][]float64 // nil for the last layer
	columns []float64   // squared norms of the columns of the last layer's weights
	between []float64   // transpose of the weights of the second of two hidden layers
	size    float64     // their Frobenius norm

	in    [][]float64 // of each layer, BlockRows rows; in[0] is the block's x
	slope [][]float64 // D of each hidden layer, BlockRows rows

	left, product []float64 // W_out D_2 and its product with W_2
	delta, next   []float64
	turned        []float64
}

// NewPass implements Network.
func (n MLP) NewPass(set *kernels.Set) Pass {
	p := &mlpPass{net: n, set: set, layers: n.Layers(), in: make([][]float64, len(n.Hidden)+1),
		columns: make([]float64, n.lastInput())}
	widest := n.Out
	for i, l := range p.layers {
		in := l.Cols
		if l.Bias {
			in--
			p.bias = append(p.bias, make([]float64, l.Rows))
			p.in[i+1] = make([]float64, BlockRows*l.Rows)
			p.slope = append(p.slope, make([]float64, BlockRows*l.Rows))
		}
		p.weights = append(p.weights, make([]float64, l.Rows*in))
		widest = max(widest, l.Rows)
	}
	if len(n.Hidden) == 2 {
		p.between = make([]float64, n.Hidden[0]*n.Hidden[1])
		p.left, p.product = make([]float64, n.Out*n.Hidden[1]), make([]float64, n.Out*n.Hidden[0])
	}
	p.delta, p.next, p.turned = make([]float64, BlockRows*widest), make([]float64, BlockRows*widest),
		make([]float64, BlockRows*widest)
	return p
}

// lastInput is the width that the last layer multiplies.
func (n MLP) lastInput() int {
	if len(n.Hidden) == 0 {
		return n.In
	}
	return n.Hidden[len(n.Hidden)-1]
}

// Set implements Pass.
func (p *mlpPass) Set(theta []float64) {
	p.theta = theta
	for i, l := range p.layers {
		in := len(p.weights[i]) / l.Rows
		for k := range l.Rows {
			copy(p.weights[i][k*in:][:in], theta[k*l.Cols:])
			if l.Bias {
				p.bias[i][k] = theta[k*l.Cols+in]
			}
		}
		theta = theta[l.Len():]
	}
	last := p.weights[len(p.weights)-1]
	clear(p.columns)
	for i, v := range last {
		p.columns[i%len(p.columns)] += v * v
	}
	if p.between != nil {
		kernels.Transpose(p.between, p.weights[1], p.net.Hidden[1], p.net.Hidden[0])
		p.size = math.Sqrt(sumOfSquares(p.between))
	}
}

// hidden computes the hidden layers of a block.
func (p *mlpPass) hidden(x []float64, rows int) {
	p.in[0] = x
	for l, bias := range p.bias {
		in, out := len(p.weights[l])/len(bias), len(bias)
		for i := range rows {
			h, d := p.in[l+1][i*out:][:out], p.slope[l][i*out:][:out]
			p.set.Dots(h, p.weights[l], p.in[l][i*in:][:in])
			for k, b := range bias {
				h[k] += b
			}
			p.activate(h, d)
		}
	}
}

// activate replaces h by its activation and sets d to the slope of the activation.
func (p *mlpPass) activate(h, d []float64) {
	if p.net.Activation == Softplus {
		kernels.Sigmoid(d, h, 1, 1)
		kernels.Softplus(h, h)
		return
	}
	for k, z := range h {
		t := math.Tanh(z)
		h[k], d[k] = t, (1-t)*(1+t)
	}
}

// Embed implements Pass. J is the Jacobian of a record, h the input of the last layer, and m the number of outputs.
// Each D holds the slopes of a hidden layer. x' and h_1' are x and h_1 with a 1 appended for the bias. One hidden
// layer adds the second line to the first, and two layers add the third line instead:
//
//	||J||^2 = m ||h||^2                                             no hidden layer: h = x
//	        + ||W_out D||^2 ||x'||^2                                one
//	        + ||W_out D_2||^2 ||h_1'||^2 + ||W_out D_2 W_2 D_1||^2 ||x'||^2    two
//
// Each sum of squares is raised by a factor that covers its roundings. The norm of the product of matrices is
// raised by a bound of the norm of its rounding errors.
func (p *mlpPass) Embed(g, norms, x []float64, rows int) {
	p.hidden(x, rows)
	last, m := len(p.weights)-1, p.net.Out
	in := len(p.columns)
	for i := range rows {
		h := p.in[last][i*in:][:in]
		p.set.Dots(g[i*m:][:m], p.weights[last], h)
		square := float64(m) * sumOfSquares(h)
		if last > 0 {
			d := p.slope[last-1][i*in:][:in]
			var out float64
			for k, v := range d {
				out += v * v * p.columns[k]
			}
			before := len(p.weights[last-1]) / in
			square += out * (1 + sumOfSquares(p.in[last-1][i*before:][:before]))
			if last == 2 {
				through := p.through(d, p.slope[0][i*before:][:before], math.Sqrt(out))
				square += through * (1 + sumOfSquares(x[i*p.net.In:][:p.net.In]))
			}
		}
		norms[i] = math.Sqrt(square) * roundings
	}
}

// through returns at least ||W_out D_2 W_2 D_1||^2, given out = ||W_out D_2||. An entry of the product of W_out
// D_2 and W_2 is off by at most gamma(depth) times the sum of absolute values. So the matrix is off by at most
// gamma(depth) out ||W_2||. W_out D_2 itself rounds once. 2^-30 exceeds both errors, and |D_1| <= 1.
func (p *mlpPass) through(d2, d1 []float64, out float64) float64 {
	m, in, between := p.net.Out, len(d2), len(d1)
	kernels.ScaleColumns(p.left, d2, p.weights[2], m)
	clear(p.product)
	p.set.AddProducts(p.product, between, p.left, p.between, m, between, in)
	var sum float64
	for k := range m {
		for j, v := range p.product[k*between:][:between] {
			v *= d1[j]
			sum += v * v
		}
	}
	size := math.Sqrt(sum) + out*p.size*0x1p-30
	return size * size
}

// Pull implements Pass.
func (p *mlpPass) Pull(grad, v []float64, rows int) {
	delta, end := v, len(grad)
	for l := len(p.layers) - 1; l >= 0; l-- {
		out, in := p.layers[l].Rows, len(p.weights[l])/p.layers[l].Rows
		cols := p.layers[l].Cols
		end -= out * cols
		turned := p.turned[:rows*out]
		kernels.Transpose(turned, delta[:rows*out], rows, out)
		for k := range out {
			c, to := turned[k*rows:][:rows], grad[end+k*cols:]
			p.set.AddRows(to[:in], c, p.in[l][:rows*in])
			if p.layers[l].Bias {
				var sum float64
				for _, v := range c {
					sum += v
				}
				to[in] += sum
			}
		}
		if l == 0 {
			return
		}
		for i := range rows {
			to, d := p.next[i*in:][:in], p.slope[l-1][i*in:][:in]
			clear(to)
			p.set.AddRows(to, delta[i*out:][:out], p.weights[l])
			for k, s := range d {
				to[k] *= s
			}
		}
		delta, p.delta, p.next = p.next, p.next, p.delta
	}
}

// sumOfSquares is a plain sum.
func sumOfSquares(x []float64) (sum float64) {
	for _, v := range x {
		sum += v * v
	}
	return sum
}
