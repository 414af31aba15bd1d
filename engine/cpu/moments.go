package cpu

import (
	"math"
	"sync"

	"dyad/engine"
	"dyad/kernels"
)

// The grid depends only on n, d and the cap on the rows of a person. Rows are summed in blocks, and
// blocks in chunks. The number of chunks is about the number of blocks of a chunk, so no sum is long.
// Chunks are cut between records. If records are persons, chunks are cut where the rows of a person
// end.
const (
	momentRows   = 256     // largest number of rows of a block
	momentFloats = 1 << 20 // largest number of floats of a block
)

// momentsKernel sums moments. It is immutable.
type momentsKernel struct {
	problem engine.Problem
	set     *kernels.Set
	workers int
	team    engine.Team // nil alone
	stride  int         // length of a row of a block
	block   int         // rows
	chunk   int         // records: rows, a multiple of block, or persons
	wide    bool        // full second moments are summed over stored features
}

// Problem implements engine.Kernel.
func (k *momentsKernel) Problem() engine.Problem { return k.problem }

// Method implements engine.Kernel. It returns "moments".
func (*momentsKernel) Method() string { return "moments" }

func (k *momentsKernel) chunks() int { return (k.problem.N + k.chunk - 1) / k.chunk }

// depth returns a bound of the depth of every sum over the rows. It counts the sum of a
// block, the additions for each block of a chunk (one, or AddGramAdditions to the sum of
// the chunk), and one addition for each chunk. For persons it also counts the roundings
// of weights (docs/theory.md#person-moments).
func (k *momentsKernel) depth() int {
	depth := max(kernels.AddGramDepth(k.block), kernels.AddRowsDepth(k.block)) + 1 + k.chunks()
	blocks := k.chunk / k.block
	if k.problem.ByPerson() {
		blocks = (min(k.chunk, k.problem.N)*k.problem.PersonRows + k.block - 1) / k.block
		depth += weightRoundings
	}
	return depth + max(1, kernels.AddGramAdditions(k.block))*blocks
}

// weightRoundings is an upper bound of the number of roundings that the weight of a row adds to a
// term of a sum. There are 2 roundings for the weight and its product with another weight. There
// are 5 roundings for two numbers that are multiplied by the root of the weight.
const weightRoundings = 6

// Bind implements engine.Kernel.
func (k *momentsKernel) Bind(r *engine.Records) (engine.Evaluator, error) {
	if err := k.problem.FitsShard(r); err != nil {
		return nil, err
	}
	e := &momentsEvaluator{momentsKernel: k, records: r, x: newMatrix(r, k.set), y: r.Labels(),
		persons: newRowsOfPersons(r)}
	e.first, e.last = engine.OwnShare(k.team, k.chunks())
	_, _, err := r.Within(k.units(e.first, e.last))
	return e, err
}

// Share is called by engine.Share. It returns whole chunks.
func (k *momentsKernel) Share(rank int) (from, to int) {
	return k.units(engine.ShareOf(k.team, rank, k.chunks()))
}

// units returns the range of the records in the chunks first to last-1.
func (k *momentsKernel) units(first, last int) (from, to int) {
	return min(first*k.chunk, k.problem.N), min(last*k.chunk, k.problem.N)
}

// momentsEvaluator holds the records and the scratch space of each worker.
type momentsEvaluator struct {
	*momentsKernel
	records *engine.Records
	x       matrix
	y       []float64
	persons *rowsOfPersons // nil if each row is a record
	work    []momentsWork

	first, last int       // chunks of this process: from first to last-1
	totals      []float64 // totals of all chunks, in a team
}

// momentsWork is the scratch space of one worker. It holds a block, the sums of a block and the sums of a chunk.
type momentsWork struct {
	weight, score, rows, sparse []float64
	sum, square                 []float64 // of a block
	total                       momentTotals
}

// momentTotals holds sums. A vector has stride numbers, and a matrix has stride^2 numbers.
type momentTotals struct {
	all         []float64 // storage of the following slices
	positives   *float64
	sum, second []float64
}

// Holds reports whether evaluators are engine.Holders. In a team they are not, because a member has
// only a share of the records.
func (k *momentsKernel) Holds() bool { return k.team == nil }

// Held implements engine.Holder if the kernel Holds.
func (e *momentsEvaluator) Held() *engine.Records { return e.records }

// Kernel implements engine.Evaluator.
func (e *momentsEvaluator) Kernel() engine.Kernel { return e.momentsKernel }

