package cpu

import (
	"context"
	"fmt"
	"math/bits"

	"dyad/engine"
	"dyad/kernels"
)

// PairForm is the form of a loss of two embeddings f and f' with m numbers each.
type PairForm int

// Inner, SquaredDistance and Differences are the forms, for labels y and y'.
const (
	Inner           PairForm = iota // phi(y y' f.f')
	SquaredDistance                 // phi(y y' (1 - ||f - f'||^2))
	// the slope is c (f - f'), where c depends on the squared distance and on whether the labels are equal
	Differences
)

// EmbeddedPairs holds the public numbers that define sums over all pairs of embeddings.
type EmbeddedPairs struct {
	N, PersonRows int           // as in engine.Problem
	Bounds        engine.Bounds // LabelAbs bounds the labels, and FeatureNorm the norm of the embeddings
	Dim           int           // m
	Form          PairForm
	Of            engine.Scalar // phi; nil for Differences
	// Coefficient and Size are used only if Form is Differences. Coefficient computes the factor c in
	// the slope c (f - f') from its arguments alone. Size bounds |c| ||f - f'||.
	Coefficient func(square float64, same bool) float64
	Size        float64
}

// EmbeddedKernel is the planned method for EmbeddedPairs. It is immutable.
type EmbeddedKernel struct {
	EmbeddedPairs
	rows    int // at most
	set     *kernels.Set
	slopes  func([]float64) // nil for the logistic ones of a kernels.MetricBlock
	bounds  engine.ScalarBounds
	workers int
	panel   int
}

// panelFloats bounds the number of floats in the sums of one panel of columns.
const panelFloats = 1 << 18

// PlanEmbedded returns the kernel for p. It returns an error wrapping engine.ErrUnsupported if b.Float32 is
// set. In float32, the term of every pair would have a relative error of 2^-24. The sum of these errors would
// not be small relative to the share of one record, and no bound is proved for how much one record changes
// this sum.
func (b Backend) PlanEmbedded(p EmbeddedPairs) (*EmbeddedKernel, error) {
	if b.Float32 {
		return nil, fmt.Errorf("%w: pairs of embeddings are computed only in float64; leave --precision out",
			engine.ErrUnsupported)
	}
	set, err := kernels.Select(b.Variant)
	if err != nil {
		return nil, fmt.Errorf("%w: Backend.Variant: %w", engine.ErrUnsupported, err)
	}
	k := &EmbeddedKernel{EmbeddedPairs: p, rows: p.N * max(p.PersonRows, 1), set: set, workers: b.workers()}
	k.panel = max(metricCols, min(metricPanel, panelFloats/kernels.GramStride(p.Dim)/metricCols*metricCols))
	if p.Form == Differences {
		return k, nil
	}
	if k.bounds, err = p.Of.Bounds(-k.margin(), k.margin()); err != nil {
		return nil, err
	}
	_, logistic := p.Of.(engine.Logistic)
	k.slopes = p.Of.Slopes
	switch {
	case logistic && k.margin() <= kernels.MaxLogisticMargin:
		k.slopes = nil
	case logistic:
		k.slopes = clampedLogistic(set)
	case !k.bounds.Smooth():
		// A margin must not depend on the other rows of a tile (engine.QueryBounds.Sum).
		if k.set, err = kernels.Select(kernels.Generic); err != nil {
			return nil, err
		}
		k.slopes = kernels.ClampedSlopes(p.Of.Slopes, k.bounds.SlopeMin, k.bounds.SlopeMax)
	}
	if k.slopes == nil && p.PersonRows > 0 {
		k.slopes = set.LogisticSlopes
	}
	if !(k.coefficientError() < 0x1p-20*k.bounds.Slope()) {
		return nil, fmt.Errorf("%w: the rounding errors of loss %q are too large for margins up to %.3g",
			engine.ErrUnsupported, p.Of.Name(), k.margin())
	}
	return k, nil
}

// clampedLogistic returns kernels.LogisticSlopes for arbitrary margins. It clamps margins to
// MaxLogisticMargin. Beyond MaxLogisticMargin, the slope differs from the slope at the clamped margin by
// at most e^-160 < 2^-230.
func clampedLogistic(set *kernels.Set) func([]float64) {
	return func(u []float64) {
		for i, v := range u {
			u[i] = kernels.Clamp(v, -kernels.MaxLogisticMargin, kernels.MaxLogisticMargin)
		}
		set.LogisticSlopes(u)
	}
}

