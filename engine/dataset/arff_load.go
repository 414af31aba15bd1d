package dataset

import (
	"dyad/engine/dataset/arff"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

var arffNames = names{ruleARFFNames, "the ARFF header", "ignore_others: true"}

func readARFF(t *table, src *source.Lines, z source.Sizes) error {
	r, err := arff.NewReader(src)
	if err != nil {
		return err
	}
	header := make([]string, len(r.Attributes))
	for i, a := range r.Attributes {
		header[i] = a.Name
	}
	l, err := t.headerLayout(fieldsOf(header), src.Line, &arffNames)
	if err != nil {
		return err
	}
	if err := t.checkAttributes(l, r.Attributes); err != nil {
		return err
	}
	t.hasLabels = l.hasLabel
	t.allocate(z, len(l.fields))
	return source.Each(r.Next, func(row [][]byte) error {
		if len(row) != len(l.fields) {
			if last := row[len(row)-1]; len(last) > 0 && last[0] == '{' {
				return t.errorf(src.Line, "", len(row), ruleARFFWeight)
			}
			return t.widthError(len(row), len(l.fields), src.Line)
		}
		for i, f := range l.fields {
			a := &r.Attributes[i]
			if f.role != schema.RoleIgnore && a.Set != nil && len(row[i]) > 0 && a.Set.Find(row[i]) < 0 {
				return t.errorf(src.Line, f.name, i+1, ruleARFFNominal)
			}
		}
		return t.addRow(l, row, nil, src.Line)
	})
}

// checkAttributes compares the types of the header with the schema.
func (t *table) checkAttributes(l *layout, attributes []arff.Attribute) error {
	for i, f := range l.fields {
		a := &attributes[i]
		if f.role != schema.RoleFeature {
			continue
		}
		numeric := t.e.Listed(f.feature).Numeric
		switch {
		case a.Other, a.Text && numeric:
			return t.errorf(a.Line, f.name, i+1, ruleARFFType)
		case a.Set != nil && numeric && a.Set.Numbers == nil:
			return t.errorf(a.Line, f.name, i+1, ruleARFFNumeric)
		}
	}
	return nil
}
