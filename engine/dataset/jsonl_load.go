package dataset

import (
	"bytes"

	"dyad/engine/dataset/jsonl"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// readJSONL reads one object from each line. If a key is absent, the value of its column is missing. The first
// row determines whether the file has labels.
func readJSONL(t *table, src *source.Lines, z source.Sizes) error {
	s := t.e.Schema()
	l := &layout{}
	l.fields, l.label = listed(s)
	place := make(map[string]int, len(s.Columns))
	for i := range s.Columns {
		place[s.Columns[i].FieldOf()] = i
	}
	t.allocate(z, 1)
	r := jsonl.NewReader(src)
	row := make([][]byte, len(l.fields))
	seen := make([]int, len(l.fields)) // number of the last row that had the key
	known, number := 0, t.seen+1
	return r.Each(func(key, value []byte, nested bool) error {
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
		seen[i], row[i] = number, bytes.TrimSpace(value)
		return nil
	}, func() error {
		if known == 0 {
			return t.errorf(src.Line, "", 0, ruleJSONNames)
		}
		if err := t.jsonLabel(l, seen[l.label] == number, src.Line); err != nil {
			return err
		}
		err := t.addRow(l, row, nil, src.Line)
		known, number = 0, t.seen+1
		clear(row)
		return err
	})
}

// jsonLabel determines from the first row whether the file has labels.
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
