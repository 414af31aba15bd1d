package dataset

import (
	"bytes"
	"math"

	"dyad/engine/dataset/parquet"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// progressRows is how often Options.Progress is called.
const progressRows = 1 << 16

// table collects the rows of a file, or shows them one by one to a scan.
type table struct {
	e         *schema.Encoder
	o         Options
	name      string // of the file that is read
	files     []string
	spare     []*parquet.Column // readers of the Parquet file before
	labels    []string          // second files that were read for labels
	hasLabels bool              // of the file; settled by the first row
	others    bool              // columns that the schema lacks were dropped
	seen      int               // rows read, with those left out
	first     int               // of them that came before this file
	rest      source.Sizes      // of the files after the first one
	rows      int
	positives int
	ids       []string
	groups    grouping
	people    *people // nil unless records are grouped by person
	text      []byte  // plain numbers of a row
	mark      []byte  // label, group or person of a row of arrays

	dense *blocks[float64]
	label *blocks[float64]
	start *blocks[int64] // sparse
	index *blocks[int32]
	value *blocks[float64]

	packed *Dataset // what was read, if the file is a pack

	sink rowSink  // takes the rows as they come; nil if they are kept here
	scan *scanner // nil when loading
}

// grouping numbers the query groups by first appearance.
type grouping struct {
	of     *blocks[int32] // group of each row
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

// allocate makes room for what the first pass counted. Every row has at least
// fields bytes, so that a small file cannot ask for much memory. The first of several files
// makes room for all.
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

// readsLabels reports whether the labels of the file count.
func (t *table) readsLabels() bool { return t.hasLabels && t.o.Labels != LabelsIgnored }

// readLabel encodes the label of a row; drop leaves the row out. The column is
// the label's, position as in ParseError.
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

// addGroup notes the group of the row that the next endRow ends.
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

func (t *table) addID(field []byte) {
	if t.o.KeepIDs && t.scan == nil {
		t.ids = append(t.ids, string(bytes.ToValidUTF8(field, []byte("?"))))
	}
	if t.scan != nil {
		t.scan.row.ID = string(field)
	}
}

// count counts rows read, used or left out.
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

// errorf is a ParseError at a row of this file.
func (t *table) errorf(row int, column string, position int, rule string) error {
	return &source.ParseError{File: t.name, Row: row, Column: column, Position: position, Rule: rule}
}

// check holds what must be true of the file as a whole. It looks at the number of rows
// only, which is public.
func (t *table) check() error {
	switch {
	case t.rows == 0:
		return t.errorf(0, "", 0, source.RuleEmpty)
	case t.o.Labels == LabelsRequired && t.rows < 2:
		return t.errorf(0, "", 0, ruleTooFew)
	}
	return nil
}

// people number persons by their normalised ids, by first appearance.
type people struct {
	of      *blocks[int32]   // person of each row
	text    map[string]int32 // by the text of the file
	number  map[string]int32 // by IDKey
	missing map[string]bool  // IDKeys that are not ids
}

// newPeople takes no value that the schema declares missing for an id, nor NaN: rows of unknown persons do not belong
// to one person.
func newPeople(s *schema.Schema) *people {
	p := &people{of: newBlocks[int32](0), text: map[string]int32{}, number: map[string]int32{}, missing: map[string]bool{"": true, "nan": true}}
	if s.Missing != nil {
		for _, v := range s.Missing.Values {
			p.missing[schema.IDKey(v)] = true
		}
	}
	return p
}

// scanner shows the rows of a file.
type scanner struct {
	row  schema.Row
	show func(*schema.Row) error
}

// rowSink takes the rows of a table as they are read, so that the table holds few of them.
type rowSink interface {
	// expect estimates how many rows come; 0 if unknown.
	expect(rows int)
	// take takes rows that were projected, and rounded if the schema says so, with their labels.
	take(x, y []float64) error
}