// Close implements engine.Evaluator.
func (e *momentsEvaluator) Close() error {
	e.work = nil
	return nil
}

// packUpper is engine.Symmetric.Pack for a matrix whose rows begin at multiples of stride.
func packUpper(dst, m []float64, d, stride int) {
	for i := range d {
		row := m[i*stride:]
		dst[0] = row[i]
		for j := i + 1; j < d; j++ {
			dst[j-i] = row[j] * math.Sqrt2
		}
		dst = dst[d-i:]
	}
}

func (k *momentsKernel) newTotals(second engine.SecondMoments) momentTotals {
	length := 0
	switch second {
	case engine.DiagonalSecond:
		length = k.stride
	case engine.FullSecond:
		length = k.stride * k.stride
	}
	all := make([]float64, k.stride+length+1)
	return momentTotals{all: all, positives: &all[k.stride+length], sum: all[:k.stride], second: all[k.stride:][:length]}
}

// prepare allocates the scratch space of the workers.
func (e *momentsEvaluator) prepare(workers int, second engine.SecondMoments) {
	if len(e.work) < workers {
		e.work = make([]momentsWork, workers)
	}
	for i := range e.work {
		w := &e.work[i]
		if w.rows == nil {
			whole := dotsGroups(e.block)
			w.weight, w.score, w.rows = make([]float64, e.block), make([]float64, whole), make([]float64, whole*e.stride)
			w.sum, w.square = make([]float64, e.stride), make([]float64, e.stride)
			if e.x.dense == nil {
				w.sparse = make([]float64, e.block*e.problem.D)
			}
		}
		w.total = e.newTotals(second)
	}
}

// momentPass is one pass over the records.
type momentPass struct {
	*momentsEvaluator
	m      engine.Query
	labels float64 // Bounds.LabelAbs
	whole  bool    // no record is moved or clipped, and only its sum is asked for

	centre []float64
	model  []float64 // stride numbers, or nil
	short  float64   // bound used by clip: R, rounded down enough
}

func newMomentPass(e *momentsEvaluator, m engine.Query) *momentPass {
	bounds, d := e.problem.Bounds, float64(e.problem.D)
	p := &momentPass{momentsEvaluator: e, m: m, labels: bounds.LabelAbs, centre: m.Centre}
	p.whole = m.Centre == nil && m.W == nil && m.Radius >= bounds.FeatureNorm && m.Second == engine.NoSecond
	p.short = m.Radius * (1 - (d+24)*0x1p-51)
	if p.centre == nil {
		p.centre = make([]float64, e.problem.D)
	}
	if m.W != nil {
		p.model = make([]float64, e.stride)
		copy(p.model, m.W)
	}
	return p
}

// add adds count records to w.total.
func (p *momentPass) add(w *momentsWork, from, count int) {
	weight := w.weight[:count]
	var positives float64
	for i, y := range p.y[from:][:count] {
		y /= p.labels
		t := (1 + y) / 2
		if p.persons != nil {
			positives += t * p.persons.weight[from+i]
		} else {
			positives += t
		}
		switch {
		case p.model != nil:
			weight[i] = t
		case p.m.Signed:
			// Rounding keeps order: |y - b| <= 1 + |b| holds as computed, so |a| <= 1.
			weight[i] = (y - p.m.Offset) / (1 + math.Abs(p.m.Offset))
		default:
			weight[i] = 1
		}
		if p.m.Class != 0 && y != p.m.Class {
			weight[i] = 0
		}
	}
	*w.total.positives += positives
	if p.whole {
		p.weigh(weight, from)
		sum := w.sum[:p.problem.D]
		clear(sum)
		p.x.add(sum, weight, from)
		addTo(w.total.sum[:p.problem.D], sum)
		return
	}
	rows := w.rows[:count*p.stride]
	p.clip(rows, p.x.rows(w.sparse, from, count), count)
	if p.m.Class != 0 { // a row of zeros adds nothing to the sums
		for i, a := range weight {
			if a == 0 {
				clear(rows[i*p.stride:][:p.stride])
			}
		}
	}
	if p.model != nil {
		whole := dotsGroups(count)
		p.slopes(weight, w.score[:whole], w.rows[:whole*p.stride])
	}
	p.weigh(weight, from)
	clear(w.sum)
	p.set.AddRows(w.sum, weight, rows)
	addTo(w.total.sum, w.sum)
	if p.m.Second != engine.NoSecond {
		p.weighRows(rows, from, count)
	}
	switch p.m.Second {
	case engine.DiagonalSecond:
		clear(w.square)
		for i := range count {
			for j, v := range rows[i*p.stride:][:p.stride] {
				w.square[j] += float64(v * v)
			}
		}
		addTo(w.total.second, w.square)
	case engine.FullSecond:
		p.set.AddGram(w.total.second, rows, count, p.problem.D)
	}
}

