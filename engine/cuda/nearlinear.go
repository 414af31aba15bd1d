package cuda

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/kernels"
)

// Sizes of kernels/cuda/nearlinear.cu, and limits of the method.
const (
	groupTerms    = 32             // of a group of threads
	maxTerms      = 8 * groupTerms // of an expansion
	maxClasses    = 16             // labels
	maxTable      = 8 << 20        // numbers in the node matrices
	momentRows    = 512            // a partial sum of moments has a multiple of it
	minMomentRows = 4 * momentRows // at least
	momentChunks  = maxChunks      // and so many partial sums, at most
	// tolerance is the truncation error, in units of sup |phi\'|: 64 units of roundoff,
	// which is little of nearError. Each further digit costs terms of every record.
	tolerance = 0x1p-47
)

// planNearLinear finds the expansion of phi' in the scores of one class. It wraps
// ErrUnsupported if there is none: for a loss that is not an engine.AnalyticLoss, for
// margins over which more than 256 terms are needed, and for many labels.
//
// One expansion for the whole range of scores is used. A record then adds to a few dozen
// sums that a thread holds in registers; parts of the range with shorter expansions would
// make the sums that it adds to depend on its score.
func (k *kernel) planNearLinear() error {
	loss, ok := k.loss.(engine.AnalyticLoss)
	if !ok || !k.scores.Smooth() { // a sum of interpolants is not a sum of terms of pairs: engine.Kernel
		return fmt.Errorf("%w: loss %q is not analytic, or the error of its slope has no bound, use Direct", engine.ErrUnsupported, k.loss.Name())
	}
	if k.problem.LabelLimit() > maxClasses {
		return fmt.Errorf("%w: up to %d different labels, the near-linear method takes %d; set Problem.LabelValues or use Direct", engine.ErrUnsupported, k.problem.LabelLimit(), maxClasses)
	}
	size, q := loss.StripBound(k.scores.Margin, 0), k.problem.LabelLimit()
	if size < math.MaxFloat64 {
		e, ok := engine.Expand(loss, k.scores.Margin, k.scores.LabelSpan*k.scores.Score, size*tolerance, maxTerms, 1)
		if ok && q*(q-1)*e.Terms*e.Terms <= maxTable {
			k.expansion = e
			return nil
		}
	}
	return fmt.Errorf("%w: loss %q has no expansion of %d terms over margins up to %.3g, use Direct", engine.ErrUnsupported, k.loss.Name(), maxTerms, k.scores.Margin)
}

// logGroups is the logarithm of the number of groups of terms: 1, 2, 4 or 8.
func (k *kernel) logGroups() uint { return uint(bits.Len(uint(k.expansion.Terms-1) / groupTerms)) }

// momentLen is the number of moments of a class.
func (k *kernel) momentLen() int { return groupTerms << k.logGroups() }

// momentChunk is the number of records of a partial sum of moments.
func (k *kernel) momentChunk() int {
	return max(minMomentRows, chunksOf(k.problem.N, momentRows*momentChunks)*momentRows)
}

// momentDepth is the depth of the moments: the kernels moments and combine.
func (k *kernel) momentDepth() int {
	return chunksOf(k.momentChunk(), momentRows>>k.logGroups()) + 9 + combineDepth(chunksOf(k.problem.N, k.momentChunk()))
}

// nearLinear computes c of the sorted groups by Chebyshev interpolation in both scores of
// a pair, one group after the other.
//
// The records of a class act, up to the truncation error, like weights at the p nodes:
// W_k = (2/p) sum_a' T_a(x_k) M_a with moments M_a = sum_j T_a(pos_j). The node matrix
// gives the sums at the nodes, a discrete cosine transform turns these into coefficients,
// and a Chebyshev series is evaluated at every record. Moments and series are computed on
// the GPU, the p^2 work between them on the host.
type nearLinear struct {
	e       *evaluator
	module  *module
	classes classes
	scale   float64

	part, moments, coefs driver.Pointer

	toWeights []float64 // p * p: node, moment
	toCoefs   []float64 // p * p: coefficient, node; with the factor 2 of c
	// between[a*q+b], a > b, holds phi' at (y_a - y_b) times the score difference of
	// two nodes.
	between [][]float64
}

func bindNearLinear(c driver.Context, e *evaluator, cl classes) (*nearLinear, error) {
	m := &nearLinear{e: e, classes: cl, scale: 1 / e.scores.Score}
	var err error
	if m.module, err = e.backend.Device.load(c, kernels.PTX("nearlinear")); err != nil {
		return nil, err
	}
	chunks, length, q := chunksOf(e.problem.N, e.momentChunk()), e.momentLen(), len(cl.values)
	if err := e.memory.alloc(c, []block{{&m.part, 8 * chunks * length}, {&m.moments, 8 * q * length}, {&m.coefs, 8 * q * maxTerms}}); err != nil {
		return nil, err
	}
	nodes := m.transforms(e.expansion.Terms)
	m.between = make([][]float64, q*q)
	for a := range q {
		for b := range a {
			m.between[a*q+b] = m.table(cl.values[a]-cl.values[b], nodes)
		}
	}
	return m, nil
}

