package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// SubsetPairs are all ordered pairs of different records of a subset. The subset consists
// of the records Order[From], ..., Order[From+N-1]. Order is a permutation of all
// records. If Order is nil, the permutation is the identity. Order must not depend on the
// data.
type SubsetPairs struct {
	Order   []int32
	From, N int // N >= 2
}

// Len returns N(N-1).
func (p SubsetPairs) Len() int64 { return AllPairs{N: p.N}.Len() }

// MaxPerRecord returns 2(N-1).
func (p SubsetPairs) MaxPerRecord() int64 { return AllPairs{N: p.N}.MaxPerRecord() }

func (SubsetPairs) pairs() {}

// Parts is a Backend for sums of gradients over SubsetPairs whose N is in Sizes. For each
// size it uses the method that Backend plans for this number of records. It cannot sum
// over other pairs.
type Parts struct {
	Backend
	Sizes []int // each from 2 to Problem.N
}

// Plan returns a kernel with one inner kernel for each size.
func (b Parts) Plan(p Problem) (Kernel, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if len(p.Groups) > 0 {
		return nil, fmt.Errorf("%w: a problem cannot have both parts and query groups", ErrUnsupported)
	}
	if len(b.Sizes) == 0 {
		return nil, errors.New("engine: Parts.Sizes is empty")
	}
	k := &partsKernel{problem: p, inner: make(map[int]Kernel), largest: slices.Max(b.Sizes)}
	for _, size := range b.Sizes {
		if size < 2 || size > p.N {
			return nil, fmt.Errorf("engine: Parts.Sizes has a part of %d records, want 2 to %d", size, p.N)
		}
		if k.inner[size] != nil {
			continue
		}
		one := p
		one.N = size
		kernel, err := b.Backend.Plan(one)
		if err != nil {
			return nil, err
		}
		k.inner[size] = kernel
	}
	return k, nil
}

type partsKernel struct {
	problem Problem
	inner   map[int]Kernel // inner kernels by the size of the part
	largest int
}

func (k *partsKernel) Problem() Problem { return k.problem }

func (k *partsKernel) Method() string {
	return fmt.Sprintf("%s, on parts of at most %d records", k.inner[k.largest].Method(), k.largest)
}

// Bounds implements Kernel. It returns the error bounds of the inner kernel, which computes the sum on a copy of the
// records of the part. Bytes includes this copy. The bound Neighbour also holds for two different parts if their
// copies differ in only one place.
//
// Proof. The inner kernel computes the sum on a copy of the records of the part, in the order
// of the part. If the part does not contain the record that differs, the copies and the sums
// are the same. Otherwise the copies are two data sets of N records that differ in one
// record, which has the same place in each copy. The same holds if the second part has
// another record in this place. The inner kernel's bound holds for two such data sets, and
// its terms depend on places in the copy. Sampling without replacement compares two such
// parts, the first with record k in the place where the second has record j:
// docs/theory.md#batches. QED
func (k *partsKernel) Bounds(q Query) QueryBounds {
	s, ok := q.Pairs.(SubsetPairs)
	if !ok || k.inner[s.N] == nil {
		none := Unanswered()
		none.Make = k.inner[k.largest].Bounds(Query{Pairs: AllPairs{N: k.largest}}).Make
		return none
	}
	q.Pairs = AllPairs{N: s.N}
	inner := k.inner[s.N]
	b := inner.Bounds(q)
	features := k.problem.D
	if k.problem.NonZerosPerRow > 0 {
		features = 3 * k.problem.NonZerosPerRow / 2 // a stored feature has an index
	}
	b.Bytes = b.Memory(inner.Problem()) + 8*float64(s.N)*float64(1+features)
	return b
}

func (k *partsKernel) Bind(r *Records) (Evaluator, error) {
	if err := k.problem.Fits(r); err != nil {
		return nil, err
	}
	return &partsEvaluator{kernel: k, records: r}, nil
}

// partsEvaluator keeps the part of the last call bound. So a descent that processes one
// part after the other copies each part once.
type partsEvaluator struct {
	kernel  *partsKernel
	records *Records
	rows    []int // the records of the bound part
	part    Evaluator
}

func (e *partsEvaluator) Kernel() Kernel { return e.kernel }

func (e *partsEvaluator) Sum(ctx context.Context, dst []float64, q Query) error {
	s, ok := q.Pairs.(SubsetPairs)
	if !ok {
		return fmt.Errorf("%w: this kernel takes pairs as SubsetPairs, not as %T", ErrUnsupported, q.Pairs)
	}
	if err := e.bind(s); err != nil {
		return err
	}
	q.Pairs = AllPairs{N: s.N}
	return e.part.Sum(ctx, dst, q)
}

// bind binds the records of s unless they are bound already.
func (e *partsEvaluator) bind(s SubsetPairs) error {
	n := e.records.Units()
	inner := e.kernel.inner[s.N]
	if inner == nil || s.From < 0 || s.From > n-s.N || s.Order != nil && len(s.Order) != n {
		return fmt.Errorf("engine: SubsetPairs has places %d to %d and an Order of length %d, but there are %d "+
			"records; or its size is not in Parts.Sizes", s.From, s.From+s.N-1,
			len(s.Order), n)
	}
	row := func(i int) int {
		if s.Order == nil {
			return s.From + i
		}
		return int(s.Order[s.From+i])
	}
	if e.part != nil && len(e.rows) == s.N {
		same := true
		for i := 0; same && i < s.N; i++ {
			same = e.rows[i] == row(i)
		}
		if same {
			return nil
		}
	}
	rows, seen := make([]int, s.N), make(map[int]bool, s.N)
	for i := range rows {
		rows[i] = row(i)
		if rows[i] < 0 || rows[i] >= n || seen[rows[i]] {
			return fmt.Errorf("engine: SubsetPairs.Order has an entry outside 0 to %d, or an entry twice", n-1)
		}
		seen[rows[i]] = true
	}
	if err := e.Close(); err != nil {
		return err
	}
	part, err := inner.Bind(e.records.UnitSubset(rows))
	if err != nil {
		return err
	}
	e.part, e.rows = part, rows
	return nil
}

func (e *partsEvaluator) Close() error {
	if e.part == nil {
		return nil
	}
	part := e.part
	e.part, e.rows = nil, nil
	return part.Close()
}
