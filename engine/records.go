package engine

import (
	"fmt"
	"math"
	"runtime"
	"slices"

	"dyad/internal/pages"
	"dyad/internal/tasks"
	"dyad/kernels"
)

// Records holds n records with d features and a label each. All records are within Bounds.
// Records are dense (row-major) or sparse (compressed rows), and they are immutable. After
// GroupPersons, the unit of a guarantee is a person with one or more of the n rows, and Units
// is the number of persons.
//
// Dense features are stored as float64 or as float32 (AdoptNarrowRecords). A float32 value is
// also a float64 number, so the type does not change the results. Features are in memory or
// in a mapped file (StoredRecords). Subset does not copy features in a mapped file.
type Records struct {
	n, d   int
	bounds Bounds
	y      []float64

	dense  []float64 // row-major, nil if narrow or sparse
	narrow []float32 // row-major, nil if not narrow
	at     []int32   // record i is row at[i] of dense or narrow; nil if it is row i
	stored bool      // features are in a file: no subset copies them

	start []int64 // n+1 row offsets into index and value, nil if dense
	index []int32 // columns, increasing within a row
	value []float64

	persons *persons // the persons of the rows, nil if each row is a record
	shard   *shard   // nil if these are all records of their data set
}

// NewRecords copies n = len(y) rows of d features from the row-major x and enforces b: a
// row x becomes x / max(1, ||x||/R), and a label is clamped to [-LabelAbs, LabelAbs]. A
// row with a value that is not finite, or a label that is not finite, becomes zero. The
// code that reads the data decides whether a value is acceptable. NewRecords never fails
// because of a value (design rule 5). It fails only if the shape or b is invalid.
func NewRecords(x, y []float64, d int, b Bounds) (*Records, error) {
	return AdoptRecords(append(pages.Make[float64](len(x))[:0], x...), append([]float64(nil), y...), d, b)
}

// AdoptRecords is NewRecords without the copy. It takes ownership of x and y, and the
// caller must not use them again.
func AdoptRecords(x, y []float64, d int, b Bounds) (*Records, error) {
	if err := checkShape(len(y), d, b); err != nil {
		return nil, err
	}
	if len(x) != len(y)*d {
		return nil, fmt.Errorf("engine: NewRecords: %d feature values for %d records of %d features; want %d", len(x),
			len(y), d, len(y)*d)
	}
	return adopt(x, y, d, b), nil
}

// adopt is AdoptRecords for any number of rows.
func adopt(x, y []float64, d int, b Bounds) *Records {
	r := &Records{n: len(y), d: d, bounds: b, y: y, dense: x}
	eachRow(r.n, func(i int) { ProjectBall(x[i*d:(i+1)*d], b.FeatureNorm) })
	clampLabels(y, b.LabelAbs)
	return r
}

// eachRow calls do for each row. If there are many rows, it uses all processors. do must access only its own row.
func eachRow(n int, do func(i int)) { eachOf(n, 1<<14, do) }

// eachOf is eachRow for jobs of any size. share is the number of jobs for which a goroutine is worthwhile.
func eachOf(n, share int, do func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n/share+1)
	var all tasks.Group
	for w := range workers {
		all.Go(func() {
			for i := n / workers * w; i < n/workers*(w+1) || w == workers-1 && i < n; i++ {
				do(i)
			}
		})
	}
	all.Wait()
}

// NewSparseRecords takes ownership of compressed rows. Row i holds
// value[start[i]:start[i+1]] in the columns index[start[i]:start[i+1]]. The columns of a
// row are strictly increasing and below d. Bounds are enforced as in NewRecords.
func NewSparseRecords(start []int64, index []int32, value, y []float64, d int, b Bounds) (*Records, error) {
	if err := checkShape(len(y), d, b); err != nil {
		return nil, err
	}
	n := len(y)
	if len(start) != n+1 || start[0] != 0 || start[n] != int64(len(value)) || len(index) != len(value) {
		return nil, fmt.Errorf("engine: NewSparseRecords: want %d row offsets, from 0 to %d, and one column for "+
			"each value; there are %d offsets, %d values and %d columns", n+1, len(value), len(start), len(value), len(index))
	}
	for i := 0; i < n; i++ {
		if start[i+1] < start[i] || start[i+1] > int64(len(value)) {
			return nil, fmt.Errorf("engine: NewSparseRecords: row offset %d is out of order", i+1)
		}
		prev := int32(-1)
		for _, c := range index[start[i]:start[i+1]] {
			if c <= prev || int(c) >= d {
				return nil, fmt.Errorf("engine: NewSparseRecords: columns of row %d must increase and stay below %d", i, d)
			}
			prev = c
		}
		ProjectBall(value[start[i]:start[i+1]], b.FeatureNorm)
	}
	clampLabels(y, b.LabelAbs)
	return &Records{n: n, d: d, bounds: b, y: y, start: start, index: index, value: value}, nil
}

