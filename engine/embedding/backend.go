package embedding

import (
	"fmt"
	"math/bits"
	"runtime"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/kernels"
)

// Backend computes gradients of a Loss on the CPU. The zero value uses all processors.
type Backend struct {
	// Workers is the number of goroutines of an Evaluator. If it is 0 or less, GOMAXPROCS applies. Workers
	// changes the running time but not the result.
	Workers int
	// Method is the method for sums over pairs of scores, which are used for Score losses. The zero value is cpu.Auto.
	Method cpu.Method
	// Variant selects the implementation of the inner loops. The zero value selects the fastest implementation.
	// The bits of results depend on Variant.
	Variant kernels.Variant
	// Float32 must be false. If Float32 is true, Plan returns an error that states the reason.
	Float32 bool
	// On computes networks on another device, e.g. on a GPU. If it is nil, networks are computed on the CPU.
	// Sums over pairs are always computed on the CPU.
	On Accelerator
}

var _ engine.Backend = Backend{}

// Name returns "cpu", or the name of On.
func (b Backend) Name() string {
	if b.On != nil {
		return b.On.Name()
	}
	return "cpu"
}

// The fixed grid of step 3.
const (
	maxChunks   = 64      // of rows; they are the jobs
	maxPartials = 4 << 20 // numbers in partial sums
)

// kernel is a planned problem with a Loss. It is immutable.
type kernel struct {
	problem engine.Problem
	loss    Loss
	rows    int // at most
	dim     int
	set     *kernels.Set
	workers int
	scores  engine.Kernel // of a Score loss, else nil
	pairs   *cpu.EmbeddedKernel
	slopes  engine.ScalarBounds // of a Score loss with PairClip
	bounds  PairBounds
	pull    PullError
	chunks  int

	elsewhere RowsKernel // nil: here
	grid      float64    // its error besides pull
}

// Plan returns the kernel for a problem whose loss is a Loss. The error wraps engine.ErrUnsupported for other
// losses, query groups (see engine.Grouped) and float32. If clippedPairs cannot compute a loss with PairClip,
// package cpu evaluates the loss pair by pair, and its clipping bounds each term.
func (b Backend) Plan(p engine.Problem) (engine.Kernel, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	loss, ok := p.Loss.(Loss)
	if !ok {
		return nil, fmt.Errorf("%w: loss %q is not a loss of a network", engine.ErrUnsupported, p.Loss.Name())
	}
	inner := cpu.Backend{Workers: b.Workers, Method: b.Method, Variant: b.Variant, Float32: b.Float32}
	c, err := loss.Constants(p.Bounds, p.Radius)
	if err != nil {
		return nil, err
	}
	d, m := loss.Model.Dims()
	switch {
	case d != p.D:
		return nil, fmt.Errorf("embedding: network %s takes %d features, but the problem has %d",
			loss.Model.Network.Name(), d, p.D)
	case len(p.Groups) > 0:
		return nil, fmt.Errorf("%w: this backend does not support query groups; wrap it in engine.Grouped",
			engine.ErrUnsupported)
	case b.Float32:
		return nil, fmt.Errorf("%w: networks have no proved rounding bound in float32; leave --precision out",
			engine.ErrUnsupported)
	case loss.PairClip > 0 && b.On != nil:
		return nil, fmt.Errorf("%w: %s cannot clip the pairs of a network; set Loss.Clip instead, or use the CPU "+
			"(--device cpu)", engine.ErrUnsupported, b.Name())
	case loss.PairClip > 0 && !loss.hasFactors(p.Bounds):
		return inner.Plan(p)
	}
	k := &kernel{problem: p, loss: loss, rows: p.MaxRows(), dim: m, workers: b.Workers,
		pull: loss.Model.Network.PullError(p.Bounds.FeatureNorm)}
	if k.workers <= 0 {
		k.workers = runtime.GOMAXPROCS(0)
	}
	if k.set, err = kernels.Select(b.Variant); err != nil {
		return nil, fmt.Errorf("%w: Backend.Variant: %w", engine.ErrUnsupported, err)
	}
	if k.bounds, err = loss.bounds(p.Bounds); err != nil {
		return nil, err
	}
	k.chunks = max(1, min(maxChunks, maxPartials/loss.ParamDim(d)))
	if err := k.planPairs(inner); err != nil {
		return nil, err
	}
	if b.On != nil { // steps 1 and 3 are there
		limit, _, total := k.sizes()
		k.elsewhere, err = b.On.PlanRows(RowsProblem{Network: loss.Model.Network, Norm: p.Bounds.FeatureNorm, Rows: k.rows,
			Most: 1.01 * limit * total})
		if err != nil {
			return nil, err
		}
		k.pull, k.grid = k.elsewhere.PullError()
	}
	if e := k.roundoff() / float64(engine.AllPairs{N: p.N}.Len()); !(e < 0x1p-10*c.Lipschitz) {
		return nil, fmt.Errorf("%w: the rounding errors of loss %s are too large: %.3g times a pair gradient; "+
			"reduce the radii of the layers", engine.ErrUnsupported, loss.Name(), e/c.Lipschitz)
	}
	return k, nil
}

