package dataset

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// field says what one field of a CSV row is.
type field struct {
	role    string
	name    string
	feature int // place among the feature columns
}

// layout is what the fields of a row are, in the order of the file.
type layout struct {
	fields   []field
	hasLabel bool
}

func readCSV(t *table, z sizes) error {
	s := t.e.schema
	r := newCSVReader(t.src, &s.CSV)
	first, err := r.next()
	if err == io.EOF {
		return t.errorf(0, "", 0, ruleEmpty)
	}
	if err != nil {
		return err
	}
	var l *layout
	if s.CSV.Header {
		if l, err = t.headerLayout(first, r.row); err != nil {
			return err
		}
		first = nil
	} else if l, err = t.positionLayout(first, r.row); err != nil {
		return err
	}
	t.hasLabels = l.hasLabel
	t.allocate(z, len(l.fields))
	for row := first; ; row = nil {
		if row == nil {
			if row, err = r.next(); err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
		if err := t.addCSVRow(l, row, r.row); err != nil {
			return err
		}
	}
}

// headerLayout finds the schema's columns in a header. Its errors never show a
// field, because the row may be a record of a file without a header.
func (t *table) headerLayout(header [][]byte, row int) (*layout, error) {
	s := t.e.schema
	byName := make(map[string]field, len(s.Columns))
	features := 0
	for i := range s.Columns {
		c := &s.Columns[i]
		f := field{role: c.role(), name: c.Name}
		if f.role == RoleFeature {
			f.feature = features
			features++
		}
		byName[c.Name] = f
	}
	l := &layout{fields: make([]field, len(header))}
	unknown := 0
	at := map[string]int{}
	for i, h := range header {
		f, ok := byName[string(h)]
		if !ok {
			if unknown == 0 {
				unknown = i + 1
			}
			l.fields[i].role = RoleIgnore
			continue
		}
		if at[f.name] != 0 {
			return nil, t.errorf(row, f.name, i+1, "the header names this column twice; rename one")
		}
		at[f.name] = i + 1
		l.fields[i] = f
	}
	if len(at) == 0 {
		return nil, t.errorf(row, "", 0, ruleNotHeader)
	}
	for i := range s.Columns {
		c := &s.Columns[i]
		switch role := c.role(); {
		case at[c.Name] != 0:
			l.hasLabel = l.hasLabel || role == RoleLabel
		case role == RoleFeature, role == RoleLabel && t.o.Labels == LabelsRequired, role == RoleID && t.o.KeepIDs:
			return nil, t.errorf(row, c.Name, 0, "the header does not match the schema: it lacks this column; correct the name in the file or in the schema")
		}
	}
	if unknown != 0 && !s.CSV.IgnoreOthers {
		return nil, t.errorf(row, "", unknown, "the header does not match the schema: it has a name that the schema lacks; add the column (role: ignore drops it), or set csv.ignore_others: true")
	}
	return l, nil
}

// positionLayout lays out a file without a header. Where labels are not
// required, a file with one field less is one without the label column.
func (t *table) positionLayout(first [][]byte, row int) (*layout, error) {
	s := t.e.schema
	all := make([]field, len(s.Columns))
	features, label := 0, 0
	for i := range s.Columns {
		c := &s.Columns[i]
		p := c.Position - 1
		if p < 0 {
			p = i
		}
		all[p] = field{role: c.role(), name: c.Name}
		switch c.role() {
		case RoleFeature:
			all[p].feature = features
			features++
		case RoleLabel:
			label = p
		}
	}
	l := &layout{fields: all, hasLabel: true}
	if t.o.Labels != LabelsRequired && len(first) == len(all)-1 {
		l.fields = append(append([]field(nil), all[:label]...), all[label+1:]...)
		l.hasLabel = false
	}
	if len(first) == len(l.fields) && t.looksLikeHeader(l, first) {
		return nil, t.errorf(row, "", 0, ruleIsHeader)
	}
	return l, nil
}

// looksLikeHeader says that a field is the name of its column, or that every
// numeric field holds text.
func (t *table) looksLikeHeader(l *layout, row [][]byte) bool {
	numeric, texts := 0, 0
	for i, f := range l.fields {
		if len(row[i]) > 0 && strings.EqualFold(string(row[i]), f.name) {
			return true
		}
		if f.role != RoleFeature {
			continue
		}
		c := &t.e.columns[f.feature]
		if !c.numeric || c.missing.find(row[i]) >= 0 || len(row[i]) == 0 {
			continue
		}
		numeric++
		if _, rule := parseNumber(row[i]); rule == ruleNotNumber {
			texts++
		}
	}
	return numeric >= 2 && texts == numeric
}

func (t *table) addCSVRow(l *layout, row [][]byte, number int) error {
	if len(row) != len(l.fields) {
		rule := fmt.Sprintf("row has %d fields, want %d", len(row), len(l.fields))
		if len(row) == 1 {
			rule += "; check csv.delimiter, or remove the row"
		} else {
			rule += "; quote a field that contains the delimiter, or correct the row or the schema"
		}
		return t.errorf(number, "", 0, rule)
	}
	x := t.dense.grow(t.e.dim)
	var y float64
	for i, f := range l.fields {
		var rule string
		switch f.role {
		case RoleFeature:
			c := &t.e.columns[f.feature]
			rule = c.encode(row[i], x[c.offset:c.offset+c.width])
		case RoleLabel:
			if t.o.Labels != LabelsIgnored {
				y, rule = t.e.encodeLabel(row[i])
			}
		case RoleID:
			if t.o.KeepIDs {
				t.ids = append(t.ids, string(bytes.ToValidUTF8(row[i], []byte("?"))))
			}
		}
		if rule != "" {
			return t.errorf(number, f.name, i+1, rule)
		}
	}
	return t.endRow(y)
}