// labels returns q, the bound of |y y'|.
func (p EmbeddedPairs) labels() float64 { return p.Bounds.LabelAbs * p.Bounds.LabelAbs }

// margin returns a bound of |u| for exact and computed margins u.
func (p EmbeddedPairs) margin() float64 {
	reach := p.Bounds.FeatureNorm * p.Bounds.FeatureNorm
	if p.Form == SquaredDistance {
		reach = max(1, 4*reach)
	}
	return p.labels() * reach * (1 + 0x1p-19)
}

// coefficientError returns E. For the given embeddings, the computed coefficient phi'(u) y y' of a pair is
// within q E of the exact coefficient. For a loss that is not smooth, it is within q E of the exact product
// with the computed slope.
//
// A margin is computed as p (1 - (s_i + t_j - 2 x_i.x_j)) with p = y y'. For Inner, s_i = 1, t_j = 0 and
// x_i = f_i/2. A margin has MetricMarginDepth(m) roundings of products. Their absolute values add up to at
// most q (2 + 4 F^2), where F is the bound of embeddings. s_i = ||f_i||^2 adds DotDepth(m) roundings. The
// logistic slope has an error of 16 u, see ScoreRange.SlopeErr.
func (k *EmbeddedKernel) coefficientError() float64 {
	q := k.bounds.Slope()
	if !k.bounds.Smooth() {
		return 4 * u * q
	}
	reach := k.Bounds.FeatureNorm
	margin := engine.Gamma(kernels.MetricMarginDepth(k.Dim)+kernels.DotDepth(k.Dim)) * k.labels() * (2 + 4*reach*reach)
	return k.bounds.Curvature*margin + k.bounds.SlopeError + 20*u*q
}

// Error returns a bound of sum_i ||computed V_i - V_i|| for every data set within the bounds. The exact
// V_i is defined as in engine.QueryBounds.Sum.
//
// Proof. Let a_i be the weights of rows (1, or 1/m for a person with m rows). The a_i add up to N. Let d_ij
// = f_i - f_j. V_i is -2 a_i sum_j a_j c_ij f_j for Inner, 4 a_i sum_j a_j c_ij d_ij for SquaredDistance,
// and 2 a_i sum_j a_j c_ij d_ij for Differences. If every c_ij has an error of at most q E, the sum over i
// of the norms of the errors is at most N^2 q E S, with S = 2F for Inner and 8F for SquaredDistance. A
// product a_i a_j c_ij f_j takes part in at most depth roundings, and the norms of these products add up to
// at most N^2 q Q S. For Differences, every coordinate of d_ij is rounded once, relative to itself. So the
// products, whose norms add up to at most N^2 2 Size, have this rounding error. Weights add 8 u. Fewer than
// 2^4 rows^2 products in each coordinate can underflow. QED
func (k *EmbeddedKernel) Error() float64 {
	n, reach, sums := float64(k.N), k.Bounds.FeatureNorm, engine.Gamma(k.depth())
	tiny := float64(k.rows) * float64(k.rows) * float64(k.Dim) * (1 + reach) * (1 + reach) * (1 + k.labels()) * (1 + k.bounds.Slope() + k.Size) * 0x1p-1000
	if k.Form == Differences {
		return n*n*2*k.Size*(sums+8*u)*secondOrder + tiny
	}
	factor := 2 * reach
	if k.Form == SquaredDistance {
		factor = 8 * reach
	}
	return n*n*k.labels()*factor*(k.coefficientError()+(sums+8*u)*k.bounds.Slope())*secondOrder + tiny
}

// depth returns a bound of the number of roundings of a product. As a term of a row, a product takes part
// in the sums over the tiles of a panel and over the panels. As a term of a column, it takes part in the
// sums over the rows of a block, the blocks of a stripe and the stripes. depth is nondecreasing in the
// number of rows.
func (k *EmbeddedKernel) depth() int {
	row := kernels.MetricTileCols + k.panel/metricCols + 4 + (k.rows+k.panel-1)/k.panel
	blocks := (k.rows + metricRows - 1) / metricRows
	col := kernels.PairDepth(metricRows) + metricRows + (blocks+metricStripes-1)/metricStripes + metricStripes + bits.Len(uint(k.rows))
	return row + col + 8
}

// EmbeddedSums computes sums for the labels and persons given to BindEmbedded. It is used from one goroutine at a time.
type EmbeddedSums struct {
	*EmbeddedKernel
	rows, stripe int
	width        int // columns of a panel, at most the number of rows
	y            []float64
	zeros        []float64
	persons      *rowsOfPersons

	own, rowSum, colSum []float64
	f, half             []float64 // n x m: the embeddings, and the matrix that a block multiplies
	colx                []float64 // n x stride: sums of columns
	partial, partialCol []float64 // partial sums of slots
	work                []pairScratch
}

