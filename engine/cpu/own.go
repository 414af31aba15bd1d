package cpu

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"dyad/engine"
)

// ownKernel sums the gradients of a loss that another package defines and that is neither an
// engine.ScoreLoss nor an engine.MetricLoss. It calls AddGrad of the loss for each pair. It is
// immutable.
//
// The roundings of AddGrad are unknown, so no distance to an exact gradient is claimed. A term
// is the result of AddGrad, clipped to norm G. A term that is not finite counts as 0. So a term
// depends on its two records and w alone, and its norm is at most G for every result of
// AddGrad. This is the property that QueryBounds.Sum states for losses that are not smooth
// (docs/theory.md#pair-clipping). Replacing a record moves a term by at most 2 G. It moves the
// term by at most the Dg of the loss if Dg holds for the loss's gradients, because clipping is
// a projection onto a ball, and a projection does not increase distances.
type ownKernel struct {
	problem engine.Problem
	limit   float64 // G for Constants.Lipschitz
	workers int
	stripe  int         // rows of one job
	team    engine.Team // nil alone
}

// Losses of other packages have a fixed grid.
const (
	ownBlock   = 64      // terms in one sum before it is added to other sums
	ownStripes = 256     // largest number of jobs
	ownFloats  = 1 << 24 // largest number of floats in partial sums
)

