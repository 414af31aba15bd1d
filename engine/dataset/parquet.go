package dataset

import (
	"encoding/binary"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// parquetType is how the values of a Parquet column are read.
type parquetType int

const (
	parquetRefused parquetType = iota // dates, decimals, lists, ...
	parquetText
	parquetBool
	parquetInt32
	parquetUint32
	parquetInt64
	parquetUint64
	parquetFloat
	parquetDouble
)

// parquetTypeOf is the type of a column; parquetRefused where the stored number
// or bytes are not the value.
func parquetTypeOf(c *parquet.Column) parquetType {
	if !c.Leaf() || c.Repeated() {
		return parquetRefused
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
			return parquetRefused
		}
	} else if l := t.ConvertedType(); l != nil {
		switch *l {
		case deprecated.UTF8, deprecated.Enum, deprecated.Json:
			text = true
		case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
			unsigned = true
		case deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
		default:
			return parquetRefused
		}
	}
	kind := t.Kind()
	switch {
	case text && kind != parquet.ByteArray:
		return parquetRefused
	case kind == parquet.ByteArray:
		return parquetText
	case kind == parquet.Boolean:
		return parquetBool
	case kind == parquet.Int32 && unsigned:
		return parquetUint32
	case kind == parquet.Int32:
		return parquetInt32
	case kind == parquet.Int64 && unsigned:
		return parquetUint64
	case kind == parquet.Int64:
		return parquetInt64
	case kind == parquet.Float:
		return parquetFloat
	case kind == parquet.Double:
		return parquetDouble
	}
	return parquetRefused
}

// appendText writes a value as CSV would have it. NaN is missing.
func (c *parquetColumn) appendText(b []byte, v parquet.Value) []byte {
	switch c.kind {
	case parquetText:
		return append(b, v.ByteArray()...)
	case parquetBool:
		return strconv.AppendBool(b, v.Boolean())
	case parquetFloat:
		bits := 32
		if c.numeric { // a scan sees the number that a load reads
			bits = 64
		}
		return appendFloat(b, float64(v.Float()), bits)
	case parquetDouble:
		return appendFloat(b, v.Double(), 64)
	case parquetUint32:
		return strconv.AppendUint(b, uint64(v.Uint32()), 10)
	case parquetUint64:
		return strconv.AppendUint(b, v.Uint64(), 10)
	case parquetInt32:
		return strconv.AppendInt(b, int64(v.Int32()), 10)
	}
	return strconv.AppendInt(b, v.Int64(), 10)
}

