package cuda

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dyad/engine"
	"dyad/kernels"
)

// Method is a way to compute gradient sums over all pairs.
type Method int

// The methods.
const (
	AnyMethod  Method = iota // near-linear where possible, otherwise direct
	Direct                   // visit every pair, in float32
	NearLinear               // expand phi' in Chebyshev polynomials, in float64
)

// Backend computes on a GPU.
type Backend struct {
	// Device runs the kernels. A plan needs only its size.
	Device *Device
	// Method is the method for AllPairs; the zero value is AnyMethod.
	Method Method
	// Memory is the number of bytes of the GPU that a plan may use, 0 for all of them.
	// With fewer than the records need they stay on the host and are copied to the GPU in
	// panels, in every call; the results have the same bits.
	Memory uint64
	// Precision is the precision of the pairs of Mahalanobis losses.
	Precision Precision
	// Team shares sums among processes with a GPU each, with the bits of one GPU; nil is this process alone. Every
	// member plans the same problems, with kernels of the same Method and QueryBounds.Make, binds its engine.Share of the same records, and
	// calls the same sums.
	Team engine.Team
	// Models hold the times behind AutoPrecision and forecasts; nil for the models of Measured.
	Models *Models
}

var _ engine.Backend = Backend{}

// Name returns "cuda:" and the number of the GPU.
func (b Backend) Name() string { return b.Device.Name() }

// blockThreads is the number of threads of a block of every kernel.
const blockThreads = 256

const (
	// maxFactoredMargin is the largest public margin V for the factored form: 2 a and b
	// are within e^(+-V/2), up to the 2, and so the product that two pairs share, also
	// with padding, does not lose the larger term (kernels/cuda/score.cu).
	maxFactoredMargin = 48
	// maxRecords keeps sums of integers below 2^53, where float64 is exact.
	maxRecords = 1 << 30
	// spread is the range 2^-spread to 2^spread of scores, labels and terms in float32.
	spread = 40
)

// Plan returns the kernel for a problem with a smooth engine.ScoreLoss that has a
// near-linear method (see planNearLinear), with an engine.ScoreLoss that is logistic or an
// Expression with code for GPUs, smooth or not, or with a smooth engine.MetricLoss of that
// kind. Pairs may be formed within query groups for score losses.
//
// It wraps engine.ErrUnsupported for other losses, for records that do not fit into the
// memory of the GPU (for a score loss: if two panels do not fit) and, where every
// pair is visited, for bounds outside of the range of float32.
func (b Backend) Plan(p engine.Problem) (engine.Kernel, error) {
	k, err := b.plan(p)
	return k, orCPU(err)
}

// orCPU adds to an error that wraps engine.ErrUnsupported what to do.
func orCPU(err error) error {
	if errors.Is(err, engine.ErrUnsupported) {
		return fmt.Errorf("%w; use the CPU (--device cpu)", err)
	}
	return err
}