// planOwn returns the kernel for a valid problem with any loss.
func (b Backend) planOwn(p engine.Problem) (engine.Kernel, error) {
	if b.Method == NearLinear || b.Method == Sorted {
		return nil, fmt.Errorf("%w: loss %q is not a function of scores, so only the methods Auto and Direct can "+
			"sum it", engine.ErrUnsupported, p.Loss.Name())
	}
	if p.ByPerson() {
		return nil, fmt.Errorf("%w: persons need a loss of scores or of a metric; loss %q is neither",
			engine.ErrUnsupported, p.Loss.Name())
	}
	if b.Float32 {
		return nil, fmt.Errorf("%w: the pairs of loss %q cannot be computed in float32", engine.ErrUnsupported, p.Loss.Name())
	}
	c, err := p.Loss.Constants(p.Bounds, p.Radius)
	if err != nil {
		return nil, err
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	enforced := c.Origin == engine.Clipped || c.Origin == engine.ClippedTerms
	if enforced && c.PairDiameter < 2*c.Lipschitz*(1-0x1p-40) {
		return nil, fmt.Errorf("cpu: loss %q states the pair diameter Dg = %g, but clipping to norm G = %g gives 2 "+
			"G; state Dg = 2 G", p.Loss.Name(), c.PairDiameter, c.Lipschitz)
	}
	if !math.IsInf(c.Smoothness, 1) {
		return nil, fmt.Errorf("%w: loss %q has the smoothness L = %g; set L to +Inf, and use an algorithm with "+
			"noise in every gradient", engine.ErrUnsupported, p.Loss.Name(), c.Smoothness)
	}
	length := p.Loss.ParamDim(p.D)
	if length < 1 {
		return nil, fmt.Errorf("cpu: loss %q has %d parameters for %d features, but it needs at least 1 parameter",
			p.Loss.Name(), length, p.D)
	}
	k := &ownKernel{problem: p, limit: c.Lipschitz, workers: b.workers(), team: b.Team}
	stripes := min(ownStripes, max(1, ownFloats/length), p.N)
	k.stripe = (p.N + stripes - 1) / stripes
	return k, nil
}

// Problem returns the planned problem.
func (k *ownKernel) Problem() engine.Problem { return k.problem }

// Method implements engine.Kernel. It returns "pair by pair".
func (k *ownKernel) Method() string { return "pair by pair" }

// Bounds implements engine.Kernel. Let N vectors have norms of at most G, and let a tree of
// depth D sum them. The computed sum is within gamma_D N G of the exact sum. The bound holds
// for the norm, because it follows from bounds for each coordinate (Higham, Accuracy and
// Stability, (4.4)).
func (k *ownKernel) Bounds(q engine.Query) engine.QueryBounds {
	depth := 0
	if !q.IsPlain() {
		return engine.Unanswered()
	}
	switch p := q.Pairs.(type) {
	case engine.AllPairs:
		if p.N != k.problem.N {
			return engine.Unanswered()
		}
		depth = ownBlock + (p.N+ownBlock-1)/ownBlock + k.stripe + bits.Len(uint(k.stripes()))
	case engine.PrefixPairs:
		if k.team != nil || p.T < 1 || p.T >= k.problem.N {
			return engine.Unanswered()
		}
		depth = ownBlock + (p.T+ownBlock-1)/ownBlock
	default:
		return engine.Unanswered()
	}
	return engine.QueryBounds{Sum: engine.Gamma(depth) * float64(q.Pairs.Len()) * k.limit * (1 + 0x1p-20)}
}

func (k *ownKernel) stripes() int { return (k.problem.N + k.stripe - 1) / k.stripe }

// Bind implements engine.Kernel.
func (k *ownKernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	if err := k.problem.Fits(r); err != nil {
		return nil, err
	}
	e := &ownEvaluator{ownKernel: k, records: r, scratch: make([]ownScratch, min(k.workers, k.stripes()))}
	length, d := k.problem.Loss.ParamDim(k.problem.D), k.problem.D
	for i := range e.scratch {
		f := make([]float64, 3*length+2*d)
		e.scratch[i] = ownScratch{term: f[:length], block: f[length : 2*length], row: f[2*length : 3*length],
			x: f[3*length : 3*length+d], xp: f[3*length+d:]}
	}
	return e, nil
}

// ownEvaluator holds O(stripes ParamDim + workers d) numbers besides the records.
type ownEvaluator struct {
	*ownKernel
	records *engine.Records
	scratch []ownScratch
	partial []float64 // stripes * ParamDim
}

// ownScratch is the scratch space of one worker.
type ownScratch struct{ term, block, row, x, xp []float64 }

// Kernel implements engine.Evaluator.
func (e *ownEvaluator) Kernel() engine.Kernel { return e.ownKernel }

// Close implements engine.Evaluator.
func (e *ownEvaluator) Close() error { e.partial = nil; return nil }

// record returns record i in the form that the loss takes. It copies the features to x if rows are not dense.
func (e *ownEvaluator) record(i int, x []float64) engine.Record {
	return engine.Record{X: slices.Clip(e.records.Rows(x, i, 1)), Y: e.records.Label(i)}
}

// Sum implements engine.Evaluator.
func (e *ownEvaluator) Sum(ctx context.Context, dst []float64, q engine.Query) error {
	if err := e.problem.CheckGradient(ctx, dst, &q); err != nil {
		return err
	}
	n := e.problem.N
	if p, ok := q.Pairs.(engine.PrefixPairs); ok {
		if e.team != nil {
			return engine.ErrTeamPrefix
		}
		at := func(i int) int { return int(p.Record(i)) }
		clear(dst)
		return e.addRow(ctx, dst, q.W, e.scratch[0], at(p.T), p.T, at)
	}
	length := len(dst)
	if e.partial == nil {
		e.partial = make([]float64, e.stripes()*length)
	}
	first, last := engine.OwnShare(e.team, e.stripes())
	err := forEach(ctx, len(e.scratch), last-first, func(worker, job int) {
		job += first
		sum, s := e.partial[job*length:(job+1)*length], e.scratch[worker]
		clear(sum)
		for i := job * e.stripe; i < min((job+1)*e.stripe, n); i++ {
			if e.addRow(ctx, sum, q.W, s, i, n, func(j int) int { return j }) != nil {
				return // forEach returns the error
			}
		}
	})
	if err == nil {
		err = engine.GatherJobs(ctx, e.team, e.partial, e.stripes(), length)
	}
	if err != nil {
		return err
	}
	sumRows(e.partial, length)
	copy(dst, e.partial)
	return nil
}

// addRow adds the terms of the pairs of record i with the records at(0), ...,
// at(records-1), except with record i itself.
func (e *ownEvaluator) addRow(ctx context.Context, dst, w []float64, s ownScratch, i, records int,
	at func(int) int) error {
	z := e.record(i, s.x)
	clear(s.row)
	for from := 0; from < records; from += ownBlock {
		if err := ctx.Err(); err != nil {
			return err
		}
		clear(s.block)
		for j := from; j < min(from+ownBlock, records); j++ {
			if other := at(j); other != i {
				clear(s.term)
				e.problem.Loss.AddGrad(s.term, w, z, e.record(other, s.xp))
				clipTerm(s.term, e.limit)
				addTo(s.block, s.term)
			}
		}
		addTo(s.row, s.block)
	}
	addTo(dst, s.row)
	return nil
}

// clipTerm scales a term to norm at most limit. It replaces a term that is not finite by 0.
//
// The computed norm has a relative error below (len + 4) 2^-53. Let slack = (len + 8) 2^-51.
// A term is scaled if its computed norm exceeds limit (1 - slack). It is then scaled to the
// norm limit (1 - slack), with two roundings for each coordinate. So the exact norm of a
// term is at most limit, whether the term is scaled or not.
func clipTerm(term []float64, limit float64) {
	var largest float64
	for _, v := range term {
		largest = math.Max(largest, math.Abs(v)) // NaN stays
	}
	if !(largest <= math.MaxFloat64) {
		clear(term)
		return
	}
	if largest == 0 {
		return
	}
	// In units of the largest coordinate nothing overflows, and the numbers that
	// underflow are below 2^-537 times the norm.
	var square float64
	for _, v := range term {
		square += v / largest * (v / largest)
	}
	norm := math.Sqrt(square)
	bound := limit * (1 - float64(len(term)+8)*0x1p-51)
	if norm <= bound/largest {
		return
	}
	for i, v := range term {
		term[i] = v / largest * (bound / norm)
	}
}