type pairScratch struct {
	block             kernels.PairBlock
	persons           *kernels.MetricPersonBlock
	cx, row, col, sum []float64
}

// BindEmbedded returns the sums for the labels and persons of r.
func (k *EmbeddedKernel) BindEmbedded(r *engine.Records) (*EmbeddedSums, error) {
	if r.Units() != k.N || r.ByPerson() != (k.PersonRows > 0) || r.Len() > k.rows ||
		r.Bounds().LabelAbs != k.Bounds.LabelAbs {
		return nil, fmt.Errorf("cpu: BindEmbedded: the records do not match the plan for %d records", k.N)
	}
	n := r.Len()
	blocks := (n + metricRows - 1) / metricRows
	e := &EmbeddedSums{EmbeddedKernel: k, rows: n, stripe: (blocks + metricStripes - 1) / metricStripes * metricRows,
		width: min(k.panel, n), y: r.Labels(), zeros: make([]float64, metricCols), persons: newRowsOfPersons(r)}
	return e, nil
}

func (e *EmbeddedSums) stripes() int { return (e.rows + e.stripe - 1) / e.stripe }

// slots returns the number of stripes whose column sums are held at the same time. It does not change results.
func (e *EmbeddedSums) slots() int {
	return min(e.stripes(), max(maxPartials/(e.width*kernels.GramStride(e.Dim)), e.workers))
}

// start allocates the scratch space.
func (e *EmbeddedSums) start() {
	n, m, stride := e.rows, e.Dim, kernels.GramStride(e.Dim)
	e.own, e.rowSum, e.colSum, e.colx = make([]float64, n), make([]float64, n), make([]float64, n),
		make([]float64, n*stride)
	e.partial, e.partialCol = make([]float64, e.slots()*e.width*stride), make([]float64, e.slots()*e.width)
	if e.Form == Inner {
		e.half = make([]float64, n*m)
	}
	for range min(e.workers, e.stripes()) {
		s := pairScratch{cx: make([]float64, metricRows*m), row: make([]float64, metricRows),
			col: make([]float64, metricCols), sum: make([]float64, metricCols*stride)}
		switch {
		case e.Form == Differences:
		case e.persons != nil:
			s.persons = kernels.NewMetricPersonBlock(metricRows, m,
				kernels.MetricPersons{Weight: e.persons.weight, Next: e.persons.next}, e.slopes)
			s.block = s.persons
		default:
			s.block = e.set.NewMetricBlock(metricRows, m, e.slopes).(kernels.PairBlock)
		}
		e.work = append(e.work, s)
	}
}

// Close drops the scratch space.
func (e *EmbeddedSums) Close() {
	e.own, e.rowSum, e.colSum, e.f, e.half, e.colx, e.partial, e.partialCol, e.work = nil, nil, nil, nil, nil,
		nil, nil, nil, nil
}

// Sum sets the rows of v (rows x m) to
//
//	V_i = a_i sum over rows j of other records of a_j (a_ij + b_ji),
//
// where row j belongs to another record. Row i has weight a_i (1 if each row is a record). a_ij is the slope
// of the loss of (f_i, f_j) in f_i. The slope b_ji of the loss of (f_j, f_i) in f_i is equal to a_ij. The
// rows of f are the embeddings and have norms of at most Bounds.FeatureNorm. Every pair is computed once.
func (e *EmbeddedSums) Sum(ctx context.Context, v, f []float64) error {
	n, m, stride := e.rows, e.Dim, kernels.GramStride(e.Dim)
	if e.work == nil {
		e.start()
	}
	e.f = f
	for i := range n {
		e.own[i] = 1
		if e.Form == SquaredDistance {
			row := f[i*m:][:m]
			e.own[i] = e.set.Dot(row, row)
		}
	}
	for i := range e.half {
		e.half[i] = f[i] / 2
	}
	clear(e.rowSum)
	clear(e.colSum)
	clear(e.colx)
	clear(v[:n*m])
	for p0 := 0; p0 < n; p0 += e.width {
		p1 := min(p0+e.width, n)
		jobs, slots := (p1+e.stripe-1)/e.stripe, e.slots()
		for first := 0; first < jobs; first += slots {
			count := min(slots, jobs-first)
			err := forEach(ctx, len(e.work), count, func(worker, slot int) {
				colx, col := e.partial[slot*e.width*stride:][:(p1-p0)*stride], e.partialCol[slot*e.width:][:p1-p0]
				clear(colx)
				clear(col)
				e.stripePairs(ctx, &e.work[worker], v, colx, col, first+slot, p0, p1)
			})
			if err != nil {
				return err
			}
			for slot := range count {
				addTo(e.colx[p0*stride:p1*stride], e.partial[slot*e.width*stride:][:(p1-p0)*stride])
				addTo(e.colSum[p0:p1], e.partialCol[slot*e.width:][:p1-p0])
			}
		}
	}
	for i := range n {
		to, columns := v[i*m:][:m], e.colx[i*stride:][:m]
		c := e.rowSum[i] + e.colSum[i]
		for k := range to {
			switch sum := to[k] + columns[k]; e.Form {
			case Inner:
				to[k] = -2 * sum
			case SquaredDistance:
				to[k] = 4 * (c*f[i*m+k] - sum)
			case Differences:
				to[k] = 2 * sum
			}
		}
	}
	return nil
}

