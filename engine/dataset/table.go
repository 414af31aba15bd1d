package dataset

import (
	"math"

	"dyad/engine/dataset/parquet"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// progressRows is the number of rows between two calls of Options.Progress.
const progressRows = 1 << 16

// table collects the rows of a file, or passes them to a scan one by one.
type table struct {
	e         *schema.Encoder
	o         Options
	name      string // name of the file that is read
	files     []string
	spare     []*parquet.Column // readers of the previous Parquet file
	labels    []string          // files that were read for labels only
	hasLabels bool              // whether the file has labels, determined by the first row
	others    bool              // columns that the schema does not list were dropped
	seen      int               // number of rows read, including rows left out
	first     int               // number of rows before the current file
	rest      source.Sizes      // sizes of the files after the first one
	rows      int
	positives int
	ids       []string
	groups    grouping
	people    *people // persons of the rows; nil unless records are grouped by person
	text      []byte  // texts of a row's numbers in plain notation
	mark      []byte  // text of a label, group or person from an array

	dense *blocks[float64]
	label *blocks[float64]
	start *blocks[int64] // set for sparse records
	index *blocks[int32]
	value *blocks[float64]

	packed *Dataset // data set read from a pack

	sink rowSink  // receives the rows while they are read; nil if the table stores them
	scan *scanner // receives rows in a scan; nil when loading
}

// grouping numbers the query groups in the order of their first appearance.
type grouping struct {
	of     *blocks[int32] // index of the group of each row
	number map[string]int32
}

func newTable(name string, e *schema.Encoder, o Options, scan *scanner) *table {
	t := &table{e: e, o: o, name: name, hasLabels: o.Labels == LabelsRequired, scan: scan}
	if e.GroupColumn != nil {
		t.groups = grouping{of: newBlocks[int32](0), number: map[string]int32{}}
	}
	if e.PersonColumn != nil && o.Persons == KeepPersons {
		t.people = newPeople(e.Schema())
	}
	return t
}

// allocate reserves memory for the counts of the first pass. Every row has at least fields bytes, so a small
// file cannot ask for much memory. With several files, the first one reserves memory for all.
func (t *table) allocate(z source.Sizes, fields int) {
	if t.label != nil && t.first > 0 {
		return
	}
	z.Rows, z.Bytes, z.Colons = z.Rows+t.rest.Rows, z.Bytes+t.rest.Bytes, z.Colons+t.rest.Colons
	rows := min(z.Rows, int(z.Bytes/int64(max(fields, 1))))
	if t.scan != nil {
		rows, z.Colons = 0, 0
	}
	if t.e.Dim() > 0 && rows > math.MaxInt/16/t.e.Dim() {
		rows = 0
	}
	if t.sink != nil {
		t.sink.expect(rows)
		rows = 0
	}
	t.label = newBlocks[float64](rows)
	if t.e.Schema().IsSparse() {
		t.start = newBlocks[int64](rows + 1)
		t.start.add(0)
		t.index = newBlocks[int32](z.Colons)
		t.value = newBlocks[float64](z.Colons)
		return
	}
	t.dense = newBlocks[float64](rows * t.e.Dim())
}

// readsLabels reports whether the file has labels and they are used.
func (t *table) readsLabels() bool { return t.hasLabels && t.o.Labels != LabelsIgnored }

// readLabel encodes the label of a row. If Drop is set in the result, the row must be left out. position is the
// position of the label as in ParseError.
func (t *table) readLabel(field []byte, row, position int) (l schema.Label, err error) {
	if !t.readsLabels() {
		return l, nil
	}
	l, rule := t.e.EncodeLabel(field)
	if rule != "" {
		return l, t.errorf(row, t.e.LabelColumn.Name, position, rule)
	}
	return l, nil
}

// addGroup records the query group of the current row.
func (t *table) addGroup(field []byte, row, position int) error {
	if len(field) == 0 {
		return t.errorf(row, t.e.GroupColumn.Name, position, ruleNoGroup)
	}
	k, ok := t.groups.number[string(field)]
	if !ok {
		if len(t.groups.number) >= math.MaxInt32 {
			return t.errorf(row, t.e.GroupColumn.Name, position, ruleTooManyIDs)
		}
		k = int32(len(t.groups.number))
		t.groups.number[string(field)] = k
	}
	t.groups.of.add(k)
	if t.scan != nil {
		t.scan.row.Group = string(field)
	}
	return nil
}

// count counts rows that were read, whether they are used or left out.
func (t *table) count(rows int) error {
	for rows > 0 {
		k := min(rows, progressRows-t.seen%progressRows)
		t.seen, rows = t.seen+k, rows-k
		if t.o.Progress != nil && t.seen%progressRows == 0 {
			if err := t.o.Progress(t.seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// errorf returns a ParseError at a row of this file.
func (t *table) errorf(row int, column string, position int, rule string) error {
	return &source.ParseError{File: t.name, Row: row, Column: column, Position: position, Rule: rule}
}

// check tests the conditions on the file as a whole. It uses only the number of rows, which is public.
func (t *table) check() error {
	switch {
	case t.rows == 0:
		return t.errorf(0, "", 0, source.RuleEmpty)
	case t.o.Labels == LabelsRequired && t.rows < 2:
		return t.errorf(0, "", 0, ruleTooFew)
	}
	return nil
}

// people numbers persons by their normalised ids in the order of their first appearance.
type people struct {
	of      *blocks[int32]   // index of the person of each row
	text    map[string]int32 // index of a person by the text in the file
	number  map[string]int32 // index of a person by IDKey
	missing map[string]bool  // IDKeys of texts that are not ids
	unknown bool             // a row has no id, which Options.AnyPersons allows
}

// newPeople returns an empty list of persons. It refuses as ids NaN and the values that the schema declares missing,
// because rows of unknown persons do not belong to one person.
func newPeople(s *schema.Schema) *people {
	p := &people{of: newBlocks[int32](0), text: map[string]int32{}, number: map[string]int32{},
		missing: map[string]bool{"": true, "nan": true}}
	if s.Missing != nil {
		for _, v := range s.Missing.Values {
			p.missing[schema.IDKey(v)] = true
		}
	}
	return p
}

// scanner passes the rows of a file to a function.
type scanner struct {
	row  schema.Row
	show func(*schema.Row) error
}

// rowSink receives the rows of a table while they are read, so that the table stores only few of them.
type rowSink interface {
	// expect announces the estimated number of rows, 0 if unknown.
	expect(rows int)
	// take receives rows with their labels. The rows are projected, and rounded if the schema requires it.
	take(x, y []float64) error
}
