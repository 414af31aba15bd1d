package cpu

import (
	"dyad/engine"
	"dyad/kernels"
)

// matrix is the feature matrix of Records, dense or in compressed rows.
type matrix struct {
	d     int
	dense []float64
	start []int64
	index []int32
	value []float64
}

func newMatrix(r *engine.Records) matrix {
	m := matrix{d: r.Dim(), dense: r.Dense()}
	if r.IsSparse() {
		m.start, m.index, m.value = r.Sparse()
	}
	return m
}

// longestRow is the largest number of stored features in a row.
func (m matrix) longestRow() int {
	if m.start == nil {
		return m.d
	}
	longest := 0
	for i := 1; i < len(m.start); i++ {
		longest = max(longest, int(m.start[i]-m.start[i-1]))
	}
	return longest
}

// dots sets dst to the scores of len(dst) rows from the given one on.
func (m matrix) dots(dst, w []float64, from int) {
	if m.start == nil {
		kernels.Dots(dst, m.dense[from*m.d:], w)
		return
	}
	kernels.SparseDots(dst, m.start[from:], m.index, m.value, w)
}

// add adds len(c) rows from the given one on, times c.
func (m matrix) add(acc, c []float64, from int) {
	if m.start == nil {
		kernels.AddRows(acc, c, m.dense[from*m.d:])
		return
	}
	kernels.SparseAddRows(acc, c, m.start[from:], m.index, m.value)
}

// gatherDots sets dst to the scores of selected rows.
func (m matrix) gatherDots(dst, w []float64, rows []int32) {
	if m.start == nil {
		kernels.GatherDots(dst, m.dense, w, rows)
		return
	}
	kernels.SparseGatherDots(dst, m.start, m.index, m.value, w, rows)
}

// gatherAdd adds selected rows times c.
func (m matrix) gatherAdd(acc, c []float64, rows []int32) {
	if m.start == nil {
		kernels.GatherAddRows(acc, c, m.dense, rows)
		return
	}
	kernels.SparseGatherAddRows(acc, c, m.start, m.index, m.value, rows)
}
