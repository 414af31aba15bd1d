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

const (
	// blockRows is the number of records whose gradients are summed into one partial sum. tileRows is the
	// number of records that a block is paired with at a time.
	blockRows, tileRows = 64, 256
	// closest is the smallest distance of two records, relative to the norm bound, that clipping assumes. It
	// bounds the slopes and so the floating-point error.
	closest = 1.0 / 8
	// smallestDistance is the distance of W x below which two records count as one point.
	smallestDistance = 0x1p-600
)

// AllPairs computes sums of clipped gradients of the contrastive loss over all pairs of records with classes. A
// sum takes O(n^2 (d + d' + d d'/64)) operations and O(n d') memory for each worker. An AllPairs is used from
// one goroutine at a time.
type AllPairs struct {
	data    *Data
	classes []int32
	margin  float64
	rows    int
	workers int
	squares []float64 // ||x_i||^2
	z       []float64 // n x rows: W x
	partial []float64
	scratch []allPairsScratch
}

type allPairsScratch struct {
	g       []float64 // n x rows
	column  []float64 // of g
	dots, v []float64
}

// NewAllPairs returns an AllPairs over all pairs of individuals of data for a matrix of rows x Dim. The listed
// pairs of data are not used. The norm of data must be L2. If workers is below 1, one worker is used. The
// number of workers changes the running time but not the result.
func NewAllPairs(data *Data, classes []int32, loss Contrastive, rows, workers int) (*AllPairs, error) {
	n := data.graph.Len()
	switch {
	case data.norm != L2:
		return nil, fmt.Errorf("embedding: sums over all pairs need the l2 norm, not %s", data.norm)
	case rows < 1 || rows > MostRows || n < 2 || len(classes) != n:
		return nil, fmt.Errorf("embedding: got %d rows, %d individuals and %d classes; want 1 to 2^20 rows, and 2 "+
			"or more individuals with one class each", rows, n, len(classes))
	}
	a := &AllPairs{data: data, classes: classes, margin: loss.Margin, rows: rows, workers: max(workers, 1),
		squares: make([]float64, n), z: make([]float64, n*rows)}
	for i := range n {
		a.squares[i] = kernels.Dot(data.Row(i), data.Row(i))
	}
	for range a.workers {
		a.scratch = append(a.scratch, allPairsScratch{make([]float64, n*rows), make([]float64, n), make([]float64, tileRows),
			make([]float64, rows)})
	}
	return a, nil
}

// Len returns the number of entries of W.
func (a *AllPairs) Len() int { return a.rows * a.data.d }

// Sum sets dst to the sum over all pairs i < j of
//
//	c (x_i - x_j)^T min(1, clip/(||c|| max(||x_i - x_j||, R/8)))
//
// where c is the slope of the contrastive loss in v = W x_i - W x_j (Contrastive.Coefficient) and R is the norm
// bound. Each term is a function of its own two records, w and clip, and has Frobenius norm at most clip. A
// term is the gradient, clipped to norm clip, except for records closer than R/8 with ||c|| above 8 clip/R.
// AllPairsError bounds the error of the summation, for terms with the computed slopes. A slope that overflows
// counts as zero. When ctx is done, Sum returns ctx.Err().
//
// Method. Every pair is computed once, by the worker that has the block of i. Let g_k be the sum of the slopes
// c_kj of the block's pairs (k, j) minus the sum of the slopes c_ik of its pairs (i, k). Then the block's sum
// is sum_k g_k x_k^T.
//
// Clipping: ||x_i - x_j||^2 is computed as s_i + s_j - 2 x_i.x_j and raised by (depth + 8) 2^-50 R^2. This is
// more than the errors of the three products, each below gamma(depth) R^2, and of the sums. Besides the
// roundings of a norm of rows numbers, scaling has fewer than 8 roundings for each coefficient. The slack
// (rows + 32) 2^-51 covers all these roundings.
func (a *AllPairs) Sum(ctx context.Context, dst, w []float64, clip float64) error {
	n, d := a.data.graph.Len(), a.data.d
	chunks := (n + blockRows - 1) / blockRows
	a.partial = grow(a.partial, chunks*a.Len())
	err := tasks.Each(ctx, a.workers, chunks, func(_, c int) {
		for i := c * blockRows; i < min((c+1)*blockRows, n); i++ {
			for r := range a.rows {
				a.z[i*a.rows+r] = kernels.Dot(a.data.Row(i), w[r*d:])
			}
		}
	})
	if err != nil {
		return err
	}
	limit := clip * (1 - float64(a.rows+32)*0x1p-51)
	err = tasks.Each(ctx, a.workers, chunks, func(worker, c int) {
		s, from := &a.scratch[worker], c*blockRows
		g := s.g[:(n-from)*a.rows]
		a.block(s, g, from, min(from+blockRows, n), limit)
		sum := a.partial[c*a.Len():][:a.Len()]
		clear(sum)
		for r := range a.rows {
			column := s.column[:n-from]
			for k := range column {
				column[k] = g[k*a.rows+r]
			}
			kernels.AddRows(sum[r*d:(r+1)*d], column, a.data.x[from*d:])
		}
	})
	joinChunks(dst, a.partial, chunks)
	return err
}

