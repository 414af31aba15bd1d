// Package parquet reads flat columns of Parquet files in batches.
package parquet

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"

	"dyad/engine/dataset/source"
	"dyad/internal/tasks"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// valueType is how the values of a Parquet column are read.
type valueType int

const (
	refused valueType = iota // dates, decimals, lists, ...
	texts
	bools
	int32s
	uint32s
	int64s
	uint64s
	floats
	doubles
)

// typeOf is the type of a column; parquetRefused where the stored number
// or bytes are not the value.
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

// types are those of the stored kinds; the others are refused.
var types = [...]struct{ signed, unsigned valueType }{
	parquet.ByteArray: {texts, texts}, parquet.Boolean: {bools, bools}, parquet.Float: {floats, floats}, parquet.Double: {doubles, doubles},
	parquet.Int32: {int32s, uint32s}, parquet.Int64: {int64s, uint64s},
}

// appendText writes a value as CSV would have it. NaN is missing.
func (c *Column) appendText(b []byte, v parquet.Value) []byte {
	switch c.kind {
	case texts:
		return append(b, v.ByteArray()...)
	case bools:
		return strconv.AppendBool(b, v.Boolean())
	case floats:
		bits := 32
		if c.numeric { // a scan sees the number that a load reads
			bits = 64
		}
		return AppendFloat(b, float64(v.Float()), bits)
	case doubles:
		return AppendFloat(b, v.Double(), 64)
	case uint32s:
		return strconv.AppendUint(b, uint64(v.Uint32()), 10)
	case uint64s:
		return strconv.AppendUint(b, v.Uint64(), 10)
	case int32s:
		return strconv.AppendInt(b, int64(v.Int32()), 10)
	}
	return strconv.AppendInt(b, v.Int64(), 10)
}

// AppendFloat writes a number so that whole numbers match categories such as "2";
// NaN is empty, and -0 is 0, or a person would be two.
func AppendFloat(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return b
	case v == 0:
		return append(b, '0')
	case math.Abs(v) >= 1e21 || v != 0 && math.Abs(v) < 1e-6:
		return strconv.AppendFloat(b, v, 'g', -1, bits)
	}
	return strconv.AppendFloat(b, v, 'f', -1, bits)
}

// Reader reads the columns of a file in step, in batches of rows.
type Reader struct {
	name    string
	file    *parquet.File
	columns []*parquet.Column
	used    []bool
	numeric []bool
	AsTexts bool      // numeric columns are read as texts
	Workers int       // that read columns
	Cursors []*Column // of the current row group; nil if not used
	Spare   []*Column // of the file before, whose memory is used again
	Reading []*Column // columns of the batch that is filled
	group   int       // next row group
	left    int64     // rows left in the current one
	filled  int       // rows of all batches that were filled
	Row     int       // rows read, without those of the batch that is shown
	rows    int       // of the batch that next shows, which is at row at
	at      int
	end     error    // of fill
	Texts   [][]byte // of one row
	Values  []float64
}

// Open reads the footer. The library believes the page sizes of a file, so
// a damaged one may cost up to 2 GiB of memory for a moment before it is refused.
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

// HasFooter checks the length of the footer, for which the Parquet library
// would allocate memory unseen.
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

// caught turns a panic of the Parquet library, which some damaged files cause,
// into an error about the file.
func (r *Reader) caught(err *error) {
	if p := recover(); p != nil {
		*err = r.errorf(r.filled+1, RuleDamaged)
	}
}

// Names are the names of all columns.
func (r *Reader) Names() []string {
	all := make([]string, len(r.columns))
	for i, c := range r.columns {
		all[i] = c.Name()
	}
	return all
}

// Use reads column i; the values of a numeric one as numbers if they are stored so. It is false, and the column is not
// read, where the stored number or bytes are not the value.
func (r *Reader) Use(i int, numeric bool) bool {
	r.numeric[i] = numeric
	r.used[i] = typeOf(r.columns[i]) != refused
	return r.used[i]
}

// IsText reports whether column i holds texts.
func (r *Reader) IsText(i int) bool { return typeOf(r.columns[i]) == texts }

// Begin prepares the next batch, which fill of each column in reading fills with up to rows rows. The
// error is about the row after those before, or io.EOF.
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

// Finish shows the batch that was filled and returns its rows. The error is about the row after them.
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

// Fill reads and shows the next batch and returns its rows. The error is about the row after
// them, or io.EOF.
func (r *Reader) Fill() (rows int, err error) {
	want, err := r.Begin()
	if err != nil {
		return 0, err
	}
	_ = tasks.Each(context.Background(), r.Workers, len(r.Reading), func(_, k int) { r.Reading[k].Fill(want) }) // never done
	return r.Finish(want)
}

// Next reads one row, as Take does, and returns its texts.
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

// Opened are the columns that are read.
func (r *Reader) Opened() []*Column {
	return slices.DeleteFunc(slices.Clone(r.Cursors), func(c *Column) bool { return c == nil })
}

// Take sets texts and values to those of row i of the batch: values[k] holds a number
// where texts[k] is nil, NaN for null.
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

// Sizes returns the sizes in the footer. Equal values take next to no bytes in a page, so one
// byte a row is not a bound here; memory that is promised but no row fills is not touched.
func (r *Reader) Sizes(in *source.Input) source.Sizes {
	return source.Sizes{Rows: int(min(max(r.file.NumRows(), 0), in.Size*64)), Bytes: in.Size * 64}
}

// batchRows is how many rows of a number of columns are decoded before they are encoded:
// enough to keep all workers busy, and few enough to find most of them in the caches: 2 MB of numbers.
func batchRows(columns int) int {
	return min(max((1<<18)/max(columns, 1), 1<<10), 1<<16)
}

// RuleDamaged is a rule of a Parquet file.
const RuleDamaged = "the file is damaged, or no Parquet file; fetch or write it again"
