package embedding

import (
	"context"
	"fmt"

	"dyad/engine"
	"dyad/kernels"
)

// steepest keeps products with numbers that underflow below 2^-800. A term has fewer than 2^40 such products.
const steepest = 0x1p200

// Batch computes the embeddings of batches of the records of one data set, bounds of the norms of the gradients of the
// cosines f_i.f_j, and the sums J_1^T v_1 + ... + J_n^T v_n. Embeddings and bounds are functions of one or two
// records and theta alone, bit for bit. This follows from the promises of Network and from the plain kernels, whose
// bits are the same on every machine. Cosine and Length may be called from several goroutines. All other methods are
// used from one goroutine at a time.
type Batch struct {
	pass    *modelPass
	model   Model
	d, m, n int
	room    int       // records that there is space for
	data    []float64 // rows of all records
	x       []float64 // n x d, of the last Embed
	f       []float64 // n x m
	usable  []bool
	factors vectorFactors
	exact   bool      // factors tell lengths
	bounds  []float64 // of the norms of Jacobians, in the place of factors
	again   []float64 // BlockRows x m
	norms   []float64
	there   *remote // nil: here
}

// remote is a device with the records of a Batch.
type remote struct {
	TermRows
	given
	members  []int32   // of the last Embed
	g, norms []float64 // what the device has for them
}

// NewBatch returns a Batch of the model for the records in the rows of x, which have norm at most norm. It returns
// an error if the model cannot be trained or its outputs are not of unit length (Output.Unit). For an MLP with at
// most one hidden layer and at most 8192 inputs and units, the norms of gradients are computed from factors. For
// other networks they are bounded by the norms of the Jacobians.
func (m Model) NewBatch(norm float64, x []float64) (*Batch, error) {
	pass, err := m.plainPass()
	if err != nil {
		return nil, err
	}
	return m.newBatch(pass, x, m.hasVectorFactors(norm))
}

func (m Model) newBatch(pass *modelPass, x []float64, exact bool) (*Batch, error) {
	if !m.Output.Unit {
		return nil, fmt.Errorf("embedding: a batch softmax needs outputs of unit length, but network %s has "+
			"others; set Output.Unit", m.Network.Name())
	}
	d, dim := m.Dims()
	return &Batch{pass: pass, model: m, d: d, m: dim, data: x, exact: exact, again: make([]float64, BlockRows*dim),
		norms: make([]float64, BlockRows)}, nil
}

// NewBatchOn is NewBatch with a device that computes the network. The norms of gradients are bounded by the norms of
// the Jacobians for every network. It returns an error wrapping engine.ErrUnsupported if the device does not compute
// the model. Close frees the memory of the device.
func (m Model) NewBatchOn(on TermAccelerator, norm float64, x []float64) (*Batch, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	there := &remote{given: given{reach: m.Network.Reach(norm)}}
	b, err := m.newBatch(m.passOf(&there.given), x, false)
	if err != nil {
		return nil, err
	}
	if there.TermRows, err = on.BindTerms(TermsProblem{Network: m.Network, Norm: norm, X: x, Size: 1}); err != nil {
		return nil, err
	}
	b.there = there
	return b, nil
}

// Close frees the memory of a device.
func (b *Batch) Close() error {
	if b.there == nil {
		return nil
	}
	return b.there.Close()
}

// Begin begins a batch at theta, which must not change until the next Begin. total must bound the sum of ||J_i||
// ||v_i|| over the rows of the next Pull. A device derives the unit of its integers from total.
func (b *Batch) Begin(ctx context.Context, theta []float64, total float64) error {
	if b.there != nil {
		return b.there.Begin(ctx, theta, total*1.01)
	}
	b.pass.Set(theta)
	return nil
}

// Embed computes the embeddings of the records whose numbers are in members, and reports which records are usable. A
// number may occur several times. A record is usable if its embedding and its Jacobian are finite. Without factors,
// the norm of its Jacobian must also be at most 2^200. Length and Pull are undefined if a record is not usable.
func (b *Batch) Embed(ctx context.Context, members []int32) ([]bool, error) {
	if b.n = len(members); b.there == nil {
		b.x = grow(b.x, b.n*b.d)
		for i, at := range members {
			copy(b.x[i*b.d:], b.data[int(at)*b.d:][:b.d])
		}
	} else {
		t := b.there
		t.members, t.g, t.norms = members, grow(t.g, b.n*b.m), grow(t.norms, b.n)
		if err := b.slices(func(from, to int) error { return b.embedSlice(ctx, from, to) }); err != nil {
			return nil, err
		}
	}
	b.embed()
	return b.usable[:b.n], nil
}

// slices calls do for the parts of a batch that the device has room for.
func (b *Batch) slices(do func(from, to int) error) error {
	for from := 0; from < b.n; from += b.there.Room() {
		if err := do(from, min(from+b.there.Room(), b.n)); err != nil {
			return err
		}
	}
	return nil
}

func (b *Batch) embedSlice(ctx context.Context, from, to int) error {
	t := b.there
	return t.TermRows.Embed(ctx, t.g[from*b.m:to*b.m], t.norms[from:to], t.members[from:to])
}

