package dataset

import (
	"bytes"
	"io"

	"dyad/engine/dataset/jsonl"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// readJSONL reads an object a line. A column whose key is absent is missing; the
// first row says whether the file has labels.
func readJSONL(t *table, src *source.Lines, z source.Sizes) error {
	s := t.e.Schema()
	l := &layout{fields: make([]field, len(s.Columns)), label: -1}
	place := make(map[string]int, len(s.Columns))
	features := 0
	for i := range s.Columns {
		c := &s.Columns[i]
		l.fields[i] = field{role: c.RoleOf(), name: c.Name, feature: features}
		switch c.RoleOf() {
		case schema.RoleFeature:
			features++
		case schema.RoleLabel:
			l.label = i
		}
		place[c.FieldOf()] = i
	}
	t.allocate(z, 1)
	r := jsonl.NewReader(src)
	row := make([][]byte, len(l.fields))
	seen := make([]int, len(l.fields)) // row that had the key last
	for {
		known, number := 0, t.seen+1
		clear(row)
		err := r.Next(func(key, value []byte, nested bool) error {
			i, ok := place[string(key)]
			switch {
			case !ok && (s.IgnoreOthers || t.o.IgnoreOthers):
				t.others = !s.IgnoreOthers
				return nil
			case !ok:
				return t.errorf(src.Line, "", 0, ruleJSONUnknown)
			case seen[i] == number:
				return t.errorf(src.Line, l.fields[i].name, 0, jsonl.RuleTwice)
			case nested && l.fields[i].role != schema.RoleIgnore:
				return t.errorf(src.Line, l.fields[i].name, 0, ruleJSONNested)
			}
			known++
			seen[i] = number
			row[i] = bytes.TrimSpace(value)
			return nil
		})
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if known == 0 {
			return t.errorf(src.Line, "", 0, ruleJSONNames)
		}
		if err := t.jsonLabel(l, seen[l.label] == number, src.Line); err != nil {
			return err
		}
		if err := t.addRow(l, row, nil, src.Line); err != nil {
			return err
		}
	}
}

// jsonLabel settles with the first row whether the file has labels.
func (t *table) jsonLabel(l *layout, has bool, line int) error {
	switch {
	case t.o.Labels == LabelsRequired:
		l.hasLabel = true
	case t.seen == t.first:
		t.hasLabels, l.hasLabel = has, has
	case has != t.hasLabels:
		return t.errorf(line, t.e.LabelColumn.Name, 0, ruleMixedLabels)
	}
	return nil
}