// block sets the rows of g to g_k, k = from, ..., n-1, for the pairs (i, j) with from <= i <
// to and i < j.
func (a *AllPairs) block(s *allPairsScratch, g []float64, from, to int, limit float64) {
	n, d, rows := a.data.graph.Len(), a.data.d, a.rows
	slack := float64(kernels.DotDepth(d)+8) * 0x1p-50 * a.data.bound * a.data.bound
	shortest := closest * a.data.bound
	clear(g)
	for first := from; first < n; first += tileRows {
		last := min(first+tileRows, n)
		for i := from; i < min(to, last); i++ {
			start := max(first, i+1)
			dots := s.dots[:max(last-start, 0)]
			kernels.Dots(dots, a.data.x[start*d:], a.data.Row(i))
			zi, gi, v := a.z[i*rows:(i+1)*rows], g[(i-from)*rows:][:rows], s.v[:rows]
			for k, dot := range dots {
				j := start + k
				sum := 0.0
				for r, z := range a.z[j*rows : (j+1)*rows] {
					u := zi[r] - z
					v[r] = u
					sum += u * u
				}
				distance := math.Sqrt(sum)
				if !(sum >= 0x1p-900 && sum <= math.MaxFloat64) {
					distance = L2.of(v)
				}
				size, sign := distance, 1.0
				if a.classes[i] != a.classes[j] {
					size, sign = a.margin-distance, -1
				}
				if !(distance >= smallestDistance && distance <= math.MaxFloat64) || size <= 0 {
					continue
				}
				length := max(shortest, math.Sqrt(max(0, a.squares[i]+a.squares[j]-2*dot+slack)))
				f := sign * min(size, limit/length) / distance
				gj := g[(j-from)*rows:][:rows]
				for r, u := range v {
					c := f * u
					gi[r] += c
					gj[r] -= c
				}
			}
		}
	}
}

// AllPairsError bounds the Frobenius distance between the computed Sum over n records
// and the sum of its terms, for every data set and every w.
//
// Proof. ||c_ij|| <= 8 clip/R and ||x_i|| <= R. Each product goes through at most k roundings: n additions of
// its row of g, the additions of AddRows over n rows, and the additions of the tree. So the error of entry (r,
// e) is at most gamma(k) times the sum over all pairs of |c_ij,r| (|x_i,e| + |x_j,e|). The norm of these errors
// is at most gamma(k) n (n-1) 8 clip. Underflow adds less than 2^-1020 for each product. QED
func AllPairsError(n, rows, dim int, clip float64) float64 {
	pairs := float64(n) * float64(n-1)
	k := n + kernels.AddRowsDepth(n) + bits.Len(uint(n/blockRows+1)) + 1
	return engine.Gamma(k)*pairs*clip/closest*(1+0x1p-40) + pairs*float64(rows)*float64(dim)*0x1p-1020
}

// Objective returns the mean loss over all pairs. It is a diagnostic for public data and is not private.
func (a *AllPairs) Objective(w []float64) float64 {
	n, d := a.data.graph.Len(), a.data.d
	loss := Contrastive{Margin: a.margin}
	v := make([]float64, a.rows)
	total := 0.0
	for i := range n {
		for r := range a.rows {
			a.z[i*a.rows+r] = kernels.Dot(a.data.Row(i), w[r*d:])
		}
		row := 0.0
		for j := range i {
			for r := range v {
				v[r] = a.z[i*a.rows+r] - a.z[j*a.rows+r]
			}
			row += loss.value(dot(v, v), a.classes[i] == a.classes[j])
		}
		total += row
	}
	return total / (float64(n) * float64(n-1) / 2)
}