// block computes count records of the batch, f of them.
func (b *Batch) block(f []float64, from, count int) {
	var x []float64
	if t := b.there; t != nil {
		t.given.g, t.given.norms = t.g[from*b.m:], t.norms[from:]
	} else {
		x = b.x[from*b.d:]
	}
	b.pass.embed(f, b.norms, x, count)
}

func (b *Batch) embed() {
	n := b.n
	if n > b.room {
		b.room = n
		b.f, b.usable = make([]float64, n*b.m), make([]bool, n)
		if b.bounds = make([]float64, n); b.exact {
			b.factors = newVectorFactors(b.model.Network.(MLP), b.model.Output, n)
		}
	}
	for from := 0; from < n; from += BlockRows {
		count := min(BlockRows, n-from)
		f := b.f[from*b.m:][:count*b.m]
		b.block(f, from, count)
		if copy(b.bounds[from:], b.norms[:count]); b.exact {
			b.factors.set(b.pass, f, from, count)
		}
		for i := range count {
			b.usable[from+i] = usable(f[i*b.m:][:b.m], b.norms[i]) && (b.exact || b.norms[i] <= steepest)
		}
	}
}

// Embedding returns f_i. The caller must not change it.
func (b *Batch) Embedding(i int) []float64 { return b.f[i*b.m:][:b.m] }

// Cosine returns the computed f_i.f_j, clamped to [-1, 1]. It returns the same bits if i and j are exchanged.
func (b *Batch) Cosine(i, j int) float64 {
	return kernels.Clamp(dot(b.Embedding(i), b.Embedding(j)), -1, 1)
}

// Length returns an upper bound of the norm of the gradient of f_i.f_j in theta. The gradient is J_i^T f_j + J_j^T
// f_i with the computed f and J (docs/theory.md#networks). If i and j are exchanged, the bits are the same.
// Without factors the bound is ||J_i|| + ||J_j||, because the norm of an embedding is at most 1, up to a rounding.
func (b *Batch) Length(i, j int) float64 {
	if !b.exact {
		return (b.bounds[i] + b.bounds[j]) * (1 + 0x1p-40)
	}
	i, j = min(i, j), max(i, j)
	f, g := b.Embedding(i), b.Embedding(j)
	return b.factors.length(f, g, dot(f, g), 0, i, j)
}

// Pull sets grad to the sum of J_i^T v_i over the records of the last Embed, at the theta of Begin. It overwrites v
// (n x m).
func (b *Batch) Pull(ctx context.Context, grad, v []float64) error {
	clear(grad)
	for from := 0; from < b.n; from += BlockRows { // on a device only the stage of the output
		count := min(BlockRows, b.n-from)
		b.block(b.again[:count*b.m], from, count)
		b.pass.pull(grad, v[from*b.m:], nil, count)
	}
	if b.there == nil {
		return ctx.Err()
	}
	err := b.slices(func(from, to int) (err error) {
		if b.n > b.there.Room() { // the device has the last slice
			err = b.embedSlice(ctx, from, to)
		}
		if err == nil {
			err = b.there.Add(ctx, v[from*b.m:to*b.m])
		}
		return err
	})
	if err != nil {
		return err
	}
	return b.there.Sum(ctx, grad)
}

// BatchError bounds the distance of the result of a Pull from the exact sum of J_i^T v'_i. The Pull has at most n
// records, the norm of each record is at most `norm`, and theta is in the balls. The v'_i are any vectors with sum_i
// ||v'_i|| <= total and sum_i ||v_i - v'_i|| <= off. Without factors, sum_i ||J_i|| ||v'_i|| <= clip * total and sum_i
// ||J_i|| ||v_i - v'_i|| <= clip * off must hold, too. A device works without factors. The bound holds there, too, so
// plans do not depend on the device.
//
// Proof. ||J_i|| of an MLP is at most the Size of PullError times the steepest slope of the stage, 1/SmallestNorm. This
// gives the first line. For other networks Size does not bound ||J_i||. But each line is a sum of products of
// Size/SmallestNorm or ||J_i|| with norms of v, so clip bounds the second part. The numbers that underflow in v, times
// at most 2^200, are below 2^-50 of the other errors for clips from 2^-100. (2) and (3) are as in kernel.roundoff, with
// one addition to grad for each block. On a device, the error consists of the first two lines with clip alone and of
// the error that TermRows states for terms of one record. QED
func (m Model) BatchError(norm float64, n int, total, off, clip float64) float64 {
	pull := m.Network.PullError(norm)
	_, dim := m.Dims()
	total += off
	limit := pull.Size / SmallestNorm
	if !m.hasVectorFactors(norm) {
		limit += clip
	}
	stage := engine.Gamma(kernels.DotDepth(dim)+12) * 2
	blocks := (n + BlockRows - 1) / BlockRows
	back := engine.Gamma(pull.Depth+blocks+2) * (limit + pull.PerNorm*limit) * total
	here := (limit*off+stage*limit*total+back)*1.01 + float64(blocks+1)*pull.Tiny*(1+total)
	there := clip * (off + (stage+SinglesError(m.Network, n))*total) * 1.01
	return max(here, there)
}
