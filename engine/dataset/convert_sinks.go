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

// sink writes rows in one format.
type sink struct {
	write func(row []cell) error
	close func() error
}

// csvSink returns a sink of delimited text with a header.
func csvSink(w io.Writer, columns []outColumn) (sink, error) {
	out, fields := csv.NewWriter(w), make([]string, len(columns))
	for i, c := range columns {
		fields[i] = c.name
	}
	return sink{func(row []cell) error {
		for i, v := range row {
			switch {
			case v.text != nil || !columns[i].number:
				fields[i] = string(v.text)
			case math.IsNaN(v.number):
				fields[i] = ""
			default:
				fields[i] = strconv.FormatFloat(v.number, 'g', -1, 64)
			}
		}
		return out.Write(fields)
	}, func() error {
		out.Flush()
		return out.Error()
	}}, out.Write(fields)
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

// parquetSink returns a sink of optional columns of doubles and texts, compressed with zstd.
func parquetSink(w io.Writer, columns []outColumn) (sink, error) {
	g := orderedGroup{Group: parquet.Group{}}
	for _, c := range columns {
		node := parquet.String()
		if c.number {
			node = parquet.Leaf(parquet.DoubleType)
		}
		if _, twice := g.Group[c.name]; twice {
			return sink{}, fmt.Errorf("dataset: two columns would have the name %q in the Parquet file; rename one "+
				"of them in the schema", c.name)
		}
		g.Group[c.name] = parquet.Optional(node)
		g.order = append(g.order, c.name)
	}
	schema := parquet.NewSchema("dyad", g)
	out := parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Zstd),
		parquet.MaxRowsPerRowGroup(parquetRowGroup))
	values := make(parquet.Row, len(columns))
	return sink{func(row []cell) error {
		for i, v := range row {
			switch number := columns[i].number; {
			case number && math.IsNaN(v.number), !number && len(v.text) == 0:
				values[i] = parquet.NullValue().Level(0, 0, i)
			case number:
				values[i] = parquet.DoubleValue(v.number).Level(0, 1, i)
			default:
				values[i] = parquet.ByteArrayValue(v.text).Level(0, 1, i)
			}
		}
		_, err := out.WriteRows([]parquet.Row{values})
		return err
	}, out.Close}, nil
}

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
