package embedding

import (
	"fmt"

	"dyad/engine"
	"dyad/kernels"
)

// steepest keeps products with numbers that underflow below 2^-800. A term has fewer than 2^40 such products.
const steepest = 0x1p200

// Batch computes the embeddings of a batch of records, bounds of the norms of the gradients of the cosines f_i.f_j, and the
// sums J_1^T v_1 + ... + J_n^T v_n. Embeddings and bounds are functions of one or two records and theta alone, bit for bit.
// This follows from the promises of Network and from the plain kernels, whose bits are the same on every machine. Cosine
// and Length may be called from several goroutines. All other methods are used from one goroutine at a time.
type Batch struct {
	pass    *modelPass
	model   Model
	d, m, n int
	room    int // records that there is space for
	x       []float64
	f       []float64 // n x m
	usable  []bool
	factors vectorFactors
	exact   bool      // factors tell lengths
	bounds  []float64 // of the norms of Jacobians, in the place of factors
	again   []float64 // BlockRows x m
	norms   []float64
}

// NewBatch returns a Batch of the model for records of norm at most norm. It returns an error if the model cannot be
// trained or its outputs are not of unit length (Output.Unit). For an MLP with at most one hidden layer and at most 8192
// inputs and units, the norms of gradients are computed from factors. For other networks they are bounded by the norms of
// the Jacobians.
func (m Model) NewBatch(norm float64) (*Batch, error) {
	pass, err := m.plainPass()
	switch {
	case err != nil:
		return nil, err
	case !m.Output.Unit:
		return nil, fmt.Errorf("embedding: a batch softmax compares cosines, and the outputs of network %s are not of unit length; set Output.Unit", m.Network.Name())
	}
	d, dim := m.Dims()
	return &Batch{pass: pass, model: m, d: d, m: dim, exact: m.hasVectorFactors(norm), again: make([]float64, BlockRows*dim), norms: make([]float64, BlockRows)}, nil
}

// Set takes theta, which must not change until the next Set.
func (b *Batch) Set(theta []float64) { b.pass.Set(theta) }

// Embed computes the n records in the rows of x (n x d) and reports which are usable. x must not change until the next
// Embed. A record is usable if its embedding and its Jacobian are finite. Without factors, the norm of its Jacobian must
// also be at most 2^200. Length and Pull are undefined if a record is not usable.
func (b *Batch) Embed(x []float64, n int) []bool {
	if n > b.room {
		b.room = n
		b.f, b.usable = make([]float64, n*b.m), make([]bool, n)
		if b.bounds = make([]float64, n); b.exact {
			b.factors = newVectorFactors(b.model.Network.(MLP), b.model.Output, n)
		}
	}
	b.x, b.n = x, n
	for from := 0; from < n; from += BlockRows {
		count := min(BlockRows, n-from)
		f := b.f[from*b.m:][:count*b.m]
		b.pass.embed(f, b.norms, x[from*b.d:], count)
		if copy(b.bounds[from:], b.norms[:count]); b.exact {
			b.factors.set(b.pass, f, from, count)
		}
		for i := range count {
			b.usable[from+i] = usable(f[i*b.m:][:b.m], b.norms[i]) && (b.exact || b.norms[i] <= steepest)
		}
	}
	return b.usable[:n]
}

// Embedding returns f_i. The caller must not change it.
func (b *Batch) Embedding(i int) []float64 { return b.f[i*b.m:][:b.m] }

// Cosine returns the computed f_i.f_j, clamped to [-1, 1]. It returns the same bits if i and j are exchanged.
func (b *Batch) Cosine(i, j int) float64 {
	return kernels.Clamp(dot(b.Embedding(i), b.Embedding(j)), -1, 1)
}

// Length returns at least the norm of the gradient of f_i.f_j in theta, J_i^T f_j + J_j^T f_i, for the embeddings and
// Jacobians as computed (docs/theory.md#networks). It returns the same bits if i and j are exchanged. Without factors it is
// ||J_i|| + ||J_j||, since embeddings have norm at most 1 up to a rounding.
func (b *Batch) Length(i, j int) float64 {
	if !b.exact {
		return (b.bounds[i] + b.bounds[j]) * (1 + 0x1p-40)
	}
	i, j = min(i, j), max(i, j)
	f, g := b.Embedding(i), b.Embedding(j)
	return b.factors.length(f, g, dot(f, g), 0, i, j)
}

// Pull adds the sum of J_i^T v_i over the records of the last Embed to grad. It overwrites v (n x m).
func (b *Batch) Pull(grad, v []float64) {
	for from := 0; from < b.n; from += BlockRows {
		count := min(BlockRows, b.n-from)
		b.pass.embed(b.again, b.norms, b.x[from*b.d:], count)
		b.pass.pull(grad, v[from*b.m:], nil, count)
	}
}

// BatchError bounds the error of a Pull into zeros: its distance from the exact sum of J_i^T v'_i over at most n records
// of norm at most norm. The bound holds for theta in the balls and v' with sum_i ||v'_i|| <= total and sum_i ||v_i -
// v'_i|| <= off. Without factors, the sums of ||J_i|| ||v'_i|| and ||J_i|| ||v_i - v'_i|| must also be at most clip
// total and clip off.
//
// Proof. ||J_i|| of an MLP is at most the Size of PullError times the steepest slope of the stage, 1/SmallestNorm. This
// gives the first line. For other networks Size does not bound ||J_i||. But each line is a sum of products of
// Size/SmallestNorm or ||J_i|| with norms of v, so clip bounds the second part. The numbers that underflow in v, times at
// most 2^200, are below 2^-50 of the other errors for clips from 2^-100. (2) and (3) are as in kernel.roundoff, with one
// addition to grad for each block. QED
func (m Model) BatchError(norm float64, n int, total, off, clip float64) float64 {
	pull := m.Network.PullError(norm)
	_, dim := m.Dims()
	total += off
	limit := pull.Size / SmallestNorm
	if !m.hasVectorFactors(norm) {
		limit += clip
	}
	first := limit * off
	stage := engine.Gamma(kernels.DotDepth(dim)+12) * 2 * limit * total
	blocks := (n + BlockRows - 1) / BlockRows
	back := engine.Gamma(pull.Depth+blocks+2) * (limit + pull.PerNorm*limit) * total
	return (first+stage+back)*1.01 + float64(blocks+1)*pull.Tiny*(1+total)
}