// Len returns n.
func (r *Records) Len() int { return r.n }

// Dim returns d.
func (r *Records) Dim() int { return r.d }

// Bounds returns the enforced bounds.
func (r *Records) Bounds() Bounds { return r.bounds }

// Label returns y_i.
func (r *Records) Label(i int) float64 { return r.y[i] }

// Labels returns all labels. The caller must not change them.
func (r *Records) Labels() []float64 { return r.y }

// IsSparse reports whether rows are stored compressed.
func (r *Records) IsSparse() bool { return r.start != nil }

// Dense returns the row-major matrix of features. It returns nil if no such matrix is
// stored in float64 and in the order of the records. Rows and Row read the features of all
// records. The caller must not change the matrix.
func (r *Records) Dense() []float64 {
	if r.at != nil {
		return nil
	}
	return r.dense
}

// Narrow is Dense for features in float32.
func (r *Records) Narrow() []float32 {
	if r.at != nil {
		return nil
	}
	return r.narrow
}

// NarrowPlaces returns the float32 rows x. Record i has row at[i], or row i if the slice at
// is nil. If IsNarrow is false, x is nil. The caller must not change the slices.
func (r *Records) NarrowPlaces() (x []float32, at []int32) {
	if r.narrow == nil {
		return nil, nil
	}
	return r.narrow, r.at
}

// IsNarrow reports whether features are stored as float32.
func (r *Records) IsNarrow() bool { return r.narrow != nil }

// InFile reports whether the features lie in a mapped file.
func (r *Records) InFile() bool { return r.stored }

// Sparse returns the compressed rows, or nil slices if IsSparse is false. The caller must
// not change them.
func (r *Records) Sparse() (start []int64, index []int32, value []float64) {
	return r.start, r.index, r.value
}

// MaxRow returns the largest number of features stored in a row. It is d for dense records.
func (r *Records) MaxRow() int {
	if !r.IsSparse() {
		return r.d
	}
	var most int64
	for i := range r.n {
		most = max(most, r.start[i+1]-r.start[i])
	}
	return int(most)
}

// MoreLabelsThan reports whether the records have more than limit different labels.
func (r *Records) MoreLabelsThan(limit int) bool { return len(r.DifferentLabels(limit)) > limit }

// DifferentLabels returns the distinct labels of the records in increasing order, but at most
// limit+1 of them.
func (r *Records) DifferentLabels(limit int) []float64 {
	var seen []float64
	for _, y := range r.y {
		if i, found := slices.BinarySearch(seen, y); !found {
			if seen = slices.Insert(seen, i, y); len(seen) > limit {
				break
			}
		}
	}
	return seen
}

// Row copies the features of record i to dst, of length d.
func (r *Records) Row(i int, dst []float64) {
	if r.IsSparse() {
		clear(dst)
		for k := r.start[i]; k < r.start[i+1]; k++ {
			dst[r.index[k]] = r.value[k]
		}
		return
	}
	if r.at != nil {
		i = int(r.at[i])
	}
	r.copyRows(dst, i, 1)
}

// Rows returns the features of records, row-major. The records begin at the index `from`, and
// `count` is their number. The result is a part of Dense, or a copy in dst. dst has at least
// count*d numbers. If dst is nil, Rows allocates it. The caller must not change the result.
func (r *Records) Rows(dst []float64, from, count int) []float64 {
	if dense := r.Dense(); dense != nil {
		return dense[from*r.d:][:count*r.d]
	}
	if dst == nil {
		dst = make([]float64, count*r.d)
	}
	dst = dst[:count*r.d]
	switch {
	case r.IsSparse():
		for i := range count {
			r.Row(from+i, dst[i*r.d:][:r.d])
		}
	case r.at == nil:
		r.copyRows(dst, from, count)
	default:
		r.eachRun(from, count, func(i, at, rows int) { r.copyRows(dst[i*r.d:], at, rows) })
	}
	return dst
}

