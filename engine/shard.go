package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// Shard returns a copy of the units of r in [from, to). Units are rows, or persons with all their rows.
// The shard stores its place in r, and only kernels of a Team bind it. If the shard would have all
// units, Shard returns r. Features in a mapped file are not copied.
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

// IsShard reports whether r is a shard, i.e. holds only a part of the units of a data set (see Shard).
func (r *Records) IsShard() bool { return r.shard != nil }

// Total returns the number of units of the whole data set, even if r is only a shard of this data set.
func (r *Records) Total() int {
	if r.shard == nil {
		return r.Units()
	}
	return r.shard.total
}

// First returns the place of the first unit of r in the whole data set.
func (r *Records) First() int {
	if r.shard == nil {
		return 0
	}
	return r.shard.first
}

// Within returns the range of the rows in r that belong to the units in [from, to) of the whole
// data set. It fails if r does not hold these units.
func (r *Records) Within(from, to int) (first, end int, err error) {
	at := r.First()
	switch {
	case from >= to:
		return 0, 0, nil
	case from < at || to > at+r.Units():
		return 0, 0, fmt.Errorf("engine: the records %d to %d are needed, but this process holds only the records "+
			"%d to %d", from, to-1, at, at+r.Units()-1)
	}
	first, _ = r.UnitRows(from - at)
	_, end = r.UnitRows(to - 1 - at)
	return first, end, nil
}

// digestUnits is the number of consecutive units that one digest of Digests covers.
const digestUnits = 256

// Digests returns the concatenated SHA-256 digests of the units of r in [from, to). Each digest
// covers digestUnits consecutive units, but the last one may cover fewer. Joining the digests of
// the shards of a data set gives the digests of the data set.
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

// rowText returns a function that appends the label and features of a row to text. For a dense row it
// appends all d features. For a compressed row it appends the stored features, with their number and
// their columns.
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
