package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// mostTogether bounds the number of rows of a part. Each query group is cut into parts, and a record is compared only
// with the records of its part. A group of s records has ceil(s/most) parts, where most is mostTogether divided by the
// cap on the rows of a person, but at least 2. Each part has one of the first `parts` places of its group, one of the next
// ones and so on (groupPart.place). So the parts depend only on public sizes, on places and on the cap on rows.
const mostTogether = 64

// groupPart is the part with the given number, of `parts`, of a group with `group` records from the place from on.
type groupPart struct{ from, group, number, parts, size int }

// place returns the place of record i of the part. The parts share each run of `parts` places, and the offset of a part in
// the run changes from run to run by the golden ratio. So a part has both classes if a group is sorted by label, and
// if its labels alternate.
func (p groupPart) place(i int) int {
	width := min(p.parts, p.group-i*p.parts) // fewer at the end of the group
	turn := int(uint64(uint32(i)*2654435769) * uint64(width) >> 32)
	return p.from + i*p.parts + (p.number+turn)%width
}

// partsOfGroups returns the parts with at least 2 records of a problem, sorted by size.
func partsOfGroups(p Problem) (parts []groupPart) {
	from, most := 0, max(2, mostTogether/max(1, p.PersonRows))
	for _, s := range p.Groups {
		count := (s + most - 1) / most
		for i := range count {
			if size := (s - i + count - 1) / count; size > 1 {
				parts = append(parts, groupPart{from, s, i, count, size})
			}
		}
		from += s
	}
	slices.SortStableFunc(parts, func(a, b groupPart) int { return cmp.Compare(a.size, b.size) })
	return parts
}

// Together returns the number of records in the largest of the parts into which query groups are cut (see
// mostTogether). It also returns the sum of the weights of all pairs within parts. A pair within a part of m records
// has weight 1/m.
func Together(of Problem) (largest int, weight float64) {
	for _, p := range partsOfGroups(of) {
		largest, weight = max(largest, p.size), weight+float64(p.size-1)/2
	}
	return largest, weight
}

// PlanGroupMoments plans two sums over pairs of records, for a problem with groups. Query groups are cut into parts
// (see mostTogether). Only pairs within a part count. The two sums have the terms a x~ and x~ x~^T:
//
//	sum over parts of 1/m times the sum over its pairs i < j of   a x~,   x~ x~^T,   x~ = clip(x_i - x_j), a = (y_i - y_j)/(2 B),
//
// where m is the number of records of the part and B = Bounds.LabelAbs. Queries are Signed and have no Offset, Centre,
// Class or W. Positives is 0. The backend b treats each pair as one record: the difference of its two records. The
// computed a and x~ satisfy |a| <= 1 and ||x~|| <= Radius. Every bit of a and x~ depends on the two records alone
// (docs/theory.md#group-moments). If records are persons, b treats each pair as one person. The rows of this person
// are the differences between every row of the first person and every row of the second person. The term of the pair
// is the mean of the terms of these rows.
func PlanGroupMoments(b Backend, p Problem) (Kernel, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	k := &groupMoments{problem: p, inner: map[int]Kernel{}}
	atOnce := max(1<<22/p.D, mostTogether*mostTogether/2) // in rows; the differences take 32 MB
	for parts := partsOfGroups(p); len(parts) > 0; {
		pairs, count := parts[0].size*(parts[0].size-1)/2, 1
		for count < len(parts) && parts[count].size == parts[0].size && (count+1)*pairs <= atOnce/k.rowsOfPair() {
			count++
		}
		k.blocks = append(k.blocks, parts[:count])
		parts = parts[count:]
		n := max(count*pairs, 2)
		if k.inner[n] != nil {
			continue
		}
		of := Problem{N: n, D: p.D, PersonRows: p.PersonRows * p.PersonRows, Radius: 1, Loss: Logistic{},
			LabelValues: AnyLabels, Bounds: Bounds{FeatureNorm: 2 * p.Bounds.FeatureNorm * (1 + 0x1p-40), LabelAbs: 1}}
		var err error
		if k.inner[n], err = b.PlanMoments(of); err != nil {
			return nil, err
		}
	}
	if len(k.blocks) == 0 {
		return nil, errors.New("engine: no query group has 2 records")
	}
	return k, nil
}

// groupMoments sums parts of one size in blocks.
type groupMoments struct {
	problem Problem
	blocks  [][]groupPart
	inner   map[int]Kernel // by the number of pairs of a block, at least 2
}

// pairs returns the number of pairs of a block, and the number of records of the kernel that sums the block.
func (k *groupMoments) pairs(block []groupPart) (pairs, records int) {
	m := block[0].size
	pairs = len(block) * m * (m - 1) / 2
	return pairs, max(pairs, 2)
}

// rowsOfPair returns the largest number of differences of a pair.
func (k *groupMoments) rowsOfPair() int {
	return max(1, k.problem.PersonRows) * max(1, k.problem.PersonRows)
}

// Pairs returns the number of all pairs.
func (k *groupMoments) Pairs() (n float64) {
	for _, b := range k.blocks {
		pairs, _ := k.pairs(b)
		n += float64(pairs)
	}
	return n
}

func (k *groupMoments) Problem() Problem { return k.problem }
func (k *groupMoments) Method() string   { return "moments of pairs within query groups" }

