package dataset

import (
	"testing"

	"dyad/engine/dataset/source"
	"dyad/internal/must"
)

// What the labels of well-formed rows have in common is no error of Load, whose callers may
// not ask before a charge: CheckPairs says it, and Summarize for those who inspect.
func TestLabelsWithoutPairs(t *testing.T) {
	const column = "data_id: t\ncsv: {header: true}\ncolumns:\n  - {name: x, range: [0, 9]}\n"
	const classes, graded = "  - {name: y, role: label, positive: 1, negative: 0}\n", "  - {name: y, role: label, kind: numeric, range: [0, 4]}\n"
	const group, ignored = "  - {name: q, role: group}\n", "  - {name: q, role: ignore}\n"
	for _, c := range []struct{ name, schema, rows, column, rule string }{
		{"two classes", classes + ignored, "1,0,a\n2,1,b\n", "", ""},
		{"no positive", classes + ignored, "1,0,a\n2,0,a\n", "y", ruleNoPositive},
		{"no negative", classes + ignored, "1,1,a\n2,1,a\n", "y", ruleNoNegative},
		{"no positive in groups", classes + group, "1,0,a\n2,0,b\n", "y", ruleNoPositive},
		{"classes apart", classes + group, "1,0,a\n2,1,b\n3,0,a\n", "q", ruleNoGroupPair},
		{"classes in a group", classes + group, "1,0,a\n2,1,b\n3,1,a\n", "", ""},
		{"grades", graded + ignored, "1,0.5,a\n2,0.25,b\n", "", ""},
		{"one grade", graded + ignored, "1,2,a\n2,2,a\n", "y", ruleSameLabel},
		{"grades apart", graded + group, "1,2,a\n2,3,b\n", "q", ruleNoGroupPair},
		{"grades in a group", graded + group, "1,2,a\n2,3,b\n3,4,b\n", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, content := mustSchema(t, column+c.schema), "x,y,q\n"+c.rows
			file := writeFile(t, "file.csv", content)
			d := must.Get(Load(file, s, Options{}))(t, "well-formed rows do not load:")
			m := must.Get(Summarize(file, s, Options{}))(t)
			var want error
			if c.rule != "" {
				want = &source.ParseError{File: file, Column: c.column, Rule: c.rule}
			}
			must.Same(t, d.CheckPairs(), want, "CheckPairs")
			must.Same(t, m.Problem, want, "Summarize")
		})
	}
}

// A record that the schema accepts is accepted in every row, also in the first row of a file
// without a header, where a value may be the name of its column.
func TestRecordsAreAcceptedInEveryRow(t *testing.T) {
	s := mustSchema(t, "data_id: t\ncolumns:\n  - {name: f, categories: [f, m]}\n  - {name: note, role: ignore}\n  - {name: yes, role: label, positive: yes, negative: no}\n")
	for _, content := range []string{"m,-,no\nf,-,yes\n", "f,-,yes\nm,-,no\n", "f,note,no\nm,-,yes\n"} {
		must.Equal(t, must.Get(load(s, content, Options{}))(t, content).Records.Len(), 2, "records of %q", content)
	}
}
