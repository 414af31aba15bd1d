package dataset

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

func readCSV(t *table, src *source.Lines, z source.Sizes) error {
	s := t.e.Schema()
	r := t.csvReader(src)
	read := r.Next
	if s.CSV.Header {
		read = func() ([][]byte, error) { return r.Header(t.named) }
	}
	first, err := read()
	if err == io.EOF {
		return t.errorf(0, "", 0, source.RuleEmpty)
	}
	if err != nil {
		return err
	}
	var l *layout
	if s.CSV.Header {
		if l, err = t.headerLayout(first, r.Row, &csvNames); err != nil {
			return inHeader(err)
		}
		first = nil
	} else if l, err = t.positionLayout(first, r.Row); err != nil {
		return err
	}
	t.hasLabels = l.hasLabel
	t.allocate(z, len(l.fields))
	if first != nil {
		if err := t.addCSVRow(l, first, r.Row); err != nil {
			if t.seen == t.first && len(first) == len(l.fields) && t.looksLikeHeader(l, first) {
				return t.errorf(r.Row, "", 0, ruleIsHeader)
			}
			return err
		}
	}
	if t.scan != nil || t.o.rowByRow {
		return t.addCSVRows(l, r)
	}
	return t.addChunks(l, src)
}

// named reports whether a header has the name of a column of the schema.
func (t *table) named(header [][]byte) bool {
	columns := t.e.Schema().Columns
	return slices.ContainsFunc(header, func(name []byte) bool {
		return slices.ContainsFunc(columns, func(c schema.Column) bool { return c.FieldOf() == string(name) })
	})
}

// positionLayout returns the layout of a file without a header. If labels are not required and the file has one
// field less than the schema, the label column is taken as absent.
func (t *table) positionLayout(first [][]byte, row int) (*layout, error) {
	fields, label := listed(t.e.Schema())
	place := func(i int) int { return cmp.Or(t.e.Schema().Columns[i].Position, i+1) - 1 }
	all := make([]field, len(fields))
	for i, f := range fields {
		all[place(i)] = f
	}
	label = place(label)
	l := &layout{fields: all, label: label, hasLabel: true}
	if t.o.Labels != LabelsRequired && len(first) == len(all)-1 {
		l.fields = append(append([]field(nil), all[:label]...), all[label+1:]...)
		l.label, l.hasLabel = -1, false
	}
	if len(first) == len(l.fields) && repeatsNames(l, first) {
		return nil, t.errorf(row, "", 0, ruleIsHeader)
	}
	return l, nil
}

// repeatsNames reports whether every field of the row equals the name of its column.
func repeatsNames(l *layout, row [][]byte) bool {
	for i, f := range l.fields {
		if !strings.EqualFold(string(row[i]), f.name) {
			return false
		}
	}
	return true
}

// looksLikeHeader reports whether a refused row may be a header: some field is the name of its column, or every
// numeric field holds text. It is called only for rows that the schema refuses. Valid records are accepted in
// row 1 like in any other row.
func (t *table) looksLikeHeader(l *layout, row [][]byte) bool {
	numeric, texts := 0, 0
	for i, f := range l.fields {
		if len(row[i]) > 0 && strings.EqualFold(string(row[i]), f.name) {
			return true
		}
		if f.role != schema.RoleFeature {
			continue
		}
		c := t.e.Listed(f.feature)
		if !c.Numeric || c.Missing.Find(row[i]) >= 0 || len(row[i]) == 0 {
			continue
		}
		numeric++
		if _, rule := parse.Number(row[i]); rule == parse.RuleNotNumber {
			texts++
		}
	}
	return numeric >= 2 && texts == numeric
}

// inHeader marks an error as an error of the header.
func inHeader(err error) error {
	if p, ok := err.(*source.ParseError); ok {
		p.Header = true
	}
	return err
}