// weigh multiplies the weights of the terms of rows, beginning with row from, by the weights of their persons.
func (p *momentPass) weigh(weight []float64, from int) {
	if p.persons == nil {
		return
	}
	for i, v := range p.persons.weight[from:][:len(weight)] {
		weight[i] *= v
	}
}

// weighRows multiplies count rows, beginning with row from, by the square roots of the weights of their persons.
func (p *momentPass) weighRows(rows []float64, from, count int) {
	if p.persons == nil {
		return
	}
	for i, v := range p.persons.weight[from:][:count] {
		if v == 1 {
			continue
		}
		v = math.Sqrt(v)
		row := rows[i*p.stride:][:p.stride]
		for j := range row {
			row[j] *= v
		}
	}
}

// clip sets the rows of dst to x~ of the count rows x. A row of dst has stride numbers, and a row of x has d numbers.
//
// Proof that ||x~|| <= R. Let u = 2^-53, let z be the computed x - c, and let q be the
// computed sum of its d squares, of depth at most d/2 + 6 <= d + 8. Let e = (d + 24) 2^-51 =
// 4 (d + 24) u < 2^-18, and short <= R (1 - e)(1 + 2u). Numbers are far from overflow (R and
// the norms of x and c are at most 2^500), and squares that underflow change q by less than
// d 2^-1074 <= d 2^-74 R^2. So ||z||^2 <= q (1 + 2 (d + 9) u) + d 2^-74 R^2.
//   - The computed short/sqrt(q) is at least 1, and x~ = z: q <= short^2 (1 + 5u), so ||z||^2
//     <= R^2 (1 - 2e + e^2)(1 + 2 (d + 14) u) <= R^2, as 2e = 8 (d + 24) u.
//   - Otherwise x~_j is z_j s rounded, s the computed short/sqrt(q): ||x~|| <= R (1 - e)(1 + 6u)
//     ||z||/sqrt(q) + d 2^-1074 <= R (1 - e + (d + 20) u) <= R.
//
// QED. x~ is computed from x, c and R alone (kernels.ClipRows).
func (p *momentPass) clip(dst, x []float64, count int) {
	p.set.ClipRows(dst, x, p.centre, count, p.short)
}

// dotsGroups returns count, rounded up to a multiple of the group size of kernels.Dots.
func dotsGroups(count int) int {
	return (count + kernels.DotsRows - 1) / kernels.DotsRows * kernels.DotsRows
}

// slopes replaces the shares t in weight by a = sigmoid(w.x~ + c) - t of the clipped rows. rows
// holds whole groups of kernels.Dots. Rows beyond len(weight) are left over from other blocks,
// and their scores are not used.
//
// Proof that |a| <= 1 and that a is a function of one record, w and c (docs/theory.md#damped-steps).
// A score is a sum of products of a row and w in an order that depends on d alone (kernels.Dots for
// whole groups; a test checks every variant). Query.Validate keeps scores far from overflow, so a
// score is a number. kernels.Sigmoid maps each score alone to a number s that is in [0, 1] as
// computed: 1/(1 + e) with e >= 0, or e with e <= 1. t is in [0, 1], and rounding keeps the order of
// s - t, -1 and 1. QED
func (p *momentPass) slopes(weight, score, rows []float64) {
	p.set.Dots(score, rows, p.model)
	for i := range score {
		score[i] += p.m.Intercept
	}
	kernels.Sigmoid(score, score, 1, 1)
	for i, t := range weight {
		weight[i] = score[i] - t
	}
}

// turnstile lets jobs proceed one after the other, in their order.
type turnstile struct {
	sync.Mutex
	passed *sync.Cond
	next   int
}

func (t *turnstile) init() { t.passed = sync.NewCond(t) }

// take calls f after all earlier jobs have taken their turn. Every job that is started
// must take its turn, and jobs must be started in order.
func (t *turnstile) take(job int, f func()) {
	t.Lock()
	defer t.Unlock()
	for t.next != job {
		t.passed.Wait()
	}
	f()
	t.next++
	t.passed.Broadcast()
}
