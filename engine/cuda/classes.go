package cuda

import (
	"slices"

	"dyad/engine"
)

// classes are the records of each label, which follow each other on the GPU.
type classes struct {
	values []float64 // the labels, increasing
	start  []int     // len(values)+1 rows
	order  []int32   // record of a row
	slot   []int32   // row of a record
}

// classesOf sorts records by their labels, records of one label in their own order.
func classesOf(r *engine.Records) classes {
	y := r.Labels()
	var c classes
	for _, v := range y {
		if at, ok := slices.BinarySearch(c.values, v); !ok {
			c.values = slices.Insert(c.values, at, v)
		}
	}
	next := make([]int, len(c.values)+1)
	for _, v := range y {
		at, _ := slices.BinarySearch(c.values, v)
		next[at+1]++
	}
	for a := range c.values {
		next[a+1] += next[a]
	}
	c.start = slices.Clone(next)
	c.order, c.slot = make([]int32, len(y)), make([]int32, len(y))
	for i, v := range y {
		at, _ := slices.BinarySearch(c.values, v)
		c.slot[i], c.order[next[at]] = int32(next[at]), int32(i)
		next[at]++
	}
	return c
}