func (b Backend) plan(p engine.Problem) (engine.Kernel, error) {
	if b.Method < AnyMethod || b.Method > NearLinear {
		return nil, fmt.Errorf("cuda: Backend.Method is %d, want AnyMethod, Direct or NearLinear", b.Method)
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.MaxRows() >= maxRecords {
		return nil, fmt.Errorf("%w: up to %d rows, a GPU takes fewer than %d", engine.ErrUnsupported, p.MaxRows(), maxRecords)
	}
	if loss, ok := p.Loss.(engine.MetricLoss); ok {
		if len(p.Groups) > 0 {
			return nil, fmt.Errorf("%w: query groups with loss %q in one kernel on a GPU", engine.ErrUnsupported, loss.Name())
		}
		return b.planMetric(p, loss)
	}
	if len(p.Groups) > 0 && p.ByPerson() {
		return nil, fmt.Errorf("%w: persons within query groups in one kernel on a GPU", engine.ErrUnsupported)
	}
	k := &kernel{backend: b, problem: p, mostPrompt: promptNumbers}
	var err error
	if k.loss, k.scores, err = engine.NewScoreRange(p, p.D); err != nil {
		return nil, err
	}
	if err := k.planMethod(b.Method); err != nil {
		return nil, err
	}
	if err := k.planPersons(); err != nil {
		return nil, err
	}
	if err := k.planTeam(); err != nil {
		return nil, err
	}
	k.grid = gridOf(rowsAre(p, p.MaxRows()), k.rowTeam())
	if k.grid, err = k.grid.placed(k.columnBytes()+personRoom(p), b.memory()); err != nil {
		return nil, err
	}
	if !k.usable() {
		return nil, fmt.Errorf("%w: rounding errors of loss %q over margins up to %.3g are not small on a GPU", engine.ErrUnsupported, k.loss.Name(), k.scores.Margin)
	}
	return k, nil
}

// nearGroup is the size of query groups from which on the near-linear method is preferred:
// its launches and a wait, one group after the other, take some 30 us, in which a GPU visits
// the pairs of as many records (an estimate).
const nearGroup = 1 << 13

// planMethod chooses the methods. Near-linear is preferred for all pairs wherever it
// exists, and for large groups: it costs a few launches, and its rounding error is a
// millionth of the other's. The choice follows from the sizes of groups, which are public.
func (k *kernel) planMethod(m Method) error {
	groups := k.groups()
	k.nearFrom = 2
	if len(k.problem.Groups) > 0 && m == AnyMethod {
		k.nearFrom = nearGroup
	}
	if m == Direct {
		k.nearFrom = math.MaxInt
	} else if slices.Max(groups) >= k.nearFrom {
		if err := k.planNearLinear(); err != nil {
			if m == NearLinear {
				return err
			}
			k.nearFrom = math.MaxInt
		}
	}
	if !slices.ContainsFunc(groups, func(size int) bool { return size > 1 && size < k.nearFrom }) {
		return nil
	}
	k.direct = true
	_, logistic := k.loss.(engine.Logistic)
	k.factored = logistic && len(groups) == 1 && !k.problem.ByPerson() && k.problem.LabelLimit() <= 2 && k.scores.Margin <= maxFactoredMargin
	if k.factored {
		return nil
	}
	return k.planPairs()
}

// groups are the sizes of the groups that pairs are formed in: one of all records if there
// are no query groups.
func (k *kernel) groups() []int {
	if len(k.problem.Groups) > 0 {
		return k.problem.Groups
	}
	return []int{k.problem.N}
}

// memory is what a plan counts with.
func (b Backend) memory() uint64 {
	have := b.Device.Info().TotalMemory
	if b.Memory > 0 {
		have = min(have, b.Memory)
	}
	return have
}

// fits returns an error unless the GPU has need bytes.
func (b Backend) fits(p engine.Problem, need uint64) error {
	if have := b.memory(); need > have {
		return fmt.Errorf("%w: %d records of %d features need %.1f GiB, %s has %.1f", engine.ErrUnsupported, p.N, p.D, gib(need), b.Name(), gib(have))
	}
	return nil
}

// planPairs puts the code of the slope into the kernel.
func (k *kernel) planPairs() error {
	s := k.scores
	code, err := slopeOf(k.loss, s.Margin, s.SlopeErr)
	if err != nil {
		return err
	}
	exponent := math.Ceil(math.Log2(s.Slope * s.LabelSpan * (1 + 0x1p-20)))
	for _, v := range []float64{s.Score, s.LabelSpan, math.Exp2(exponent)} {
		if !(v > math.Exp2(-spread) && v < math.Exp2(spread)) {
			return fmt.Errorf("%w: scores, labels or gradients of size %.3g on a GPU, which computes pairs in float32; rescale the features or labels", engine.ErrUnsupported, v)
		}
	}
	k.unit, k.slopeError, k.instructions = math.Exp2(exponent), code.absError, len(code.lines)
	lo, hi := k.slopeRange()
	if k.clamps, err = clampsOf(s.Margin, lo, hi); err != nil {
		return err
	}
	if !(max(-lo, hi)*s.LabelSpan*(1+0x1p-21) <= k.unit) { // pair_tiles relies on it
		return fmt.Errorf("cuda: phi' reaches [%g, %g], more than the bound %g of loss %q", lo, hi, s.Slope, k.loss.Name())
	}
	k.ptx, err = splice(kernels.PTX(k.splicedName()), code, s.Margin, lo, hi)
	return err
}

// kernel is a planned problem. It is immutable.
type kernel struct {
	backend Backend
	problem engine.Problem
	loss    engine.ScoreLoss
	scores  engine.ScoreRange
	grid    grid
	// mostPrompt is promptNumbers.
	mostPrompt int

	// Groups of nearFrom records and more are summed by the near-linear method, for which
	// expansion expands phi' in scores of one class; direct is true if there are smaller
	// ones, and factored if their terms have that form.
	nearFrom         int
	expansion        engine.Expansion
	direct, factored bool

	// For pairs that are not factored: terms are in units of 2^-22 unit, of persons of personFixed unit, a power of two
	// above Slope LabelSpan, and phi' is within slopeError and clamped. ptx has its code,
	// instructions many.
	unit, slopeError float64
	clamps           clamps
	ptx              string
	instructions     int
}

var _ engine.Kernel = (*kernel)(nil)

// Problem returns the planned problem.
func (k *kernel) Problem() engine.Problem { return k.problem }

// Method returns "near-linear", "direct, factored" or "direct", or the first and the last
// for groups of different sizes.
func (k *kernel) Method() string {
	name := "direct"
	switch {
	case k.nearLinear() && k.direct:
		name = fmt.Sprintf("near-linear from %d records on, direct", k.nearFrom)
	case k.nearLinear():
		name = "near-linear"
	case k.factored:
		name = "direct, factored"
	}
	if groups := len(k.problem.Groups); groups > 0 {
		name += fmt.Sprintf(", within %d groups", groups)
	}
	return name
}

// nearLinear reports whether some groups are summed by the near-linear method.
func (k *kernel) nearLinear() bool { return k.expansion.Terms > 0 }

// columnBytes is what an evaluator allocates besides the features, at most: scores,
// coefficients, and what the method needs for each record.
func (k *kernel) columnBytes() uint64 {
	perRecord := uint64(8 + 8)
	switch {
	case k.factored:
		perRecord += 8 + 8
	case k.direct:
		perRecord += 8 + 20
	}
	rows := uint64(k.grid.n)
	if k.problem.ByPerson() {
		perRecord += 8 + 8 + 4
	}
	bytes := rows*perRecord + 64<<20
	if k.nearLinear() {
		bytes += rows / 16 // parts
	}
	return bytes
}
