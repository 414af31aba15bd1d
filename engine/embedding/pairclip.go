package embedding

import (
	"context"
	"math"
	"slices"

	"dyad/engine"
	"dyad/internal/tasks"
	"dyad/kernels"
)

// factored is a Pass of a network with m = 1 whose Jacobian is, in each layer, the outer product of a vector
// delta and the layer's input. An MLP has such a Pass. Then J_i.J_j is a sum over layers of
// (delta_i.delta_j)(in_i.in_j).
type factored interface {
	// widths returns the widths of delta and in of each layer.
	widths() (delta, in []int)
	// factors sets the rows of delta[l] and in[l] for the records of the last Embed.
	factors(delta, in [][]float64, rows int)
}

// widths implements factored. Inputs of layers with a bias end with 1.
func (p *mlpPass) widths() (delta, in []int) {
	for _, l := range p.layers {
		delta, in = append(delta, l.Rows), append(in, l.Cols)
	}
	return delta, in
}

// factors implements factored.
func (p *mlpPass) factors(delta, in [][]float64, rows int) {
	for i := range rows {
		for l := len(p.layers) - 1; l >= 0; l-- {
			out, cols := p.layers[l].Rows, p.layers[l].Cols
			input := len(p.weights[l]) / out
			to := in[l][i*cols:][:cols]
			if copy(to, p.in[l][i*input:][:input]); input < cols {
				to[input] = 1
			}
			d := delta[l][i*out:][:out]
			if l == len(p.layers)-1 {
				d[0] = 1
				continue
			}
			clear(d)
			after := p.layers[l+1].Rows
			p.set.AddRows(d, delta[l+1][i*after:][:after], p.weights[l+1])
			for k, s := range p.slope[l][i*out:][:out] {
				d[k] *= s
			}
		}
	}
}

// The fixed grid of clipped pairs.
const (
	clipTile    = 64 // rows and columns
	clipStripes = 32 // of rows, at most; they are the jobs
)

// clippedPairs computes sums over all pairs of scores. Each term c_ij (J_i - J_j), c_ij = phi'(u)(y_i - y_j),
// is clipped to norm PairClip. The sums are weights v_i = 2 a_i sum_j a_j c_ij q_ij with
//
//	q_ij = min(1, PairClip/(|c_ij| ||J_i - J_j||)),   ||J_i - J_j||^2 = ||J_i||^2 + ||J_j||^2 - 2 J_i.J_j.
//
// c_ij and q_ij are computed by the plain kernels. They are functions of the numbers of the two records alone,
// bit for bit.
type clippedPairs struct {
	*evaluator
	delta, in  [][]float64 // of layers, n rows
	wide, deep []int       // widths of delta and in
	square     []float64   // ||J_i||^2
	most       []float64   // and with the norms of what deltas are sums of: ||W|| ||delta|| of the layer after
	weight     []float64   // a_i
	next       []int       // the first row of the next record
	score      bool        // else vectors
	vectors    vectorFactors
	partial    []float64   // stripes x n
	work       [][]float64 // of workers: three tiles
}

// hasFactors reports whether the pairs of a loss with PairClip are clipped by factors of Jacobians. This is
// possible for scores of any MLP without an output stage, and for embeddings of an MLP with at most one hidden
// layer.
func (l Loss) hasFactors(b engine.Bounds) bool {
	if _, score := l.Pair.(Score); score {
		return l.Model.isNarrow(b.FeatureNorm) && l.Model.Output == Output{} && l.Model.Network.(MLP).Out == 1
	}
	return l.Model.hasVectorFactors(b.FeatureNorm)
}

// isNarrow reports whether the network is an MLP whose layers have at most widest inputs and units, and whose
// numbers are far from overflow for records of norm at most norm.
func (m Model) isNarrow(norm float64) bool {
	n, ok := m.Network.(MLP)
	return ok && n.In <= widest && !slices.ContainsFunc(n.Hidden, func(h int) bool { return h > widest }) &&
		n.Reach(norm) <= 0x1p200 && n.PullError(norm).Size <= 0x1p200
}

// hasVectorFactors reports whether vectorFactors can be used for this model.
func (m Model) hasVectorFactors(norm float64) bool {
	return m.isNarrow(norm) && len(m.Network.(MLP).Hidden) <= 1
}

// factorWidth is the total length of the factors of a record.
func (l Loss) factorWidth() (sum int) {
	for _, layer := range l.Model.Network.Layers() {
		sum += layer.Rows + layer.Cols
	}
	return sum
}

// newClippedPairs returns the sums for the records of e.
func newClippedPairs(e *evaluator) *clippedPairs {
	r := e.records
	_, score := e.loss.Pair.(Score)
	c := &clippedPairs{evaluator: e, score: score, next: make([]int, r.Len())}
	if r.ByPerson() {
		c.weight = make([]float64, r.Len())
	}
	for k := range r.Units() {
		from, to := r.UnitRows(k)
		for i := from; i < to; i++ {
			if c.next[i] = to; c.weight != nil {
				c.weight[i] = 1 / float64(to-from)
			}
		}
	}
	return c
}

// start allocates the scratch space. The workers must have their scratch space before.
func (c *clippedPairs) start() {
	n := c.records.Len()
	if c.partial = make([]float64, (n+c.stripe()-1)/c.stripe()*n*c.dim); !c.score {
		c.vectors = newVectorFactors(c.loss.Model.Network.(MLP), c.loss.Model.Output, n)
		return
	}
	c.wide, c.deep = c.evaluator.work[0].pass.Pass.(factored).widths()
	for l := range c.wide {
		c.delta, c.in = append(c.delta, make([]float64, n*c.wide[l])), append(c.in, make([]float64, n*c.deep[l]))
	}
	c.square, c.most = make([]float64, n), make([]float64, n)
	for range c.evaluator.work {
		c.work = append(c.work, make([]float64, 3*clipTile*clipTile))
	}
}

