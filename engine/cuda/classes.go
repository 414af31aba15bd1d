package cuda

import (
	"slices"

	"dyad/engine"
)

// classes is the order of the rows on the GPU. Groups follow one another. In a sorted group, the records of
// each label are contiguous.
type classes struct {
	values []float64 // the labels, increasing
	groups [][]int   // for each sorted group, len(values)+1 rows: the first row of each label and the end
	order  []int32   // record of a row
	slot   []int32   // row of a record
}

// classesOf sorts the records of each group for which sorted returns true by label. Records of one label keep
// their order. sizes holds the sizes of the groups.
func classesOf(r *engine.Records, sizes []int, sorted func(size int) bool) classes {
	y := r.Labels()
	c := classes{values: r.DifferentLabels(len(y)), order: make([]int32, len(y)), slot: make([]int32, len(y))}
	from := 0
	for _, size := range sizes {
		to := from + size
		if sorted(size) {
			c.sort(y, from, to)
		} else {
			for i := from; i < to; i++ {
				c.slot[i], c.order[i] = int32(i), int32(i)
			}
		}
		from = to
	}
	return c
}

// sort places the records from <= i < to, ordered by label, in the rows from to to-1.
func (c *classes) sort(y []float64, from, to int) {
	next := make([]int, len(c.values)+1)
	for _, v := range y[from:to] {
		at, _ := slices.BinarySearch(c.values, v)
		next[at+1]++
	}
	next[0] = from
	for a := range c.values {
		next[a+1] += next[a]
	}
	c.groups = append(c.groups, slices.Clone(next))
	for i := from; i < to; i++ {
		at, _ := slices.BinarySearch(c.values, y[i])
		c.slot[i], c.order[next[at]] = int32(next[at]), int32(i)
		next[at]++
	}
}
