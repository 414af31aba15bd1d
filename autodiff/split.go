package autodiff

import (
	"container/heap"
	"math"
)

// cell is a part of a range. Its bound is the priority of splitting it.
type cell struct {
	Interval
	bound float64
}

// cells is a heap of cells, the largest bound first.
type cells []cell

func (c cells) Len() int           { return len(c) }
func (c cells) Less(i, j int) bool { return c[i].bound > c[j].bound }
func (c cells) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *cells) Push(x any)        { *c = append(*c, x.(cell)) }
func (c *cells) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// halves splits a at a float64 strictly between its ends.
func (a Interval) halves() (l, r Interval, ok bool) {
	m := a.middle()
	if !(a.Lo < m && m < a.Hi) {
		m = math.Nextafter(a.Lo, a.Hi)
	}
	return Interval{a.Lo, m}, Interval{m, a.Hi}, a.Lo < m && m < a.Hi
}

// maximise bounds from above the supremum of a function over the parts, by branch and bound. at
// returns an upper bound of the function on an interval, and a lower bound of its value somewhere
// in the interval. maximise stops when the bound is within tolerance(best) of the largest value
// found, and after work evaluations. The bound is valid in both cases.
func maximise(parts []Interval, at func(Interval) (upper, found float64), tolerance func(best float64) float64,
	work int) (bound, best float64) {
	var open cells
	best = -inf
	push := func(c Interval) {
		work--
		upper, found := at(c)
		if upper != upper {
			upper = inf
		}
		best = math.Max(best, found)
		heap.Push(&open, cell{c, upper})
	}
	for _, p := range parts {
		push(p)
	}
	done := -inf // the largest bound of a cell that cannot be split
	for len(open) > 0 {
		top := open[0]
		if work <= 0 || top.bound <= done || top.bound <= best+tolerance(best) {
			return math.Max(done, top.bound), best
		}
		heap.Pop(&open)
		l, r, ok := top.halves()
		if !ok {
			done = top.bound
			continue
		}
		push(l)
		push(r)
	}
	return done, best
}
