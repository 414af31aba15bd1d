package cpu

import (
	"sync"

	"dyad/engine"
	"dyad/kernels"
)

// matrix is the feature matrix of Records. It is dense, dense in float32, in compressed rows, or
// consists of rows of a dense matrix in another order. All sums read rows of records through a
// matrix. For every storage, the same kernels sum the same numbers, so the bits of the sums are the
// same.
type matrix struct {
	set    *kernels.Set
	d      int
	dense  []float64
	narrow []float32
	start  []int64
	index  []int32
	value  []float64

	part []float32 // stored rows, if the records are in another order
	at   []int32   // the row of each record in part

	records *engine.Records
	room    *sync.Pool // pool of *[]float64 for rows that are copied
}

func newMatrix(r *engine.Records, set *kernels.Set) matrix {
	m := matrix{set: set, d: r.Dim(), dense: r.Dense(), narrow: r.Narrow(), records: r}
	if r.IsSparse() {
		m.start, m.index, m.value = r.Sparse()
	}
	if x, at := r.NarrowPlaces(); at != nil {
		m.part, m.at = x, at
	}
	m.room = &sync.Pool{New: func() any { return new([]float64) }}
	return m
}

// copied calls use with scratch space for the given number of rows.
func (m matrix) copied(rows int, use func(room []float64)) {
	room := m.room.Get().(*[]float64)
	if len(*room) < rows*m.d {
		*room = make([]float64, rows*m.d)
	}
	use((*room)[:rows*m.d])
	m.room.Put(room)
}

// copiedRows is the number of rows that dots copies at a time. It is a multiple of the number
// of rows that the kernels process together.
const copiedRows = 256

// dots sets dst to the scores of len(dst) rows, beginning with row from.
func (m matrix) dots(dst, w []float64, from int) {
	switch {
	case m.dense != nil:
		m.set.Dots(dst, m.dense[from*m.d:], w)
	case m.narrow != nil:
		m.set.NarrowDots(dst, m.narrow[from*m.d:], w)
	case m.start != nil:
		kernels.SparseDots(dst, m.start[from:], m.index, m.value, w)
	case m.part != nil:
		m.set.GatherNarrowDots(dst, m.part, w, m.at[from:][:len(dst)])
	default:
		m.copied(min(len(dst), copiedRows), func(room []float64) {
			for len(dst) > 0 {
				rows := min(len(dst), copiedRows)
				m.set.Dots(dst[:rows], m.records.Rows(room, from, rows), w)
				dst, from = dst[rows:], from+rows
			}
		})
	}
}

// add adds len(c) rows, each multiplied by its number in c, beginning with row from.
func (m matrix) add(acc, c []float64, from int) {
	switch {
	case m.dense != nil:
		m.set.AddRows(acc, c, m.dense[from*m.d:])
	case m.narrow != nil:
		m.set.NarrowAddRows(acc, c, m.narrow[from*m.d:])
	case m.start != nil:
		kernels.SparseAddRows(acc, c, m.start[from:], m.index, m.value)
	case m.part != nil:
		m.set.GatherNarrowAddRows(acc, c, m.part, m.at[from:][:len(c)])
	default:
		m.copied(len(c), func(room []float64) { m.set.AddRows(acc, c, m.records.Rows(room, from, len(c))) })
	}
}

// gatherDots sets dst to the scores of selected rows.
func (m matrix) gatherDots(dst, w []float64, rows []int32) {
	switch {
	case m.dense != nil:
		m.set.GatherDots(dst, m.dense, w, rows)
	case m.start != nil:
		kernels.SparseGatherDots(dst, m.start, m.index, m.value, w, rows)
	default:
		m.gathered(rows, func(x []float64, rows []int32) { m.set.GatherDots(dst, x, w, rows) })
	}
}

// gatherAdd adds the selected rows, each multiplied by its number in c.
func (m matrix) gatherAdd(acc, c []float64, rows []int32) {
	switch {
	case m.dense != nil:
		m.set.GatherAddRows(acc, c, m.dense, rows)
	case m.start != nil:
		kernels.SparseGatherAddRows(acc, c, m.start, m.index, m.value, rows)
	default:
		m.gathered(rows, func(x []float64, rows []int32) { m.set.GatherAddRows(acc, c, x, rows) })
	}
}

// gathered calls use with copies of the selected rows and with the places of the rows in the copy.
func (m matrix) gathered(rows []int32, use func(x []float64, rows []int32)) {
	m.copied(len(rows), func(room []float64) {
		places := make([]int32, len(rows))
		for k, i := range rows {
			places[k] = int32(k)
			m.records.Row(int(i), room[k*m.d:][:m.d])
		}
		use(room, places)
	})
}

// rows returns count rows, beginning with row from, as a dense count x d matrix. If the
// rows are stored in this form, the result is a part of the stored matrix. Otherwise it is
// a copy in dst.
func (m matrix) rows(dst []float64, from, count int) []float64 {
	if m.dense != nil {
		return m.dense[from*m.d:][:count*m.d]
	}
	return m.records.Rows(dst, from, count)
}

// difference sets dst, which has length d, to row i minus row j.
func (m matrix) difference(dst []float64, i, j int) {
	switch {
	case m.dense != nil:
		x, z := m.dense[i*m.d:][:len(dst)], m.dense[j*m.d:][:len(dst)]
		for k := range dst {
			dst[k] = x[k] - z[k]
		}
	case m.start != nil:
		m.rows(dst, i, 1)
		for k := m.start[j]; k < m.start[j+1]; k++ {
			dst[m.index[k]] -= m.value[k]
		}
	default:
		m.records.Row(i, dst)
		m.copied(1, func(z []float64) {
			m.records.Row(j, z)
			for k := range dst {
				dst[k] -= z[k]
			}
		})
	}
}
