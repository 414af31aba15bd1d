package dataset

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
)

// field is the role of one field of a row.
type field struct {
	role    string
	name    string
	feature int // index among the feature columns
}

// layout describes the fields of a row in the order of the file.
type layout struct {
	fields   []field
	label    int // index of the label, -1 without a label
	hasLabel bool
}

// listed returns the columns of a schema in its order, and the index of the label.
func listed(s *schema.Schema) (all []field, label int) {
	features := 0
	for i := range s.Columns {
		all = append(all, field{s.Columns[i].RoleOf(), s.Columns[i].Name, features})
		switch all[i].role {
		case schema.RoleFeature:
			features++
		case schema.RoleLabel:
			label = i
		}
	}
	return all, label
}

// names holds the words that errors about the header of a format use.
type names struct {
	notHeader string // rule that is broken if no name matches
	header    string // name of the part that holds the column names
	ignore    string // option that allows additional names
}

var csvNames = names{ruleNotHeader, "the header", "csv.ignore_others: true"}

// headerLayout finds the schema's columns in a header. Its errors never contain a field, because the row may be
// a record of a file without a header.
func (t *table) headerLayout(header [][]byte, row int, n *names) (*layout, error) {
	s := t.e.Schema()
	byName := make(map[string]field, len(s.Columns))
	all, _ := listed(s)
	for i, f := range all {
		byName[s.Columns[i].FieldOf()] = f
	}
	l := &layout{fields: make([]field, len(header)), label: -1}
	unknown := 0
	at := map[string]int{}
	for i, h := range header {
		f, ok := byName[string(h)]
		if !ok && !utf8.Valid(h) {
			return nil, t.errorf(row, "", i+1, schema.RuleNotUTF8)
		}
		if !ok {
			if unknown == 0 {
				unknown = i + 1
			}
			l.fields[i].role = schema.RoleIgnore
			continue
		}
		if at[f.name] != 0 {
			return nil, t.errorf(row, f.name, i+1, n.header+" names this column twice; rename one")
		}
		at[f.name] = i + 1
		l.fields[i] = f
		if f.role == schema.RoleLabel {
			l.label, l.hasLabel = i, true
		}
	}
	if len(at) == 0 {
		return nil, t.errorf(row, "", 0, n.notHeader)
	}
	var lacking []string // names in the schema that the header lacks
	for i := range s.Columns {
		c := &s.Columns[i]
		switch role := c.RoleOf(); {
		case at[c.Name] != 0:
		case role == schema.RoleLabel && t.o.Labels == LabelsRequired:
			return nil, t.errorf(row, c.Name, 0, n.header+
				" lacks the label, which training and evaluation need; add the label, or "+
				"correct its name in the file or in the schema")
		case role == schema.RoleFeature, role == schema.RoleGroup, role == schema.RoleID && t.o.KeepIDs,
			role == schema.RolePerson && t.o.Persons == KeepPersons && !t.o.AnyPersons:
			lacking = append(lacking, c.Name)
		}
	}
	if len(lacking) > 0 {
		others := ""
		if len(lacking) > 1 {
			others = " and " + strings.Trim(schema.QuoteList(lacking[1:]), "[]")
		}
		return nil, t.errorf(row, lacking[0], 0, n.header+" does not match the schema: it lacks this column"+others+
			"; correct the name in the file or in the schema")
	}
	if unknown != 0 && !s.CSV.IgnoreOthers && !s.IgnoreOthers {
		if t.others = t.o.IgnoreOthers; t.others {
			return l, nil
		}
		return nil, t.errorf(row, "", unknown, n.header+
			" does not match the schema: it has a name that the schema lacks; add this column to the schema (role: "+
			"ignore drops "+
			"it), or set "+n.ignore)
	}
	return l, nil
}