// transforms fills the two cosine transforms.
func (m *nearLinear) transforms(p int) (nodes []float64) {
	nodes, t := kernels.ChebyshevNodes(p)
	m.toWeights, m.toCoefs = make([]float64, p*p), make([]float64, p*p)
	for k := range p {
		for a := range p {
			v := 2 / float64(p) * t[k*p+a]
			if a == 0 {
				v = 1 / float64(p)
			}
			m.toWeights[k*p+a] = v
			m.toCoefs[a*p+k] = 2 * v
		}
	}
	return nodes
}

func (m *nearLinear) table(label float64, nodes []float64) []float64 {
	width := label * m.e.scores.Score
	t := make([]float64, 0, len(nodes)*len(nodes))
	for _, x := range nodes {
		for _, y := range nodes {
			t = append(t, m.e.loss.DPhi(width*(x-y)))
		}
	}
	return t
}

// coefficients implements method.
func (m *nearLinear) coefficients(ctx context.Context, c driver.Context) error {
	return inTurn(ctx, c, m.classes.groups, func(start []int) error { return m.group(ctx, c, start) })
}

// group computes c of one group, whose labels start at these rows. Nothing but its own
// records enters.
func (m *nearLinear) group(ctx context.Context, c driver.Context, start []int) error {
	e, length, q, p := m.e, m.e.momentLen(), len(m.classes.values), m.e.expansion.Terms
	scale, chunk := math.Float64bits(m.scale), e.momentChunk()
	eachClass := func(f func(a int, n uint64, at driver.Pointer) error) error {
		for a := range q {
			if n := start[a+1] - start[a]; n > 0 {
				if err := f(a, uint64(n), driver.Pointer(8*start[a])); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := eachClass(func(a int, n uint64, at driver.Pointer) error {
		count := chunksOf(int(n), chunk)
		if err := m.module.launch(c, "moments", count, 1, uint64(m.part), uint64(e.s+at), n, scale, uint64(e.logGroups()), uint64(chunk)); err != nil {
			return err
		}
		return e.rows.combine(c, m.moments+driver.Pointer(8*a*length), m.part, count, length)
	})
	if err != nil {
		return err
	}
	sums := make([]float64, q*length)
	if err := copyOut(c, sums, m.moments); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := copyIn(c, m.coefs, m.series(sums, start)); err != nil {
		return err
	}
	return eachClass(func(a int, n uint64, at driver.Pointer) error {
		return m.module.launch(c, "series", chunksOf(int(n), momentRows), 1, uint64(e.c+at), uint64(e.s+at), uint64(m.coefs+driver.Pointer(8*a*maxTerms)), n, uint64(p), scale)
	})
}

// series returns the coefficients of all classes of a group, maxTerms apart, from the sums
// that the kernel moments leaves of those with records: with the sums at the nodes
//
//	g_k = sum_(b != a) (y_a - y_b) sum_l phi'((y_a - y_b)(x_k - x_l)) W_bl.
//
// For y_a < y_b the matrix is that of (b, a) with both scores negated: nodes reversed.
func (m *nearLinear) series(sums []float64, start []int) []float64 {
	p, q, length := m.e.expansion.Terms, len(m.classes.values), m.e.momentLen()
	weights, reversed := make([]float64, q*p), make([]float64, q*p)
	empty := func(a int) bool { return start[a] == start[a+1] }
	for b := range q {
		if empty(b) {
			continue
		}
		moments := productsToMoments(sums[b*length : (b+1)*length])
		for k := range p {
			w := kernels.Dot(m.toWeights[k*p:(k+1)*p], moments[:p])
			weights[b*p+k], reversed[(b+1)*p-1-k] = w, w
		}
	}
	coefs, g := make([]float64, q*maxTerms), make([]float64, p)
	for a := range q {
		if empty(a) {
			continue
		}
		clear(g)
		for b := range q {
			if b == a || empty(b) {
				continue
			}
			diff, table, w := m.classes.values[a]-m.classes.values[b], m.between[max(a, b)*q+min(a, b)], weights[b*p:(b+1)*p]
			if a < b {
				w = reversed[b*p : (b+1)*p]
			}
			for k := range g {
				node := k
				if a < b {
					node = p - 1 - k
				}
				g[k] += diff * kernels.Dot(w, table[node*p:(node+1)*p])
			}
		}
		for k := range p {
			coefs[a*maxTerms+k] = kernels.Dot(m.toCoefs[k*p:(k+1)*p], g)
		}
	}
	return coefs
}

// productsToMoments turns the sums of T_32i T_j, j < 32, into those of T_(32i+j) =
// 2 T_32i T_j - T_(32i-j), in place.
func productsToMoments(sums []float64) []float64 {
	for i := groupTerms; i < len(sums); i += groupTerms {
		for j := 1; j < groupTerms; j++ {
			sums[i+j] = 2*sums[i+j] - sums[i-j]
		}
	}
	return sums
}
