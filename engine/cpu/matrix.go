package cpu

import (
	"dyad/engine"
	"dyad/kernels"
)

// matrix is the feature matrix of Records, dense or in compressed rows.
type matrix struct {
	set   *kernels.Set
	d     int
	dense []float64
	start []int64
	index []int32
	value []float64
}

func newMatrix(r *engine.Records, set *kernels.Set) matrix {
	m := matrix{set: set, d: r.Dim(), dense: r.Dense()}
	if r.IsSparse() {
		m.start, m.index, m.value = r.Sparse()
	}
	return m
}

// from is the matrix without its first rows.
func (m matrix) from(rows int) matrix {
	if m.start == nil {
		m.dense = m.dense[rows*m.d:]
		return m
	}
	m.start = m.start[rows:]
	return m
}

// dots sets dst to the scores of len(dst) rows from the given one on.
func (m matrix) dots(dst, w []float64, from int) {
	if m.start == nil {
		m.set.Dots(dst, m.dense[from*m.d:], w)
		return
	}
	kernels.SparseDots(dst, m.start[from:], m.index, m.value, w)
}

// add adds len(c) rows from the given one on, times c.
func (m matrix) add(acc, c []float64, from int) {
	if m.start == nil {
		m.set.AddRows(acc, c, m.dense[from*m.d:])
		return
	}
	kernels.SparseAddRows(acc, c, m.start[from:], m.index, m.value)
}

// gatherDots sets dst to the scores of selected rows.
func (m matrix) gatherDots(dst, w []float64, rows []int32) {
	if m.start == nil {
		m.set.GatherDots(dst, m.dense, w, rows)
		return
	}
	kernels.SparseGatherDots(dst, m.start, m.index, m.value, w, rows)
}

// gatherAdd adds selected rows times c.
func (m matrix) gatherAdd(acc, c []float64, rows []int32) {
	if m.start == nil {
		m.set.GatherAddRows(acc, c, m.dense, rows)
		return
	}
	kernels.SparseGatherAddRows(acc, c, m.start, m.index, m.value, rows)
}

// rows returns count rows from the given one on as a dense count x d matrix, in dst or, if
// they are stored like that, in place.
func (m matrix) rows(dst []float64, from, count int) []float64 {
	if m.start == nil {
		return m.dense[from*m.d:][:count*m.d]
	}
	dst = dst[:count*m.d]
	clear(dst)
	for i := range count {
		row := dst[i*m.d:][:m.d]
		for k := m.start[from+i]; k < m.start[from+i+1]; k++ {
			row[m.index[k]] = m.value[k]
		}
	}
	return dst
}

// difference sets dst (length d) to row i minus row j.
func (m matrix) difference(dst []float64, i, j int) {
	if m.start == nil {
		x, z := m.dense[i*m.d:][:len(dst)], m.dense[j*m.d:][:len(dst)]
		for k := range dst {
			dst[k] = x[k] - z[k]
		}
		return
	}
	m.rows(dst, i, 1)
	for k := m.start[j]; k < m.start[j+1]; k++ {
		dst[m.index[k]] -= m.value[k]
	}
}
