// Package parquet reads flat columns of Parquet files in batches.
package parquet

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"runtime"
	"slices"

	"dyad/engine/dataset/source"
	"dyad/internal/tasks"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// typeOf returns the type of a column. It returns refused if the stored number or bytes are not the value
// itself.
func typeOf(c *parquet.Column) valueType {
	if !c.Leaf() || c.Repeated() {
		return refused
	}
	t := c.Type()
	text, unsigned := false, false
	if l := t.LogicalType(); l != nil && l.Value != nil {
		switch v := l.Value.(type) {
		case *format.StringType, *format.EnumType, *format.JsonType:
			text = true
		case *format.IntType:
			unsigned = !v.IsSigned
		case *format.NullType:
		default:
			return refused
		}
	} else if l := t.ConvertedType(); l != nil {
		switch *l {
		case deprecated.UTF8, deprecated.Enum, deprecated.Json:
			text = true
		case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
			unsigned = true
		case deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
		default:
			return refused
		}
	}
	kind := t.Kind()
	switch {
	case int(kind) >= len(types), text && kind != parquet.ByteArray:
		return refused
	case unsigned:
		return types[kind].unsigned
	}
	return types[kind].signed
}

// types maps the stored kinds that are supported to value types.
var types = [...]struct{ signed, unsigned valueType }{
	parquet.ByteArray: {texts, texts}, parquet.Boolean: {bools, bools}, parquet.Float: {floats, floats},
	parquet.Double: {doubles, doubles},
	parquet.Int32:  {int32s, uint32s}, parquet.Int64: {int64s, uint64s},
}

// Reader reads the columns of a file together, in batches of rows.
type Reader struct {
	name    string
	file    *parquet.File
	columns []*parquet.Column
	used    []bool
	numeric []bool
	AsTexts bool      // read numeric columns as texts
	Workers int       // number of goroutines that read columns
	Cursors []*Column // columns of the current row group; nil for unused columns
	Spare   []*Column // columns of the previous file, whose memory is reused
	Reading []*Column // columns of the batch that is being filled
	group   int       // index of the next row group
	left    int64     // number of remaining rows in the current row group
	filled  int       // number of rows of all filled batches
	Row     int       // number of rows before the current batch
	rows    int       // number of rows of the batch that Next returns; at is the current row
	at      int
	end     error    // error of Fill
	Texts   [][]byte // texts of one row
	Values  []float64
}

// Open opens a Parquet file and reads its footer. The library trusts the page sizes in a file, so a damaged
// file may need up to 2 GiB of memory for a moment before it is refused.
func Open(in *source.Input) (r *Reader, err error) {
	r = &Reader{name: in.Name, Workers: runtime.GOMAXPROCS(0)}
	defer r.caught(&err)
	if !HasFooter(in) {
		return nil, r.errorf(0, RuleDamaged)
	}
	f, err := parquet.OpenFile(in.At, in.Size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, r.errorf(0, RuleDamaged)
	}
	r.file, r.columns = f, f.Root().Columns()
	n := len(r.columns)
	r.used, r.numeric, r.Cursors = make([]bool, n), make([]bool, n), make([]*Column, n)
	r.Texts, r.Values = make([][]byte, n), make([]float64, n)
	return r, nil
}

// HasFooter reports whether the length of the footer is plausible. The Parquet library would allocate that
// length of memory without a check.
func HasFooter(in *source.Input) bool {
	var end [8]byte
	if in.Size < 12 {
		return false
	}
	if _, err := in.At.ReadAt(end[:], in.Size-8); err != nil || string(end[4:]) != "PAR1" {
		return false
	}
	return int64(binary.LittleEndian.Uint32(end[:4])) <= in.Size-12
}

// caught converts a panic of the Parquet library to an error about the file. Some damaged files cause such
// panics.
func (r *Reader) caught(err *error) {
	if p := recover(); p != nil {
		*err = r.errorf(r.filled+1, RuleDamaged)
	}
}

// Names returns the names of all columns.
func (r *Reader) Names() []string {
	all := make([]string, len(r.columns))
	for i, c := range r.columns {
		all[i] = c.Name()
	}
	return all
}

// Use selects column i for reading. If numeric is set and the column stores numbers, its values are read as numbers.
// If the stored number or bytes are not the value itself, Use returns false and the column is not read.
func (r *Reader) Use(i int, numeric bool) bool {
	r.numeric[i] = numeric
	r.used[i] = typeOf(r.columns[i]) != refused
	return r.used[i]
}

// IsText reports whether column i holds texts.
func (r *Reader) IsText(i int) bool { return typeOf(r.columns[i]) == texts }