// close drops the scratch space.
func (c *clippedPairs) close() {
	c.delta, c.in, c.square, c.most, c.partial, c.work, c.vectors = nil, nil, nil, nil, nil, nil, vectorFactors{}
}

// clipSlack, times a sum of squares, is added to squared lengths of terms. The sum of squares bounds all products in a
// squared length and all products in the sums that it multiplies. The slack exceeds the roundings of products of two
// sums of up to widest products, so no term is longer than PairClip. It shortens only terms of records whose Jacobians
// are equal up to 2^-18 of these bounds.
const (
	clipSlack = 0x1p-36
	widest    = 1 << 13
)

// sum sets v to the weights.
func (c *clippedPairs) sum(ctx context.Context, v []float64) error {
	n, length := c.records.Len(), len(v)
	err := c.eachBlock(ctx, func(w *worker, _, from, count int) {
		if !c.score {
			w.pass.embed(w.f, w.norms, c.records.Rows(w.x, from, count), count)
			c.vectors.set(w.pass, w.f, from, count)
			return
		}
		var delta, in [][]float64
		for l := range c.wide {
			delta = append(delta, c.delta[l][from*c.wide[l]:])
			in = append(in, c.in[l][from*c.deep[l]:])
		}
		w.pass.embed(w.f, w.norms, c.records.Rows(w.x, from, count), count)
		w.pass.Pass.(factored).factors(delta, in, count)
		var outer []float64 // ||W||^2
		for _, weights := range w.pass.Pass.(*mlpPass).weights {
			outer = append(outer, sumOfSquares(weights))
		}
		for i := range count {
			at, after := from+i, 0.0
			c.square[at], c.most[at] = 0, 0
			for l := len(c.wide) - 1; l >= 0; l-- {
				size, input := sumOfSquares(delta[l][i*c.wide[l]:][:c.wide[l]]), sumOfSquares(in[l][i*c.deep[l]:][:c.deep[l]])
				c.square[at] += size * input
				c.most[at] += max(size, after) * input
				after = size * outer[l]
			}
		}
	})
	if err != nil {
		return err
	}
	clear(c.partial)
	stripe := c.stripe()
	if err := tasks.Each(ctx, len(c.evaluator.work), (n+stripe-1)/stripe, func(worker, job int) {
		part := c.partial[job*length:][:length]
		for i0 := job * stripe; i0 < min((job+1)*stripe, n); i0 += clipTile {
			for j0 := i0; j0 < n && ctx.Err() == nil; j0 += clipTile {
				if c.score {
					c.tile(part, worker, i0, min(clipTile, n-i0), j0, min(clipTile, n-j0))
				} else {
					c.vectorTile(part, worker, i0, min(clipTile, n-i0), j0, min(clipTile, n-j0))
				}
			}
		}
	}); err != nil {
		return err
	}
	clear(v)
	for from := 0; from < len(c.partial); from += length {
		add(v, c.partial[from:from+length])
	}
	for i := range v {
		v[i] *= 2
	}
	return nil
}

// stripe is the number of rows of a job.
func (c *clippedPairs) stripe() int {
	n := c.records.Len()
	tiles, stripes := (n+clipTile-1)/clipTile, max(2, min(clipStripes, maxPartials/(n*c.dim)))
	return (tiles + stripes - 1) / stripes * clipTile
}

// tile adds the pairs i < j of a tile of rows of different records.
func (c *clippedPairs) tile(sum []float64, worker, i0, rows, j0, columns int) {
	const area = clipTile * clipTile
	work := c.work[worker]
	product, layer, deltas := work[:rows*columns], work[area:][:rows*columns], work[2*area:][:rows*columns]
	clear(product)
	for l, wide := range c.wide {
		deep := c.deep[l]
		clear(layer)
		kernels.AddProducts(layer, columns, c.in[l][i0*deep:], c.in[l][j0*deep:], rows, columns, deep)
		if l < len(c.wide)-1 { // delta of the last layer is 1
			clear(deltas)
			kernels.AddProducts(deltas, columns, c.delta[l][i0*wide:], c.delta[l][j0*wide:], rows, columns, wide)
			for k, d := range deltas {
				layer[k] *= d
			}
		}
		add(product, layer)
	}
	of, limit := c.loss.Pair.(Score).Of, c.loss.PairClip*(1-0x1p-40)
	for i := range rows {
		a := i0 + i
		for j := max(c.next[a]-j0, 0); j < columns; j++ {
			b := j0 + j
			d := c.records.Label(a) - c.records.Label(b)
			if d == 0 {
				continue
			}
			slope := kernels.Clamp(of.DPhi(d*(c.f[a]-c.f[b])), c.slopes.SlopeMin, c.slopes.SlopeMax) * d
			both := c.square[a] + c.square[b]
			length := math.Abs(slope) * math.Sqrt(max(0, both-2*product[i*columns+j])+clipSlack*(c.most[a]+c.most[b]))
			if length > limit {
				slope *= limit / length
			}
			if c.weight != nil {
				slope *= c.weight[a] * c.weight[b]
			}
			sum[a] += slope
			sum[b] -= slope
		}
	}
}
