package cpu

import (
	"runtime"

	"dyad/engine"
	"dyad/kernels"
)

// Method selects how sums over all pairs are computed.
type Method int

// The methods compute the same sums at different costs.
const (
	Auto       Method = iota // the cheapest method by a cost model in public numbers
	Direct                   // every pair, O(n^2)
	NearLinear               // Chebyshev expansions, O(n)
	Sorted                   // sorted scores, O(n log n)
)

// String returns the name used in reports and by Kernel.Method.
func (m Method) String() string {
	if m < Auto || m > Sorted {
		return "unknown"
	}
	return [...]string{"auto", "direct", "near-linear", "sorted"}[m]
}

// Backend computes sums on the CPU. The zero value uses all processors and chooses the
// method.
type Backend struct {
	// Workers is the number of goroutines of an Evaluator. If it is 0 or less, GOMAXPROCS
	// applies. Workers changes the running time but not the result.
	Workers int
	// Method is the method for AllPairs. The zero value is Auto.
	Method Method
	// Float32 makes the backend compute all pairs of an engine.MahalanobisLogistic in float32. This
	// is about twice as fast as float64. The roundoff of a pair is then about 10^-6 to 10^-5 of a
	// gradient. The effect of one record on the roundoff does not grow with n
	// (engine.QueryBounds.Neighbour). Plan fails for other metric losses. Score losses are still
	// computed in float64.
	Float32 bool
	// Variant selects the implementation of the inner loops. The zero value selects the
	// fastest variant of this processor. Plan fails for a variant that this processor
	// does not support. The bits of results depend on the variant, but the method and
	// Bounds do not.
	Variant kernels.Variant
	// Team shares the work of each sum among processes. The bits of results are the same for any
	// number of processes. If Team is nil, this process computes alone. All processes must plan
	// the same problems and call the same sums in the same order. Each process binds only its
	// engine.Share of the records. A team can neither compute PrefixPairs nor use the sorted
	// method, because both process all records in one order.
	Team engine.Team
}

var _ engine.Backend = Backend{}

// Instructions returns the name of the fastest kernels.Variant of this processor. The zero Backend
// uses this variant. The bits of results depend on the variant.
func Instructions() (string, error) {
	set, err := kernels.Select(kernels.Best)
	if err != nil {
		return "", err
	}
	return set.Variant().String(), nil
}

// workers returns the number of goroutines of an Evaluator.
func (b Backend) workers() int {
	if b.Workers <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return b.Workers
}

// Name returns "cpu".
func (Backend) Name() string { return "cpu" }

// kernel is a planned problem. It is immutable.
type kernel struct {
	problem engine.Problem
	rows    int // largest number of rows; in an evaluator the number of rows
	set     *kernels.Set
	moves   *kernels.Set // moves numbers without rounding
	loss    engine.ScoreLoss
	dphi    func(u float64) float64 // phi'
	block   func(u []float64)       // dphi of a slice, nil if there is no faster way
	scores  engine.ScoreRange
	rowLen  int // stored features per row, at most
	workers int
	method  Method
	team    engine.Team // nil alone
	// logistic reports whether dphi is kernels.LogisticSlope. factored reports whether
	// dphi is kernels.LogisticSlope and LogisticTile and LogisticSlopes cannot overflow
	// on the public range.
	logistic, factored bool

	steps     []engine.Piece   // steps of phi', for the sorted method only
	bins      int              // bins of the score range, for the near-linear method only
	expansion engine.Expansion // expansion for one bin and any other bin

	blockRows int // rows summed into one accumulator before it is flushed
	chunkRows int // rows of one job, a multiple of blockRows
}

// Problem returns the planned problem.
func (k *kernel) Problem() engine.Problem { return k.problem }

// Method returns "direct", "near-linear" or "sorted".
func (k *kernel) Method() string { return k.method.String() }

// terms returns the number of Chebyshev terms per bin.
func (k *kernel) terms() int { return k.expansion.Terms }

// Limits of the fixed grid.
const (
	minBlockRows = 256     // bounds the depth of sums over rows
	maxBlockRows = 2048    // for rows that store few of many features
	coefRows     = 4096    // records whose c are computed at a time, blocks of rows
	leastChunk   = 2048    // rows of a chunk, fewer of more than 32 features
	maxChunks    = 128     // bounds the number of partial sums
	maxPartials  = 4 << 20 // floats held in partial sums, 32 MB
	prefixJob    = 32      // blocks of one job of PrefixPairs
)

// planGrid determines how rows are cut into blocks and chunks. It uses the number of rows, d and the number of stored
// features per row. The number of blocks of a chunk does not increase if there are fewer rows. A block costs one pass
// over d floats, so rows with few stored features get longer blocks.
func (k *kernel) planGrid() {
	p := k.problem
	k.blockRows = minBlockRows
	for k.blockRows < maxBlockRows && k.blockRows*k.rowLen < 4*p.D {
		k.blockRows *= 2
	}
	rows := max(min(32*leastChunk/k.rowLen, leastChunk), k.blockRows)
	chunks := min(max(maxPartials/max(p.D, k.sumsLen(2)), 1), maxChunks)
	rows = max(rows, (k.rows+chunks-1)/chunks)
	k.chunkRows = (rows + k.blockRows - 1) / k.blockRows * k.blockRows
}

// Share returns the range [from, to) of the records that a rank needs, for engine.Share.
// For the near-linear method, the range consists of whole chunks. Methods that visit
// single pairs need all records. If records are persons, every rank needs all records,
// because chunks are cut from the number of rows, which is private.
func (k *kernel) Share(rank int) (from, to int) {
	if k.method != NearLinear || k.problem.ByPerson() {
		return 0, k.problem.N
	}
	from, to = engine.ShareOf(k.team, rank, k.chunks())
	return min(from*k.chunkRows, k.problem.N), min(to*k.chunkRows, k.problem.N)
}

func (k *kernel) chunks() int { return (k.rows + k.chunkRows - 1) / k.chunkRows }

// slopes replaces the numbers of u by phi'.
func (k *kernel) slopes(u []float64) {
	if k.factored {
		k.set.LogisticSlopes(u)
		return
	}
	if k.block != nil {
		k.block(u)
		return
	}
	for i, v := range u {
		u[i] = k.dphi(v)
	}
}

// sumsLen returns the number of sums of powers for q labels.
func (k *kernel) sumsLen(q int) int { return q * k.bins * k.terms() }

// maxClasses is the largest number of different labels by which an evaluator sorts
// records.
const maxClasses = 16