// addRow encodes one row with named columns. row[i] is the text of field i; an empty text means missing. If
// numbers is not nil and row[i] is nil, numbers[i] is the value, with NaN for missing.
func (t *table) addRow(l *layout, row [][]byte, numbers []float64, number int) error {
	if err := t.plainFields(l, row, number); err != nil {
		return err
	}
	var label schema.Label
	if l.hasLabel {
		var err error
		if label, err = t.readLabel(row[l.label], number, l.label+1); err != nil {
			return err
		}
		if label.Drop {
			return t.count(1)
		}
	}
	if t.scan != nil {
		t.scan.setFields(l, row, t.readsLabels(), t.e.Width())
	}
	x := t.dense.grow(t.e.Dim())
	for i, f := range l.fields {
		switch f.role {
		case schema.RoleFeature:
			c := t.e.Listed(f.feature)
			out := x[c.Offset : c.Offset+c.Width]
			var rule string
			switch {
			case row[i] != nil || numbers == nil || math.IsNaN(numbers[i]):
				rule = c.Encode(row[i], out)
			case math.IsInf(numbers[i], 0):
				rule = parse.RuleNotFinite
			default:
				rule = c.EncodeNumber(numbers[i], out)
			}
			if rule != "" {
				return t.errorf(number, f.name, i+1, rule)
			}
		case schema.RoleID, schema.RoleGroup, schema.RolePerson:
			if err := t.addIdentity(f.role, row[i], number, i+1); err != nil {
				return err
			}
		}
	}
	return t.endRow(number, label.Y)
}

// identifies reports whether the layout has a field with an id, a group or a person.
func (l *layout) identifies() bool {
	return slices.ContainsFunc(l.fields, func(f field) bool { return identity(f.role) })
}

func identity(role string) bool {
	return role == schema.RoleID || role == schema.RoleGroup || role == schema.RolePerson
}

// addIdentity records the id, the group or the person of a row.
func (t *table) addIdentity(role string, text []byte, number, position int) error {
	switch role {
	case schema.RoleID:
		if t.scan != nil && t.e.PersonColumn == nil {
			t.scan.row.ID = string(text)
		} else if t.scan == nil && t.o.KeepIDs {
			t.ids = append(t.ids, strings.ToValidUTF8(string(text), "?"))
		}
		return nil
	case schema.RoleGroup:
		return t.addGroup(text, number, position)
	}
	if t.scan != nil {
		t.scan.row.ID = string(text)
	}
	return t.addPerson(text, number, position)
}

// setFields stores the texts of a row for a scan.
func (s *scanner) setFields(l *layout, row [][]byte, labels bool, features int) {
	if s.row.Fields == nil {
		s.row.Fields = make([][]byte, features)
	}
	for i, f := range l.fields {
		if f.role == schema.RoleFeature {
			s.row.Fields[f.feature] = row[i]
		}
	}
	if l.hasLabel && labels {
		s.row.Label = string(row[l.label])
	}
}

// plainFields replaces numbers of a row in a column's own notation by plain numbers. The texts are valid until
// the next row.
func (t *table) plainFields(l *layout, row [][]byte, number int) error {
	if !t.e.Notations {
		return nil
	}
	t.text = t.text[:0]
	for i, f := range l.fields {
		var n *parse.Notation
		switch {
		case len(row[i]) == 0:
		case f.role == schema.RoleFeature:
			if c := t.e.Listed(f.feature); c.Writes(row[i]) {
				n = c.Notation
			}
		case f.role == schema.RoleLabel && t.readsLabels():
			n = t.e.Grades
		}
		if n == nil {
			continue
		}
		begin := len(t.text)
		var rule string
		if t.text, rule = n.Plain(t.text, row[i]); rule != "" {
			return t.errorf(number, f.name, i+1, rule)
		}
		row[i] = t.text[begin:len(t.text):len(t.text)]
	}
	return nil
}

// fieldsOf converts names to the fields of a header.
func fieldsOf(names []string) [][]byte {
	all := make([][]byte, len(names))
	for i, name := range names {
		all[i] = []byte(name)
	}
	return all
}
