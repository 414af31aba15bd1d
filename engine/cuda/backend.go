package cuda

import (
	"errors"
	"fmt"

	"dyad/engine"
)

// Method is a way to compute gradient sums over all pairs.
type Method int

// The methods.
const (
	AnyMethod  Method = iota // the near-linear method where possible, otherwise the direct method
	Direct                   // visit every pair, in float32
	NearLinear               // expand phi' in Chebyshev polynomials, in float64
)

// Backend is an engine.Backend that computes on a GPU.
type Backend struct {
	// Device runs the kernels. A plan needs only the device's facts, such as its memory size.
	Device *Device
	// Method is the method for sums over all pairs. The zero value is AnyMethod.
	Method Method
	// Memory is the number of bytes of GPU memory that a plan may use. If Memory is 0, a plan may use all of
	// it. If the records do not fit into Memory, they stay on the host and every call copies them to the GPU in
	// panels. The results have the same bits in both cases.
	Memory uint64
	// Precision is the arithmetic for the pairs of Mahalanobis losses.
	Precision Precision
	// Team shares sums among several processes with one GPU each. The results have the same bits as on one GPU. If Team
	// is nil, this process computes alone. All members must plan the same problems, and get kernels of equal Method and
	// QueryBounds.Make. Each must bind its own engine.Share of the records and call the same sums.
	Team engine.Team
	// Models are the time models for forecasts. If Models is nil, the result of the function fitted is used.
	Models *Models
}

var _ engine.Backend = Backend{}

// Name returns "cuda:" and the number of the GPU.
func (b Backend) Name() string { return b.Device.Name() }

const (
	// maxFactoredMargin is the largest public margin V for the factored form. Up to the factor 2, both 2 a and
	// b are within e^(+-V/2). The product that two pairs share, also with padding, then does not lose the
	// larger term (kernels/cuda/score.cu).
	maxFactoredMargin = 48
	// maxRecords is the upper limit of the number of records. It keeps sums of integers below 2^53, where
	// float64 is exact.
	maxRecords = 1 << 30
	// spread limits the size of scores, labels and terms in float32 to the range from 2^-spread to 2^spread.
	spread = 40
)

// orCPU adds the advice to use the CPU to an error that wraps engine.ErrUnsupported.
func orCPU(err error) error {
	if errors.Is(err, engine.ErrUnsupported) {
		return fmt.Errorf("%w; use the CPU (--device cpu)", err)
	}
	return err
}

// groups returns the sizes of the groups in which pairs are formed. Without query groups, all records form one group.
func (k *kernel) groups() []int {
	if len(k.problem.Groups) > 0 {
		return k.problem.Groups
	}
	return []int{k.problem.N}
}

// memory returns the number of bytes of GPU memory that a plan may use.
func (b Backend) memory() uint64 {
	have := b.Device.Info().TotalMemory
	if b.Memory > 0 {
		have = min(have, b.Memory)
	}
	return have
}

// fits returns an error unless a plan may use need bytes of GPU memory.
func (b Backend) fits(p engine.Problem, need uint64) error {
	if have := b.memory(); need > have {
		return fmt.Errorf("%w: %d records of %d features need %.1f GiB, %s has %.1f", engine.ErrUnsupported, p.N, p.D,
			gib(need), b.Name(), gib(have))
	}
	return nil
}

// kernel is a planned problem. It is immutable.
type kernel struct {
	backend Backend
	problem engine.Problem
	loss    engine.ScoreLoss
	scores  engine.ScoreRange
	grid    grid
	// mostPrompt is promptNumbers. Tests set other values.
	mostPrompt int

	// Groups of at least nearFrom records are summed by the near-linear method, and expansion is the expansion
	// of phi' in the scores of one class. direct is true if there are smaller groups, and factored is true if
	// the terms of these smaller groups have the factored form.
	nearFrom         int
	expansion        engine.Expansion
	direct, factored bool

	// The following fields are for pairs that are not factored. Terms are in units of 2^-22 unit, and terms of persons
	// in units of personFixed unit. unit is a power of two above Slope LabelSpan. The computed phi' has an error of at
	// most slopeError and is clamped to clamps. ptx contains the code of phi', and instructions is the number of
	// instructions of that code.
	unit, slopeError float64
	clamps           clamps
	ptx              string
	instructions     int
}

var _ engine.Kernel = (*kernel)(nil)

// Problem returns the planned problem.
func (k *kernel) Problem() engine.Problem { return k.problem }

// Method returns "near-linear", "direct, factored" or "direct". For groups of different sizes it can return a
// combination of "near-linear" and "direct". If there are query groups, the number of groups follows the
// name.
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

// columnBytes returns the largest number of bytes that an evaluator allocates in addition to the features.
// These bytes hold the scores, the coefficients, and the method's numbers for each record.
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
		bytes += rows / 16 // for the parts of groups
	}
	return bytes
}

func (k *kernel) on() Backend { return k.backend }