// Bounds implements Kernel. An evaluator holds the differences of a block and their labels.
//
// Proof. Each part of a block has m records. The error of the sum of a block is at most the error of the block's
// kernel. The sum is divided by m, with one rounding. Then the sums of all blocks are added, with one rounding for
// each block. So every entry passes at most blocks + 1 roundings. The norms of all computed terms add up to at most
// the bound below. Underflow in a division changes each entry by at most 2^-1075 for each block. QED
func (k *groupMoments) Bounds(q Query) QueryBounds {
	var e QueryBounds
	if q.Pairs != nil {
		e = Unanswered()
	}
	d := float64(k.problem.D)
	var sum, square float64
	for _, b := range k.blocks {
		pairs, records := k.pairs(b)
		kernel := k.inner[records]
		m, inner := float64(b[0].size), kernel.Bounds(q)
		e.Sum, e.Second = e.Sum+inner.Sum/m, e.Second+inner.Second/m
		sum += (float64(pairs)*q.Radius + inner.Sum) / m
		square += (float64(pairs)*q.Radius*q.Radius + inner.Second) / m
		e.Bytes = max(e.Bytes, 8*float64(records*k.rowsOfPair())*(d+1)+inner.Memory(kernel.Problem()))
	}
	const up = 1 + 0x1p-30
	lost := float64(len(k.blocks)) * 0x1p-1074
	adding := Gamma(len(k.blocks) + 1)
	e.Sum = (e.Sum + adding*sum + lost*d) * up
	if q.Second != NoSecond {
		e.Second = (e.Second + adding*square + lost*d*d) * up
	}
	return e
}

// Bind implements Kernel.
func (k *groupMoments) Bind(r *Records) (Evaluator, error) {
	if err := k.problem.Fits(r); err != nil {
		return nil, err
	}
	return &groupMomentsEvaluator{groupMoments: k, records: r}, nil
}

type groupMomentsEvaluator struct {
	*groupMoments
	records *Records
}

func (e *groupMomentsEvaluator) Kernel() Kernel { return e.groupMoments }
func (e *groupMomentsEvaluator) Close() error   { return nil }

// Sum implements Evaluator.
func (e *groupMomentsEvaluator) Sum(ctx context.Context, dst []float64, q Query) error {
	if _, err := e.problem.CheckMoments(ctx, dst, q); err != nil {
		return err
	}
	if !q.Signed || q.Offset != 0 || q.Centre != nil || q.Class != 0 || q.W != nil {
		return errors.New("engine: moments of query groups need Signed; leave Offset, Centre, Class and W unset")
	}
	clear(dst)
	part := make([]float64, len(dst))
	for _, b := range e.blocks {
		if err := e.sum(ctx, part, q, b); err != nil {
			return err
		}
		size := float64(b[0].size)
		for k, v := range part[1:] { // no positives
			dst[1+k] += v / size
		}
	}
	return nil
}

// sum sets dst to the sums over the pairs of a block, without the weight 1/m.
func (e *groupMomentsEvaluator) sum(ctx context.Context, dst []float64, q Query, block []groupPart) error {
	d, labels := e.problem.D, e.records.Labels()
	_, n := e.pairs(block)
	inner := e.inner[n]
	differences := 1
	for _, p := range block {
		before := 0
		for i := range p.size {
			from, to := e.records.UnitRows(p.place(i))
			differences, before = differences+before*(to-from), before+to-from
		}
	}
	x, y := make([]float64, 0, differences*d), make([]float64, 0, differences)
	var rows []float64
	// first row of each record of a part, and first difference of each pair
	starts, first := make([]int, block[0].size+1), make([]int, 1, n+1)
	for _, p := range block {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rows = rows[:0]
		for i := range p.size {
			from, to := e.records.UnitRows(p.place(i))
			starts[i+1] = starts[i] + to - from
			for row := from; row < to; row++ {
				rows = append(rows, make([]float64, d+1)...)
				e.records.Row(row, rows[len(rows)-d-1:][:d])
				rows[len(rows)-1] = labels[row]
			}
			for j := range i {
				for a := starts[j]; a < starts[j+1]; a++ {
					for b := starts[i]; b < starts[i+1]; b++ {
						one, other := rows[a*(d+1):][:d+1], rows[b*(d+1):][:d+1]
						for k, v := range other[:d] {
							x = append(x, one[k]-v)
						}
						y = append(y, (one[d]-other[d])/(2*e.problem.Bounds.LabelAbs))
					}
				}
				first = append(first, len(y))
			}
		}
	}
	if len(first) == n { // a single pair gets a second record, which is zero
		x, y, first = append(x, make([]float64, d)...), append(y, 0), append(first, len(y)+1)
	}
	records, err := AdoptRecords(x, y, d, inner.Problem().Bounds)
	if err == nil && e.records.ByPerson() {
		records, err = records.WithPersons(first, e.rowsOfPair())
	}
	if err != nil {
		return err
	}
	ev, err := inner.Bind(records)
	if err != nil {
		return err
	}
	return errors.Join(ev.Sum(ctx, dst, q), ev.Close())
}

// Holder is an Evaluator in a single process that holds all records. Held returns these records.
type Holder interface {
	Evaluator
	Held() *Records
}