// stripePairs adds the pairs of a stripe of rows with the columns from p0 to p1. It adds the sums of
// rows to v and rowSum, and the sums of columns to colx and col. It returns early when ctx is done.
func (e *EmbeddedSums) stripePairs(ctx context.Context, s *pairScratch, v, colx, col []float64, job, p0, p1 int) {
	m, stride := e.Dim, kernels.GramStride(e.Dim)
	for i0 := job * e.stripe; i0 < min((job+1)*e.stripe, e.rows, p1); i0 += metricRows {
		rows := min(metricRows, e.rows-i0)
		f := e.f[i0*m:][:rows*m]
		if s.block != nil {
			left := f
			if e.Form == Inner {
				left = e.half[i0*m:][:rows*m]
			}
			if s.persons != nil {
				s.persons.At(i0, i0)
			}
			s.block.StartPairs(left, f, e.own[i0:i0+rows], e.y[i0:i0+rows])
		}
		for c0 := max(p0, i0); c0 < p1 && ctx.Err() == nil; c0 += metricCols {
			count := min(metricCols, p1-c0)
			sum := s.sum[:count*stride]
			clear(sum)
			if s.block == nil {
				e.differences(v[i0*m:][:rows*m], sum, i0, c0, count)
			} else {
				part := s.col[:count]
				clear(part)
				if s.persons != nil {
					s.persons.At(i0, c0)
				}
				s.block.AddPairs(part, sum, e.f[c0*m:][:count*m], e.columns(c0, count), e.y[c0:c0+count], i0-c0+1)
				addTo(col[c0-p0:][:count], part)
			}
			addTo(colx[(c0-p0)*stride:][:count*stride], sum)
		}
		if s.block == nil {
			continue
		}
		cx, row := s.cx[:rows*m], s.row[:rows]
		clear(cx)
		clear(row)
		s.block.Sums(cx, row)
		addTo(e.rowSum[i0:i0+rows], row)
		for k := range m {
			for i, x := range cx[k*rows:][:rows] {
				v[(i0+i)*m+k] += x
			}
		}
	}
}

// columns returns the t_j of a tile.
func (e *EmbeddedSums) columns(from, count int) []float64 {
	if e.Form == Inner {
		return e.zeros[:count]
	}
	return e.own[from:][:count]
}

// differences adds the pairs of a tile for Differences. It adds c (f_i - f_j) to v of row i, and the
// negative vector to sum of column j. It includes only pairs of rows of different persons.
func (e *EmbeddedSums) differences(v, sum []float64, i0, c0, count int) {
	m, stride := e.Dim, kernels.GramStride(e.Dim)
	for i := 0; i*m < len(v); i++ {
		first := i0 + i + 1
		if e.persons != nil {
			first = int(e.persons.next[i0+i])
		}
		fi, to := e.f[(i0+i)*m:][:m], v[i*m:][:m]
		for j := max(first-c0, 0); j < count; j++ {
			fj, other := e.f[(c0+j)*m:][:m], sum[j*stride:][:m]
			var square float64
			for k, a := range fi {
				d := a - fj[k]
				square += float64(d * d)
			}
			c := e.Coefficient(square, e.y[i0+i] == e.y[c0+j])
			if e.persons != nil {
				c *= e.persons.weight[i0+i] * e.persons.weight[c0+j]
			}
			if c == 0 {
				continue
			}
			for k, a := range fi {
				d := c * (a - fj[k])
				to[k] += d
				other[k] -= d
			}
		}
	}
}
