package dataset

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"
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

func (s *csvSink) write(r *outRow) error {
	for i, c := range s.columns {
		switch {
		case r.texts[i] != nil || !c.number:
			s.fields[i] = string(r.texts[i])
		case math.IsNaN(r.numbers[i]):
			s.fields[i] = ""
		default:
			s.fields[i] = strconv.FormatFloat(r.numbers[i], 'g', -1, 64)
		}
	}
	return s.out.Write(s.fields)
}

func (s *csvSink) close() error {
	s.out.Flush()
	return s.out.Error()
}

// jsonSink writes one object a line; missing values are null.
type jsonSink struct {
	out     *bufio.Writer
	columns []outColumn
	keys    [][]byte // with the colon
	line    []byte
}

func newJSONSink(w io.Writer, columns []outColumn) *jsonSink {
	s := &jsonSink{out: bufio.NewWriter(w), columns: columns}
	for _, c := range columns {
		s.keys = append(s.keys, []byte(quoteYAML(c.name)+":"))
	}
	return s
}

func (s *jsonSink) write(r *outRow) error {
	b := append(s.line[:0], '{')
	for i, c := range s.columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, s.keys[i]...)
		switch text := r.texts[i]; {
		case c.number && math.IsNaN(r.numbers[i]), !c.number && len(text) == 0:
			b = append(b, "null"...)
		case c.number && len(text) > 0 && json.Valid(text):
			b = append(b, text...)
		case c.number:
			b = appendJSONNumber(b, r.numbers[i])
		default:
			b = append(b, quoteYAML(string(text))...)
		}
	}
	s.line = append(b, '}', '\n')
	_, err := s.out.Write(s.line)
	return err
}

func (s *jsonSink) close() error { return s.out.Flush() }

// libsvmSink writes LABEL qid:GROUP INDEX:VALUE ..., without the features that
// are 0.
type libsvmSink struct {
	out      *bufio.Writer
	features int
	label    bool
	group    bool
	line     []byte
}

func newLIBSVMSink(w io.Writer, columns []outColumn) *libsvmSink {
	s := &libsvmSink{out: bufio.NewWriter(w)}
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
	return s
}

func (s *libsvmSink) write(r *outRow) error {
	b := s.line[:0]
	if s.label {
		b = strconv.AppendFloat(b, r.y, 'g', -1, 64)
	}
	if s.group {
		b = strconv.AppendInt(append(b, " qid:"...), int64(r.group)+1, 10)
	}
	pair := func(k int, v float64) {
		if v != 0 {
			b = strconv.AppendInt(append(b, ' '), int64(k)+1, 10)
			b = strconv.AppendFloat(append(b, ':'), v, 'g', -1, 64)
		}
	}
	if r.index != nil {
		for j, k := range r.index {
			pair(int(k), r.value[j])
		}
	} else {
		for k, v := range r.numbers[:s.features] {
			pair(k, v)
		}
	}
	if len(b) == 0 { // a row of zeros without a label must still be a row
		b = append(b, "1:0"...)
	}
	s.line = append(bytes.TrimPrefix(b, []byte(" ")), '\n')
	_, err := s.out.Write(s.line)
	return err
}

func (s *libsvmSink) close() error { return s.out.Flush() }
