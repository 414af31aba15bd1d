package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// GroupPairs are the ordered pairs of different records of the same group. They are for
// ranking within public query groups. Group g holds Sizes[g] consecutive records.
type GroupPairs struct{ Sizes []int }

// Len returns the sum of s(s-1) over the group sizes s.
func (p GroupPairs) Len() int64 {
	var sum int64
	for _, s := range p.Sizes {
		sum += AllPairs{N: s}.Len()
	}
	return sum
}

// MaxPerRecord returns 2(s-1) for the largest group size s.
func (p GroupPairs) MaxPerRecord() int64 {
	return AllPairs{N: slices.Max(p.Sizes)}.MaxPerRecord()
}

func (GroupPairs) pairs() {}

// Pairs returns the pairs over which the problem's objective averages. These are the
// pairs within groups, or all pairs if the problem has no groups.
func (p Problem) Pairs() Pairs {
	if len(p.Groups) > 0 {
		return GroupPairs{Sizes: p.Groups}
	}
	return AllPairs{N: p.N}
}

// Grouped adds query groups to a Backend. If the backend has no method for a problem with
// groups, Grouped plans each group separately. The gradient sum is then the sum of the
// gradient sums of the groups, which are added in order.
type Grouped struct{ Backend }

// Plan returns the kernel of the inner backend. If the problem has groups and the inner
// backend has no method for groups, the kernel consists of one inner kernel for each
// group size.
func (b Grouped) Plan(p Problem) (Kernel, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	whole, err := b.Backend.Plan(p)
	if len(p.Groups) == 0 || err != nil && !errors.Is(err, ErrUnsupported) {
		return whole, err
	}
	if err == nil && !math.IsInf(whole.Bounds(Query{Pairs: p.Pairs()}).Sum, 1) {
		return whole, nil
	}
	k := &groupedKernel{problem: p, inner: make(map[int]Kernel)}
	for _, size := range p.Groups {
		if size < 2 || k.inner[size] != nil {
			continue
		}
		one := p
		one.N, one.Groups = size, nil
		kernel, err := b.Backend.Plan(one)
		if err != nil {
			return nil, err
		}
		k.inner[size] = kernel
	}
	return k, nil
}

type groupedKernel struct {
	problem Problem
	inner   map[int]Kernel // inner kernels by group size; a group has at least 2 records
}

func (k *groupedKernel) Problem() Problem { return k.problem }

func (k *groupedKernel) Method() string {
	largest := slices.Max(k.problem.Groups)
	return fmt.Sprintf("%s, within %d groups", k.inner[largest].Method(), len(k.problem.Groups))
}

// Bounds implements Kernel. Sum adds the bounds of all groups, and a bound of the rounding
// error when the G vectors of the groups are added. The norm of a group's vector is at most
// its number of pairs times the Lipschitz constant G_l. So this rounding error is at most
// gamma_G times the sum of these norms. Neighbour follows from the largest bound of a group
// and from this rounding error.
//
// Proof. Let D and D' differ in a record of group h. Let e_g be the computed sum of group
// g minus its exact sum; QueryBounds.Neighbour defines "exact". Every other group g has
// the same records and w in D and D', so its computed sum has the same bits and e_g is the
// same. e_h changes by at most twice its bound. The rounding error of adding the vectors
// is at most gamma_G times the sum of the norms, so it changes by at most twice this
// number. QED
func (k *groupedKernel) Bounds(q Query) QueryBounds {
	g, ok := q.Pairs.(GroupPairs)
	if !ok || !slices.Equal(g.Sizes, k.problem.Groups) {
		return Unanswered()
	}
	c, err := k.problem.Loss.Constants(k.problem.Bounds, k.problem.Radius)
	if err != nil {
		return Unanswered()
	}
	var all QueryBounds
	var size float64
	for _, s := range g.Sizes {
		if s < 2 {
			continue
		}
		pairs := AllPairs{N: s}
		b := k.inner[s].Bounds(Query{Pairs: pairs})
		all.Sum += b.Sum
		all.Neighbour = max(all.Neighbour, b.OneRecord())
		all.Seconds, all.Make = all.Seconds+b.Seconds, b.Make
		size += float64(pairs.Len())*c.Lipschitz + b.Sum
	}
	adding := Gamma(len(g.Sizes)+1) * size
	all.Sum, all.Neighbour = (all.Sum+adding)*(1+0x1p-40), (all.Neighbour+adding)*(1+0x1p-40)
	return all
}

func (k *groupedKernel) Bind(r *Records) (Evaluator, error) {
	if err := k.problem.Fits(r); err != nil {
		return nil, err
	}
	e := &groupedEvaluator{kernel: k, part: make([]float64, k.problem.Loss.ParamDim(k.problem.D))}
	from := 0
	for _, size := range k.problem.Groups {
		rows := r.unitRange(from, from+size)
		from += size
		if size < 2 {
			continue
		}
		inner, err := k.inner[size].Bind(rows)
		if err != nil {
			return nil, errors.Join(err, e.Close())
		}
		e.groups = append(e.groups, inner)
	}
	return e, nil
}

type groupedEvaluator struct {
	kernel *groupedKernel
	groups []Evaluator
	part   []float64
}

func (e *groupedEvaluator) Kernel() Kernel { return e.kernel }

func (e *groupedEvaluator) Sum(ctx context.Context, dst []float64, q Query) error {
	if g, ok := q.Pairs.(GroupPairs); !ok || !slices.Equal(g.Sizes, e.kernel.problem.Groups) {
		return fmt.Errorf("engine: a grouped problem sums over its own GroupPairs, not over %T", q.Pairs)
	}
	clear(dst)
	for _, g := range e.groups {
		q.Pairs = AllPairs{N: g.Kernel().Problem().N}
		if err := g.Sum(ctx, e.part, q); err != nil {
			return err
		}
		for k, v := range e.part {
			dst[k] += v
		}
	}
	return nil
}

func (e *groupedEvaluator) Close() error {
	var err error
	for _, g := range e.groups {
		err = errors.Join(err, g.Close())
	}
	return err
}

// ChoosePairs returns p with new candidates: the products of any two different features.
// Training chooses the given number of them (Candidates.Choose).
func (p Problem) ChoosePairs(choose int) Problem {
	p.Candidates = Candidates{Choose: choose, Ratio: 1, Plain: 1}
	for b := range p.D {
		for a := range b {
			p.Candidates.Products = append(p.Candidates.Products, Product{A: a, WidthA: 1, B: b, WidthB: 1, Scale: 1})
		}
	}
	return p
}