// PlanMoments implements engine.Backend. It returns an error because this backend has no moments.
func (Backend) PlanMoments(engine.Problem) (engine.Kernel, error) {
	return nil, fmt.Errorf("%w: the backend of networks does not compute moments", engine.ErrUnsupported)
}

// planPairs plans the sums over pairs.
func (k *kernel) planPairs(b cpu.Backend) (err error) {
	p, pair := k.problem, k.loss.Pair
	e := cpu.EmbeddedPairs{N: p.N, PersonRows: p.PersonRows, Dim: k.dim,
		Bounds: engine.Bounds{FeatureNorm: k.loss.Model.Reach(p.Bounds.FeatureNorm), LabelAbs: p.Bounds.LabelAbs}}
	of, margin := pair.scalar(p.Bounds, e.Bounds.FeatureNorm)
	if k.loss.PairClip > 0 {
		if of != nil {
			k.slopes, err = slopesOn(of, margin)
		}
		return err
	}
	switch l := pair.(type) {
	case Score:
		k.scores, err = b.Plan(engine.Problem{N: p.N, D: 1, Bounds: e.Bounds, Loss: l.scoreLoss(), Radius: 1,
			LabelValues: p.LabelValues, PersonRows: p.PersonRows})
		return err
	case Bilinear:
		e.Form, e.Of = cpu.Inner, of
	case Distance:
		e.Form, e.Of = cpu.SquaredDistance, of
	case Contrastive:
		e.Form, e.Coefficient, e.Size = cpu.Differences, l.Coefficient, k.bounds.Slope
	}
	k.pairs, err = b.PlanEmbedded(e)
	return err
}

// Problem returns the planned problem.
func (k *kernel) Problem() engine.Problem { return k.problem }

// Method describes how the kernel computes the sums over pairs and the backward passes.
func (k *kernel) Method() string {
	if k.loss.PairClip > 0 {
		return "direct, pairs clipped by products of factors of Jacobians, one backward pass per record"
	}
	sums, pass := "direct sums of embeddings", "one backward pass per record"
	if k.scores != nil {
		sums = k.scores.Method() + " sums of scores"
	}
	if k.elsewhere != nil {
		pass = k.elsewhere.Method()
	}
	return sums + ", " + pass
}

// steepest bounds the factor by which the output stage multiplies a record's v before Network.Pull, without the
// factor of Clip. It is above 1 only for Output.Unit.
func (k *kernel) steepest() float64 {
	if k.loss.Model.Output.Unit {
		return 1 / SmallestNorm
	}
	return 1
}

