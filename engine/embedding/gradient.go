package embedding

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"dyad/engine"
	"dyad/internal/tasks"
	"dyad/kernels"
)

// chunkPairs is the number of pairs summed into one partial sum.
const chunkPairs = 64

// Gradients computes sums of clipped pair gradients. It is used from one goroutine at
// a time.
type Gradients struct {
	data    *Data
	loss    ListLoss
	rows    int // d'
	workers int
	partial []float64
	scratch [][]float64 // of a worker: v, its opposite and dx
	origin  []float64   // zeros, as many as rows: v is W dx minus origin
}

// MostRows is the largest number of rows of a matrix.
const MostRows = 1 << 20

// NewGradients returns a Gradients over data for a matrix of rows x Dim. If workers is below 1, one worker is
// used. The number of workers changes the running time but not the result.
func NewGradients(data *Data, loss ListLoss, rows, workers int) (*Gradients, error) {
	if loss == nil || rows < 1 || rows > MostRows {
		return nil, fmt.Errorf("embedding: there are %d rows and the loss is %v; want 1 to 2^20 rows and a loss", rows,
			loss)
	}
	if loss.Link() == Difference && rows != 1 {
		return nil, fmt.Errorf("embedding: loss %s needs one row of weights, but there are %d", loss.Name(), rows)
	}
	g := &Gradients{data: data, loss: loss, rows: rows, workers: max(workers, 1), origin: make([]float64, rows)}
	g.scratch = make([][]float64, g.workers)
	for i := range g.scratch {
		g.scratch[i] = make([]float64, 2*rows+data.d)
	}
	return g, nil
}

// Len returns the number of entries of W.
func (g *Gradients) Len() int { return g.rows * g.data.d }

// Clip selects how gradients are clipped.
type Clip int

// The ways to clip.
const (
	// WholeMatrix clips the entrywise norm of the gradient.
	WholeMatrix Clip = iota
	// RowByRow clips every row of the gradient separately, as [Li20] Algorithm 1 does. The L1 norm of the whole
	// gradient is then at most rows times the clip (docs/theory.md#pair-clipping).
	RowByRow
)

// Sum sets dst to a sum over the listed pairs. For WholeMatrix, the term of a pair is
//
//	grad l(W; pair) / max(1, ||grad l(W; pair)||/clip)
//
// with the norm of the data. For RowByRow, every row of the gradient is clipped to norm clip instead. w and
// dst are row-major, rows x Dim. Each term is a function of its own pair, w and clip. The exact term for the
// computed slope (for RowByRow, each row of the term) has norm at most clip. SumError bounds the error of the
// summation. A gradient that overflows counts as zero. When ctx is done, Sum returns ctx.Err().
func (g *Gradients) Sum(ctx context.Context, dst, w []float64, pairs []int32, clip float64, how Clip) error {
	chunks := (len(pairs) + chunkPairs - 1) / chunkPairs
	g.partial = grow(g.partial, chunks*g.Len())
	workers := g.workers
	if chunks*g.Len() < 1<<12 {
		workers = 1
	}
	err := tasks.Each(ctx, workers, chunks, func(worker, c int) {
		sum := g.partial[c*g.Len():][:g.Len()]
		clear(sum)
		for _, i := range pairs[c*chunkPairs : min((c+1)*chunkPairs, len(pairs))] {
			g.add(sum, w, g.scratch[worker], i, clip, how)
		}
	})
	joinChunks(dst, g.partial, chunks)
	return err
}

// add adds one clipped gradient. The matrix c dx^T has the entrywise norm ||c|| ||dx||, both for L1 and for L2.
//
// Clipping: the computed product n of the computed norms has a relative error below (rows + d + 18) 2^-53.
// Terms are scaled whenever n exceeds clip times 1 - slack, with slack (rows + d + 16) 2^-51. They are scaled
// to the norm clip (1 - slack) with four roundings for each coefficient. So the exact norm of a term is at
// most clip whether or not it is scaled.
func (g *Gradients) add(sum, w, scratch []float64, i int32, clip float64, how Clip) {
	d := g.data.d
	p := g.data.graph.Pairs()[i]
	v, opposite, dx := scratch[:g.rows], scratch[g.rows:2*g.rows], scratch[2*g.rows:]
	b := g.data.Row(int(p.B))
	for k, a := range g.data.Row(int(p.A)) {
		dx[k] = a - b[k]
	}
	for r := range v {
		v[r] = kernels.Dot(dx, w[r*d:])
	}
	link := g.loss.Link()
	link.Pull(v, opposite, v, g.origin, g.loss.DPhi(link.Of(v, g.origin), g.data.label(i), 0))
	size, length := g.data.norm.of(v), g.data.norm.of(dx)
	if !(size*length <= math.MaxFloat64) {
		return
	}
	limit := clip * (1 - float64(g.rows+d+16)*0x1p-51)
	if how == RowByRow {
		for r, c := range v {
			if math.Abs(c)*length > limit {
				v[r] = math.Copysign(limit/length, c)
			}
		}
	} else if size*length > limit {
		f := limit / length
		for r, c := range v {
			v[r] = c / size * f
		}
	}
	for r, c := range v {
		if c == 0 {
			continue
		}
		row := sum[r*d : (r+1)*d]
		for k, x := range dx {
			row[k] += c * x
		}
	}
}

// SumError bounds, in the norm of the data, the distance between the computed Sum of a batch of pairs and the
// sum of its exact terms. The norms of the terms must be at most clip. For RowByRow, the caller passes rows
// times the clipping norm as clip. The bound holds for every data set and every w.
//
// Proof. A product takes part in at most k = chunkPairs + 2 + ceil(log2 chunks) roundings, including its own
// rounding and the scaling. So the error of entry e is at most gamma(k) sum_j |term_j,e|. The norm of the
// vector of these sums is at most the sum of the norms of the terms, which is at most batch clip. Underflow
// adds less than 2^-1020 for each product. QED
func SumError(rows, dim, batch int, clip float64) float64 {
	chunks := (batch + chunkPairs - 1) / chunkPairs
	k := chunkPairs + 2 + bits.Len(uint(chunks))
	return engine.Gamma(k)*float64(batch)*clip*(1+0x1p-40) + float64(batch)*float64(rows)*float64(dim)*0x1p-1020
}

// Objective returns the mean loss over all pairs. It is a diagnostic for public data and is not private.
func (g *Gradients) Objective(w []float64) float64 {
	d, sum := g.data.d, 0.0
	v := make([]float64, g.rows)
	for i, p := range g.data.graph.Pairs() {
		a, b := g.data.Row(int(p.A)), g.data.Row(int(p.B))
		for r := range v {
			v[r] = 0
			for k, x := range w[r*d : (r+1)*d] {
				v[r] += x * (a[k] - b[k])
			}
		}
		sum += g.loss.Phi(g.loss.Link().Of(v, g.origin), g.data.label(int32(i)), 0)
	}
	return sum / float64(len(g.data.graph.Pairs()))
}
