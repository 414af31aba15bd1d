package dataset

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"dyad/engine/dataset/schema"

	"github.com/parquet-go/parquet-go"
)

// csvSink writes delimited text with a header.
type csvSink struct {
	out     *csv.Writer
	columns []outColumn
	fields  []string
}

func newCSVSink(w io.Writer, columns []outColumn) (*csvSink, error) {
	s := &csvSink{out: csv.NewWriter(w), columns: columns, fields: make([]string, len(columns))}
	for i, c := range columns {
		s.fields[i] = c.name
	}
	return s, s.out.Write(s.fields)
}

func (s *csvSink) write(row []cell) error {
	for i, v := range row {
		switch {
		case v.text != nil || !s.columns[i].number:
			s.fields[i] = string(v.text)
		case math.IsNaN(v.number):
			s.fields[i] = ""
		default:
			s.fields[i] = strconv.FormatFloat(v.number, 'g', -1, 64)
		}
	}
	return s.out.Write(s.fields)
}

func (s *csvSink) close() error {
	s.out.Flush()
	return s.out.Error()
}

// orderedGroup is a Parquet group that keeps the order of its columns.
type orderedGroup struct {
	parquet.Group
	order []string
}

// Fields returns the columns in order.
func (g orderedGroup) Fields() []parquet.Field {
	fields := g.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(g.order, a.Name()) - slices.Index(g.order, b.Name())
	})
	return fields
}

// parquetRowGroup is the number of rows in a row group.
const parquetRowGroup = 1 << 17

// parquetSink writes optional columns of doubles and texts, compressed with zstd.
type parquetSink struct {
	out     *parquet.GenericWriter[any]
	columns []outColumn
	row     parquet.Row
}

func newParquetSink(w io.Writer, columns []outColumn) (*parquetSink, error) {
	g := orderedGroup{Group: parquet.Group{}}
	for _, c := range columns {
		node := parquet.String()
		if c.number {
			node = parquet.Leaf(parquet.DoubleType)
		}
		if _, twice := g.Group[c.name]; twice {
			return nil, fmt.Errorf("dataset: two columns would be called %q in the Parquet file; rename one in the schema",
				c.name)
		}
		g.Group[c.name] = parquet.Optional(node)
		g.order = append(g.order, c.name)
	}
	schema := parquet.NewSchema("dyad", g)
	out := parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Zstd),
		parquet.MaxRowsPerRowGroup(parquetRowGroup))
	return &parquetSink{out: out, columns: columns, row: make(parquet.Row, len(columns))}, nil
}

func (s *parquetSink) write(row []cell) error {
	for i, v := range row {
		switch number := s.columns[i].number; {
		case number && math.IsNaN(v.number), !number && len(v.text) == 0:
			s.row[i] = parquet.NullValue().Level(0, 0, i)
		case number:
			s.row[i] = parquet.DoubleValue(v.number).Level(0, 1, i)
		default:
			s.row[i] = parquet.ByteArrayValue(v.text).Level(0, 1, i)
		}
	}
	_, err := s.out.WriteRows([]parquet.Row{s.row})
	return err
}

func (s *parquetSink) close() error { return s.out.Close() }

// outColumn is a column of an output file. Its function computes the column's value for a row with features x,
// where x is nil if the features are texts.
type outColumn struct {
	name   string
	number bool
	of     func(r *schema.Row, x []float64) cell
}

// cell is a value for a sink. In columns of numbers it is a number, with NaN for missing. In other columns it is a
// text, with nil for missing. A number of a raw row also has the original text of the file.
type cell struct {
	text   []byte
	number float64
}

// sink writes rows in one format.
type sink interface {
	write(row []cell) error
	close() error
}

func newSink(w io.Writer, format string, columns []outColumn) (sink, error) {
	if format == schema.FormatParquet {
		return newParquetSink(w, columns)
	}
	return newCSVSink(w, columns)
}