// eachRun splits the records into runs whose rows are stored one after the other, and calls do for
// each run. The first record of a run is record from+i, and its row is stored at place at. rows is
// the number of rows of the run.
func (r *Records) eachRun(from, count int, do func(i, at, rows int)) {
	at := r.at[from:][:count]
	for i, j := 0, 0; i < count; i = j {
		for j = i + 1; j < count && at[j] == at[i]+int32(j-i); j++ {
		}
		do(i, int(at[i]), j-i)
	}
}

// copyRows copies stored rows of the dense features to dst.
func (r *Records) copyRows(dst []float64, from, count int) {
	if r.narrow != nil {
		kernels.Widen(dst[:count*r.d], r.narrow[from*r.d:])
		return
	}
	copy(dst[:count*r.d], r.dense[from*r.d:])
}

// Range returns the rows in [from, to) without their persons. It does not copy.
func (r *Records) Range(from, to int) *Records {
	s := *r
	s.n, s.y, s.persons, s.shard = to-from, r.y[from:to:to], nil, nil
	switch {
	case r.IsSparse():
		s.start = r.start[from : to+1 : to+1]
	case r.at != nil:
		s.at = r.at[from:to:to]
	case r.narrow != nil:
		s.narrow = r.narrow[from*r.d : to*r.d : to*r.d]
	default:
		s.dense = r.dense[from*r.d : to*r.d : to*r.d]
	}
	return &s
}

// Subset returns the given rows in the given order, without their persons. It copies the
// rows, except for features in a mapped file.
func (r *Records) Subset(rows []int) *Records {
	s := &Records{n: len(rows), d: r.d, bounds: r.bounds, y: make([]float64, len(rows)), stored: r.stored}
	for k, i := range rows {
		s.y[k] = r.y[i]
	}
	switch {
	case r.IsSparse():
		s.start = make([]int64, 1, len(rows)+1)
		for _, i := range rows {
			s.index = append(s.index, r.index[r.start[i]:r.start[i+1]]...)
			s.value = append(s.value, r.value[r.start[i]:r.start[i+1]]...)
			s.start = append(s.start, int64(len(s.value)))
		}
	case r.stored:
		s.dense, s.narrow, s.at = r.dense, r.narrow, r.placesOf(rows)
	case r.narrow != nil:
		s.narrow = pages.Make[float32](len(rows) * r.d)
		copyRowsOf(s.narrow, r.narrow, rows, r.d)
	default:
		s.dense = pages.Make[float64](len(rows) * r.d)
		copyRowsOf(s.dense, r.dense, rows, r.d)
	}
	return s
}

// placesOf returns the places of rows in the dense features.
func (r *Records) placesOf(rows []int) []int32 {
	at := make([]int32, len(rows))
	for k, i := range rows {
		at[k] = int32(i)
		if r.at != nil {
			at[k] = r.at[i]
		}
	}
	return at
}

func copyRowsOf[T any](dst, x []T, rows []int, d int) {
	for k, i := range rows {
		copy(dst[k*d:(k+1)*d], x[i*d:(i+1)*d])
	}
}

func checkShape(n, d int, b Bounds) error {
	if n < 1 || d < 1 {
		return fmt.Errorf("engine: there are %d records of %d features, but at least one record and one feature are "+
			"needed", n, d)
	}
	if int64(d) > math.MaxInt32 {
		return fmt.Errorf("engine: there are %d features, but at most %d are allowed", d, math.MaxInt32)
	}
	return b.Validate()
}

func clampLabels(y []float64, bound float64) {
	for i, v := range y {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			y[i] = 0
			continue
		}
		y[i] = min(max(v, -bound), bound)
	}
}

// persons assigns consecutive rows to persons. Person k has the rows first[k] to
// first[k+1]-1. Every person has at least one row. docs/theory.md#persons defines the
// guarantee for persons.
type persons struct{ first []int }

// shard marks records that are a part of a data set. The part begins with unit first of
// the data set, which has total units.
type shard struct{ first, total int }
