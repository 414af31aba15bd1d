package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// shard marks records that are a part of a data set: its units from first on, of total.
type shard struct{ first, total int }

// Shard copies the units from and to-1 of r: rows, or persons with all their rows. It knows its
// place in r, and only kernels of a Team bind it. All units are r itself, and rows in a file stay there.
func (r *Records) Shard(from, to int) *Records {
	if from == 0 && to == r.Units() {
		return r
	}
	var s *Records
	if r.stored && !r.ByPerson() {
		s = r.Range(from, to)
	} else {
		units := make([]int, to-from)
		for i := range units {
			units[i] = from + i
		}
		s = r.UnitSubset(units)
	}
	s.shard = &shard{first: r.First() + from, total: r.Total()}
	return s
}

// IsShard reports whether r holds some units of a data set only, as Shard makes them.
func (r *Records) IsShard() bool { return r.shard != nil }

// Total is the number of units of the data set that r is, or is a shard of.
func (r *Records) Total() int {
	if r.shard == nil {
		return r.Units()
	}
	return r.shard.total
}

// First is the place of the first unit of r in that data set.
func (r *Records) First() int {
	if r.shard == nil {
		return 0
	}
	return r.shard.first
}

// Within returns the rows of the units from and to-1 of the data set, as places in r. It fails if
// r does not hold them.
func (r *Records) Within(from, to int) (first, end int, err error) {
	at := r.First()
	switch {
	case from >= to:
		return 0, 0, nil
	case from < at || to > at+r.Units():
		return 0, 0, fmt.Errorf("engine: records %d to %d are needed, and this process holds %d to %d", from, to-1, at, at+r.Units()-1)
	}
	first, _ = r.UnitRows(from - at)
	_, end = r.UnitRows(to - 1 - at)
	return first, end, nil
}

// digestUnits is the number of consecutive units of one of Digests.
const digestUnits = 256

// Digests are the SHA-256 of each run of digestUnits units from the given one of r on, one after
// the other; the last run may be shorter. The digests of a data set are the digests of its
// shards, joined.
func (r *Records) Digests(from, to int) []byte {
	runs := max(0, (to-from+digestUnits-1)/digestUnits)
	out := make([]byte, runs*sha256.Size)
	eachOf(runs, 16, func(k int) {
		h, text := sha256.New(), []byte(nil)
		row := r.rowText()
		for u := from + k*digestUnits; u < min(from+(k+1)*digestUnits, to); u++ {
			first, end := r.UnitRows(u)
			if text = text[:0]; r.ByPerson() {
				text = binary.LittleEndian.AppendUint64(text, uint64(end-first))
			}
			for i := first; i < end; i++ {
				text = row(text, i)
			}
			_, _ = h.Write(text)
		}
		h.Sum(out[k*sha256.Size : k*sha256.Size : (k+1)*sha256.Size])
	})
	return out
}

// rowText returns a function that appends label and features of a row to text: all d of a dense row, of a
// compressed one the stored ones, with their number and columns.
func (r *Records) rowText() func(text []byte, i int) []byte {
	order := binary.LittleEndian
	if r.IsSparse() {
		return func(text []byte, i int) []byte {
			text = order.AppendUint64(text, math.Float64bits(r.y[i]))
			text = order.AppendUint64(text, uint64(r.start[i+1]-r.start[i]))
			for k := r.start[i]; k < r.start[i+1]; k++ {
				text = order.AppendUint64(order.AppendUint32(text, uint32(r.index[k])), math.Float64bits(r.value[k]))
			}
			return text
		}
	}
	row := make([]float64, r.d)
	return func(text []byte, i int) []byte {
		r.Row(i, row)
		text = order.AppendUint64(text, math.Float64bits(r.y[i]))
		for _, v := range row {
			text = order.AppendUint64(text, math.Float64bits(v))
		}
		return text
	}
}