// appendFloat writes a number so that whole numbers match categories such as "2";
// NaN is empty, and -0 is 0, or a person would be two.
func appendFloat(b []byte, v float64, bits int) []byte {
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

// parquetReader reads the columns of a file in step, in batches of rows.
type parquetReader struct {
	name    string
	file    *parquet.File
	columns []*parquet.Column
	used    []bool
	numeric []bool
	scanned bool             // numeric columns are read as texts
	workers int              // that read columns
	cursors []*parquetColumn // of the current row group; nil if not used
	spare   []*parquetColumn // of the file before, whose memory is used again
	reading []*parquetColumn // columns of the batch that is filled
	group   int              // next row group
	left    int64            // rows left in the current one
	filled  int              // rows of all batches that were filled
	row     int              // rows read, without those of the batch that is shown
	rows    int              // of the batch that next shows, which is at row at
	at      int
	end     error    // of fill
	texts   [][]byte // of one row
	values  []float64
}

// openParquet reads the footer. The library believes the page sizes of a file, so
// a damaged one may cost up to 2 GiB of memory for a moment before it is refused.
func openParquet(in *input) (r *parquetReader, err error) {
	r = &parquetReader{name: in.name, workers: runtime.GOMAXPROCS(0)}
	defer r.caught(&err)
	if !in.hasParquetFooter() {
		return nil, r.errorf(0, ruleBadParquet)
	}
	f, err := parquet.OpenFile(in.at, in.size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, r.errorf(0, ruleBadParquet)
	}
	r.file, r.columns = f, f.Root().Columns()
	n := len(r.columns)
	r.used, r.numeric, r.cursors = make([]bool, n), make([]bool, n), make([]*parquetColumn, n)
	r.texts, r.values = make([][]byte, n), make([]float64, n)
	return r, nil
}

// hasParquetFooter checks the length of the footer, for which the Parquet library
// would allocate memory unseen.
func (in *input) hasParquetFooter() bool {
	var end [8]byte
	if in.size < 12 {
		return false
	}
	if _, err := in.at.ReadAt(end[:], in.size-8); err != nil || string(end[4:]) != "PAR1" {
		return false
	}
	return int64(binary.LittleEndian.Uint32(end[:4])) <= in.size-12
}

// caught turns a panic of the Parquet library, which some damaged files cause,
// into an error about the file.
func (r *parquetReader) caught(err *error) {
	if p := recover(); p != nil {
		*err = r.errorf(r.filled+1, ruleBadParquet)
	}
}

// begin prepares the next batch, which fill of each column in reading fills with up to rows rows. The
// error is about the row after those before, or io.EOF.
func (r *parquetReader) begin() (rows int, err error) {
	defer r.caught(&err)
	for r.left == 0 {
		if err := r.nextGroup(); err != nil {
			return 0, err
		}
	}
	r.reading = r.open()
	return int(min(r.left, int64(batchRows(len(r.reading))))), nil
}

// finish shows the batch that was filled and returns its rows. The error is about the row after them.
func (r *parquetReader) finish(want int) (rows int, err error) {
	rows = want
	for _, c := range r.reading {
		c.columnBatch, c.ahead = c.ahead, c.columnBatch
		rows = min(rows, c.n)
	}
	r.left -= int64(rows)
	r.filled += rows
	if rows < want {
		err = r.errorf(r.filled+1, ruleBadParquet)
	}
	return rows, err
}

// fill reads and shows the next batch and returns its rows. The error is about the row after
// them, or io.EOF.
func (r *parquetReader) fill() (rows int, err error) {
	want, err := r.begin()
	if err != nil {
		return 0, err
	}
	parallel(r.workers, len(r.reading), func(k int) { r.reading[k].fill(want) })
	return r.finish(want)
}

// next reads one row, as take does.
func (r *parquetReader) next() error {
	for r.at == r.rows {
		if r.end != nil {
			return r.end
		}
		r.rows, r.end = r.fill()
		r.at = 0
	}
	r.take(r.at)
	r.at++
	r.row++
	return nil
}

// open are the columns that are read.
func (r *parquetReader) open() []*parquetColumn {
	return slices.DeleteFunc(slices.Clone(r.cursors), func(c *parquetColumn) bool { return c == nil })
}

// take sets texts and values to those of row i of the batch: values[k] holds a number
// where texts[k] is nil, NaN for null.
func (r *parquetReader) take(i int) {
	for k, c := range r.cursors {
		switch {
		case c == nil:
		case c.numbers:
			r.texts[k], r.values[k] = nil, c.values[i]
		default:
			r.texts[k], r.values[k] = c.texts[i], math.NaN()
		}
	}
}

func (r *parquetReader) nextGroup() error {
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
			return r.errorf(r.filled+1, ruleBadParquet)
		}
		if r.cursors[i] == nil {
			kind, old := parquetTypeOf(r.columns[i]), &parquetColumn{}
			if n := len(r.spare); n > 0 {
				old, r.spare = r.spare[n-1], r.spare[:n-1]
			}
			r.cursors[i] = &parquetColumn{
				kind: kind, numeric: r.numeric[i],
				numbers: r.numeric[i] && !r.scanned && kind != parquetText && kind != parquetBool,
				buffer:  old.buffer, batch: old.batch, columnBatch: old.columnBatch, ahead: old.ahead,
			}
		}
		r.cursors[i].start(chunks[k].Pages())
	}
	return nil
}

// close releases the pages of the current row group.
func (r *parquetReader) close() {
	for _, c := range r.open() {
		c.start(nil)
	}
}

func (r *parquetReader) errorf(row int, rule string) error {
	return &ParseError{File: r.name, Row: row, Rule: rule}
}

// sizes are what the footer says. Equal values take next to no bytes in a page, so one byte a
// row is not a bound here; memory that is promised but no row fills is not touched.
func (r *parquetReader) sizes(in *input) sizes {
	return sizes{rows: int(min(max(r.file.NumRows(), 0), in.size*64)), bytes: in.size * 64}
}

var parquetNames = names{ruleParquetNames, "the Parquet schema", "ignore_others: true"}

func readParquet(t *table, in *input) (err error) {
	r, err := openParquet(in)
	if err != nil {
		return err
	}
	r.spare, t.spare = t.spare, nil
	defer func() {
		r.close()
		t.spare = r.open()
	}()
	header := make([][]byte, len(r.columns))
	for i, c := range r.columns {
		header[i] = []byte(c.Name())
	}
	l, err := t.headerLayout(header, 0, &parquetNames)
	if err != nil {
		return err
	}
	r.scanned = t.scan != nil
	for i, f := range l.fields {
		r.used[i] = f.role != RoleIgnore
		r.numeric[i] = f.role == RoleFeature && t.e.columns[f.feature].numeric
		if r.used[i] && parquetTypeOf(r.columns[i]) == parquetRefused {
			return t.errorf(0, f.name, i+1, ruleParquetType)
		}
	}
	t.hasLabels = l.hasLabel
	t.allocate(r.sizes(in), 1)
	rows, end := r.fill()
	for rows > 0 {
		want, next, ahead := 0, end, []*parquetColumn(nil)
		if next == nil {
			if want, next = r.begin(); next == nil {
				ahead = r.reading
			}
		}
		if err := t.addBatch(l, r, rows, len(ahead), func(k int) { ahead[k].fill(want) }); err != nil {
			return err
		}
		r.row += rows
		if rows, end = 0, next; end == nil {
			rows, end = r.finish(want)
		}
	}
	if end == io.EOF {
		return nil
	}
	return end
}