// roundoff is engine.QueryBounds.Sum for all pairs. Here "exact" means the sum of the pairs' terms for the
// embeddings f_i, the norms and the Jacobians as they are computed. Each of these is a function of its record
// and theta alone, bit for bit. So a term depends on its two records and theta alone, and the term obeys
// Constants (docs/theory.md#networks).
//
// Proof. Let a_i be the weights of rows, and let T = 2 N (N - 1) A, which bounds sum_i a_i ||V_i||. Let C be the
// clipping norm. Let q_i be the scale over the stage's factor. (1) The computed V_i are within E of the exact
// V_i, in sum over i. The matrices q_i J_i^T P_i of step 3 have norms of at most C. This gives an error of at
// most C E. (2) Before Pull, v is q_i (v - g (g.v)/r) with ||g||^2 <= r up to roundings. Computing v takes at
// most DotDepth(m) + 12 roundings of numbers whose absolute values have a norm of at most 2 q_i ||v||, and
// ||J_i|| q_i <= C. (3) A product of Pull is rounded Depth times, once for each block of a chunk and once for
// each level of the tree of chunks. The absolute values of the products have norms of at most (Size + PerNorm
// ||J_i||) q_i ||V_i||. Each line is raised for the errors of the other lines. QED
//
// With PairClip, the terms come from clippedPairs for the computed coefficients and factors q_ij. V_i is a sum of
// fewer products than there are rows and stripes, and Size times the steepest stage bounds ||J_i||. So (1) and
// (2) hold with this bound in the place of C and with E = gamma(rows + clipStripes + 12) 2 T, since a difference
// of embeddings is two products.
//
// With an Accelerator, (3) has no blocks, and the roundings of the accelerator to its grid are added.
func (k *kernel) roundoff() float64 {
	limit, sums, total := k.sizes()
	stage := engine.Gamma(kernels.DotDepth(k.dim)+12) * 2 * limit * total
	blocks, levels, tiny := k.blocksOfChunk(), bits.Len(uint(k.chunks)), float64(k.blocksOfChunk()*k.chunks+1)
	if k.elsewhere != nil {
		blocks, levels, tiny = 0, 0, 1
	}
	back := engine.Gamma(k.pull.Depth+blocks+levels+2) * (k.pull.Size*k.steepest() + k.pull.PerNorm*limit) * total
	return (limit*sums+stage+back+k.grid)*1.01 + tiny*k.pull.Tiny*(1+total)
}

// sizes returns C, E and T of the proof of roundoff, with the errors of the V_i included.
func (k *kernel) sizes() (limit, sums, total float64) {
	n, limit := float64(k.problem.N), k.loss.Clip*up
	if k.loss.PairClip > 0 {
		limit, sums = k.pull.Size*k.steepest(), engine.Gamma(k.rows+clipStripes+12)*4*n*n*k.bounds.Slope
	} else if k.scores != nil {
		sums = cpu.ScoreSumsError(k.scores)
	} else {
		sums = k.pairs.Error()
	}
	return limit, sums, 2*n*n*k.bounds.Slope + sums
}

// blocksOfChunk is the largest number of blocks of a chunk.
func (k *kernel) blocksOfChunk() int {
	blocks := (k.rows + BlockRows - 1) / BlockRows
	return (blocks + k.chunks - 1) / k.chunks
}

// Nanoseconds of one core with AVX-512, from BenchmarkGradient.
const (
	nsRecord    = 400 // of a record
	nsParameter = 0.5 // of a record and parameter
	nsPair      = 1.7 // of a pair, and of each of its dimensions:
	nsDimension = 0.1
	nsFormula   = 13  // of a pair whose slope is not the logistic one
	nsPlain     = 1.5 // of a dimension, for Contrastive
	nsClipped   = 20  // of a pair with PairClip, and of each number of a row of factors, of scores and of vectors:
	nsScore     = 0.22
	nsVector    = 1.7
)

// Bounds implements engine.Kernel.
func (k *kernel) Bounds(q engine.Query) engine.QueryBounds {
	if !q.IsPlain() || q.Pairs != (engine.AllPairs{N: k.problem.N}) {
		return engine.Unanswered()
	}
	return engine.QueryBounds{Sum: k.roundoff(), Seconds: k.seconds()}
}

func (k *kernel) seconds() float64 {
	n, m := float64(k.rows), float64(k.dim)
	records := n * (nsRecord + nsParameter*float64(k.loss.ParamDim(k.problem.D))) * 1e-9
	if k.elsewhere != nil {
		records = k.elsewhere.Seconds()
	}
	var pair float64
	if k.loss.PairClip > 0 {
		factor := nsVector
		if _, score := k.loss.Pair.(Score); score {
			factor = nsScore
		}
		return records + n*n/2*1e-9*(nsClipped+factor*float64(k.loss.factorWidth()))
	}
	of, _ := k.loss.Pair.scalar(k.problem.Bounds, 1)
	switch {
	case k.scores != nil:
		return records + k.scores.Bounds(engine.Query{Pairs: engine.AllPairs{N: k.problem.N}}).Seconds
	case of == nil:
		pair = nsFormula + nsPlain*m
	default:
		pair = nsPair + nsDimension*m
		if _, logistic := of.(engine.Logistic); !logistic {
			pair += nsFormula
		}
	}
	return records + n*n/2*pair*1e-9
}