// Begin prepares the next batch and returns the maximum number of its rows. The caller then calls Column.Fill
// with this number for each column in Reading. If there are no more rows, the error is io.EOF. Any other
// error concerns the row after the previous batches.
func (r *Reader) Begin() (rows int, err error) {
	defer r.caught(&err)
	for r.left == 0 {
		if err := r.nextGroup(); err != nil {
			return 0, err
		}
	}
	r.Reading = r.Opened()
	return int(min(r.left, int64(batchRows(len(r.Reading))))), nil
}

// Finish makes the filled batch the current batch and returns the number of its rows. If rows are missing,
// the error names the row after the batch.
func (r *Reader) Finish(want int) (rows int, err error) {
	rows = want
	for _, c := range r.Reading {
		c.columnBatch, c.ahead = c.ahead, c.columnBatch
		rows = min(rows, c.n)
	}
	r.left -= int64(rows)
	r.filled += rows
	if rows < want {
		err = r.errorf(r.filled+1, RuleDamaged)
	}
	return rows, err
}

// Fill reads the next batch, makes it the current batch and returns the number of its rows. The error concerns
// the row after the batch, or is io.EOF.
func (r *Reader) Fill() (rows int, err error) {
	want, err := r.Begin()
	if err != nil {
		return 0, err
	}
	// the context is never cancelled
	_ = tasks.Each(context.Background(), r.Workers, len(r.Reading), func(_, k int) { r.Reading[k].Fill(want) })
	return r.Finish(want)
}

// Next moves to the next row, as Take does, and returns the texts of that row.
func (r *Reader) Next() ([][]byte, error) {
	for r.at == r.rows {
		if r.end != nil {
			return nil, r.end
		}
		r.rows, r.end = r.Fill()
		r.at = 0
	}
	r.Take(r.at)
	r.at++
	r.Row++
	return r.Texts, nil
}

// Opened returns the columns that are read.
func (r *Reader) Opened() []*Column {
	return slices.DeleteFunc(slices.Clone(r.Cursors), func(c *Column) bool { return c == nil })
}

// Take sets the texts and values to row i of the current batch. If texts[k] is nil, values[k] is a number, with
// NaN for null.
func (r *Reader) Take(i int) {
	for k, c := range r.Cursors {
		switch {
		case c == nil:
		case c.Numbers:
			r.Texts[k], r.Values[k] = nil, c.Values[i]
		default:
			r.Texts[k], r.Values[k] = c.Texts[i], math.NaN()
		}
	}
}

func (r *Reader) nextGroup() error {
	groups := r.file.RowGroups()
	if r.group == len(groups) {
		return io.EOF
	}
	g := groups[r.group]
	r.group++
	r.left = g.NumRows()
	chunks := g.ColumnChunks()
	for i, used := range r.used {
		if !used {
			continue
		}
		k := r.columns[i].Index()
		if k < 0 || k >= len(chunks) || chunks[k].NumValues() != r.left {
			return r.errorf(r.filled+1, RuleDamaged)
		}
		if r.Cursors[i] == nil {
			kind, old := typeOf(r.columns[i]), &Column{}
			if n := len(r.Spare); n > 0 {
				old, r.Spare = r.Spare[n-1], r.Spare[:n-1]
			}
			r.Cursors[i] = &Column{
				kind: kind, numeric: r.numeric[i],
				Numbers: r.numeric[i] && !r.AsTexts && kind != texts && kind != bools,
				buffer:  old.buffer, batch: old.batch, columnBatch: old.columnBatch, ahead: old.ahead,
			}
		}
		r.Cursors[i].start(chunks[k].Pages())
	}
	return nil
}

// Close releases the pages of the current row group.
func (r *Reader) Close() {
	for _, c := range r.Opened() {
		c.start(nil)
	}
}

func (r *Reader) errorf(row int, rule string) error {
	return &source.ParseError{File: r.name, Row: row, Rule: rule}
}

// Sizes returns the number of rows that the footer states, but at most 64 for each byte of the file. A short
// file can have many rows, because equal values need almost no bytes. If the footer states too many rows,
// the memory allocated for the missing rows is not touched.
func (r *Reader) Sizes(in *source.Input) source.Sizes {
	return source.Sizes{Rows: int(min(max(r.file.NumRows(), 0), in.Size*64)), Bytes: in.Size * 64}
}

// batchRows returns the number of rows that are decoded before they are encoded, for a given number of columns.
// The numbers of a batch have 2 MB: enough to keep all workers busy, and few enough to stay mostly in the
// caches.
func batchRows(columns int) int {
	return min(max((1<<18)/max(columns, 1), 1<<10), 1<<16)
}

// RuleDamaged is the rule broken by a damaged Parquet file.
const RuleDamaged = "the file is damaged, or it is not a Parquet file; fetch or write it again"
