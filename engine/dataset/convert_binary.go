package dataset

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// npzSink writes the float64 arrays X (rows by features), y and group, stored
// without compression so that others can map them.
type npzSink struct {
	archive  *zip.Writer
	x        *bufio.Writer
	rows     int
	features int
	label    bool
	group    bool
	y, g     []float64
}

func newNPZSink(w io.Writer, columns []outColumn, rows int) (*npzSink, error) {
	s := &npzSink{archive: zip.NewWriter(w), rows: rows}
	for _, c := range columns {
		switch c.role {
		case RoleFeature:
			s.features++
		case RoleLabel:
			s.label = true
		case RoleGroup:
			s.group = true
		}
	}
	out, err := s.member("X", fmt.Sprintf("(%d, %d)", rows, s.features))
	s.x = out
	return s, err
}

// member begins an array of float64.
func (s *npzSink) member(name, shape string) (*bufio.Writer, error) {
	w, err := s.archive.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	_, err = out.Write(npyHeader("<f8", shape))
	return out, err
}

// npyHeader is a header of version 1, padded to 64 bytes as NumPy does.
func npyHeader(descr, shape string) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
	return append(binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text))), text...)
}

func (s *npzSink) write(r *outRow) error {
	if s.label {
		s.y = append(s.y, r.y)
	}
	if s.group {
		s.g = append(s.g, float64(r.group))
	}
	return writeFloats(s.x, r.numbers[:s.features])
}

func writeFloats(w *bufio.Writer, values []float64) error {
	var b [8]byte
	for _, v := range values {
		binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
		if _, err := w.Write(b[:]); err != nil {
			return err
		}
	}
	return nil
}

func (s *npzSink) close() error {
	if err := s.x.Flush(); err != nil {
		return err
	}
	for _, a := range []struct {
		name   string
		has    bool
		values []float64
	}{{"y", s.label, s.y}, {"group", s.group, s.g}} {
		if !a.has {
			continue
		}
		out, err := s.member(a.name, fmt.Sprintf("(%d,)", s.rows))
		if err != nil {
			return err
		}
		if err := writeFloats(out, a.values); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return s.archive.Close()
}

// orderedGroup is a Parquet group that keeps the order of its columns.
type orderedGroup struct {
	parquet.Group
	order []string
}

// Fields are the columns in order.
func (g orderedGroup) Fields() []parquet.Field {
	fields := g.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(g.order, a.Name()) - slices.Index(g.order, b.Name())
	})
	return fields
}

// parquetRowGroup is how many rows a row group has.
const parquetRowGroup = 1 << 17

// parquetSink writes optional columns of doubles and texts, zstd compressed.
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
			return nil, fmt.Errorf("dataset: two columns would be called %q in the Parquet file; rename one in the schema", c.name)
		}
		g.Group[c.name] = parquet.Optional(node)
		g.order = append(g.order, c.name)
	}
	schema := parquet.NewSchema("dyad", g)
	out := parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(parquetRowGroup))
	return &parquetSink{out: out, columns: columns, row: make(parquet.Row, len(columns))}, nil
}

func (s *parquetSink) write(r *outRow) error {
	for i, c := range s.columns {
		switch {
		case c.number && math.IsNaN(r.numbers[i]), !c.number && len(r.texts[i]) == 0:
			s.row[i] = parquet.NullValue().Level(0, 0, i)
		case c.number:
			s.row[i] = parquet.DoubleValue(r.numbers[i]).Level(0, 1, i)
		default:
			s.row[i] = parquet.ByteArrayValue(r.texts[i]).Level(0, 1, i)
		}
	}
	_, err := s.out.WriteRows([]parquet.Row{s.row})
	return err
}

func (s *parquetSink) close() error { return s.out.Close() }
