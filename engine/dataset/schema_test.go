package dataset

import (
	"path/filepath"
	"strings"
	"testing"

	"dyad/engine/dataset/strictyaml"
	"dyad/internal/must"
)

// Syntax errors and unknown keys carry the line.
func TestParseSchemaSyntax(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"data_id: a\ncolumms: []\n", `line 2, position 1: unknown field "columms"; did you mean columns?`},
		{"data_id: a\ncolumns:\n  - {name: x, rang: [0, 1]}\n",
			`line 3, position 15: unknown field "rang"; did you mean range?`},
		{"data_id: a\ndata_id: b\n", "line 2, position 1: "},
		{"data_id: [\n", "line 1, position 10: "},
		{"- a\n", "line 1, position 1: "},
		{"data_id: a\nfeatures: 1.5\n", "line 2, position 11: features: want a whole number"},
		{"data_id: a\npublic: maybe\n", "dataset: schema: line 2, position 9: public: want true or false, not a text"},
		{"data_id: a\n---\ndata_id: b\n", "want one YAML document"},
		{"", "schema is empty"},
		{"# only a comment\n", "schema is empty"},
		{strings.Repeat("#", strictyaml.MaxBytes+1), "longer than"},
	} {
		_, err := ParseSchema([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "dataset: schema") ||
			strings.Contains(c.text, "maybe") && strings.Contains(err.Error(), "not data") {
			t.Errorf("%.40q: got %v, want %q", c.text, err, c.want)
		}
	}
}

// Validate reports every problem; each case breaks one rule of a valid schema.
func TestValidate(t *testing.T) {
	csv := func(rest string) string { return "data_id: t\ncolumns:\n" + rest }
	const label, x = "  - {name: y, role: label, positive: 1}\n", "  - {name: x, range: [0, 1]}\n"
	must.Get(ParseSchema([]byte(csv(label+x))))(t, "the valid schema:")
	for _, c := range []struct{ text, want string }{
		{"columns:\n" + label + x, "data_id must be"},
		{"data_id: a b\ncolumns:\n" + label + x, "data_id must be"},
		{"data_id: t\nformat: xml\ncolumns:\n" + label + x, `format is "xml"`},
		{"data_id: t\nrange: [0, 1]\ncolumns:\n" + label + x, "need format: libsvm"},
		{"data_id: t\ncsv: {delimiter: ab}\ncolumns:\n" + label + x, "csv.delimiter"},
		{"data_id: t\ncsv: {delimiter: \"\\\"\"}\ncolumns:\n" + label + x, "csv.delimiter"},
		{"data_id: t\ncsv: {delimiter: é}\ncolumns:\n" + label + x, "csv.delimiter"},
		{"data_id: t\ncsv: {comment: [\"\"]}\ncolumns:\n" + label + x, "empty prefix"},
		{"data_id: t\ncsv: {ignore_others: true}\ncolumns:\n" + label + x, "needs csv.header"},
		{"data_id: t\n", "columns is empty"},
		{csv(label + "  - {name: x, position: 1, range: [0, 1]}\n"), "1 of 2 columns have a position"},
		{csv("  - {name: y, position: 1, role: label, positive: 1}\n  - {name: x, position: 3, range: [0, 1]}\n"),
			"is 3, but it must be 1 to 2"},
		{csv("  - {name: y, position: 1, role: label, positive: 1}\n  - {name: x, position: 1, range: [0, 1]}\n"),
			"used twice"},
		{"data_id: t\ncsv: {header: true}\ncolumns:\n" + label + "  - {name: x, position: 1, range: [0, 1]}\n",
			"the header already gives"},
		{csv(x), "no column has role: label"},
		{csv(label + "  - {name: z, role: label, positive: 1}\n" + x), "2 columns have role: label"},
		{csv(label + x + "  - {name: a, role: id}\n  - {name: b, role: id}\n"), "2 columns have role: id"},
		{csv(label), "no column is a feature"},
		{csv(label + x + x), `"x" is listed twice`},
		{csv(label + "  - {range: [0, 1]}\n"), "has no name"},
		{csv(label + "  - {name: x, role: weight}\n"), `role is "weight"`},
		{csv(label + x + "  - {name: a, role: id, range: [0, 1]}\n"), "only features and graded labels"},
		{csv(label + "  - {name: x, range: [0, 1], positive: 1}\n"), "only the label may have"},
		{csv("  - {name: y, role: label}\n" + x), "positive is missing"},
		{csv("  - {name: y, role: label, positive: 1, negative: 1.0}\n" + x), "same value"},
		{csv(label + "  - {name: x}\n"), "needs its public range"},
		{csv(label + "  - {name: x, range: [0]}\n"), "range has 1 numbers"},
		{csv(label + "  - {name: x, range: [1, 1]}\n"), "want finite lo < hi"},
		{csv(label + "  - {name: x, range: [2, 1]}\n"), "want finite lo < hi"},
		{csv(label + "  - {name: x, range: [0, .inf]}\n"), "want finite lo < hi"},
		{csv(label + "  - {name: x, range: [.nan, 1]}\n"), "want finite lo < hi"},
		{csv(label + "  - {name: x, range: [-1e308, 1e308]}\n"), "want finite lo < hi"},
		{csv(label + "  - {name: x, range: [1e300, 1.000000000000001e300], transform: log1p}\n"), "too narrow"},
		{csv(label + "  - {name: x, range: [0, 1], transform: sqrt}\n"), `transform is "sqrt"`},
		{csv(label + "  - {name: x, range: [-0.5, 1], transform: log1p}\n"), "from 0 or above"},
		{csv(label + "  - {name: x, kind: text}\n"), `kind is "text"`},
		{csv(label + "  - {name: x, kind: numeric, range: [0, 1], categories: [a, b]}\n"), "cannot have categories"},
		{csv(label + "  - {name: x, range: [0, 1], categories: [a, b]}\n"), "cannot have range"},
		{csv(label + "  - {name: x, categories: [a]}\n"), "at least 2 categories"},
		{csv(label + "  - {name: x, categories: [a, b, a]}\n"), `"a" is listed twice`},
		{csv(label + "  - {name: x, categories: [a, \"\"]}\n"), "a category is empty"},
		{csv(label + "  - {name: x, range: [0, 1], missing: {policy: drop}}\n"), `policy is "drop"`},
		{csv(label + "  - {name: x, range: [0, 1], missing: {policy: value}}\n"), "must be a finite number"},
		{csv(label + "  - {name: x, range: [0, 1], missing: {policy: middle, value: 3}}\n"),
			`or set the policy to "value"`},
		{csv(label + "  - {name: x, range: [0, 1], missing: {policy: category}}\n"), "for categorical columns"},
		{csv(label + "  - {name: x, categories: [a, b], missing: {policy: value, value: 1}}\n"), "for numeric columns"},
		{"missing: {policy: category}\n" + csv(label+x), "for categorical columns"},

		{"data_id: t\nformat: libsvm\nrange: [0, 1]\ncolumns:\n" + label, "features is 0"},
		{"data_id: t\nfeatures: 999999999\nrange: [0, 1]\ncolumns:\n" + label, "features is 999999999"},
		{"data_id: t\nfeatures: 5\nnonzeros: 6\nrange: [0, 1]\ncolumns:\n" + label, "nonzeros is 6"},
		{"data_id: t\nfeatures: 5\nnonzeros: 3\ndense: true\nrange: [0, 1]\ncolumns:\n" + label, "for sparse records"},
		{"data_id: t\nfeatures: 5\ncsv: {header: true}\nrange: [0, 1]\ncolumns:\n" + label, "need format: csv"},
		{"data_id: t\nfeatures: 5\ncolumns:\n" + label, "range is missing"},
		{"data_id: t\nfeatures: 5\nrange: [1, 2]\ncolumns:\n" + label, "must contain 0"},
		{"data_id: t\nfeatures: 5\nrange: [0, 1]\nmissing: {policy: middle}\ncolumns:\n" + label, "no missing values"},
		{"data_id: t\nfeatures: 5\nrange: [0, 1]\ncolumns:\n" + label + x, "must be from 1 to the value of the key features"},
		{"data_id: t\nfeatures: 5\nrange: [0, 1]\ncolumns:\n  - {name: y, position: 1, role: label, positive: 1}\n",
			"the format sets the position"},
		{"data_id: t\nfeatures: 5\nrange: [0, 1]\ncolumns:\n  - {name: y, role: label, positive: a}\n", "must be numbers"},
		{"data_id: t\nfeatures: 5\nrange: [0, 1]\ncolumns:\n" + label + "  - {name: a, role: id}\n",
			"takes only the roles feature, label and group"},
		{"data_id: t\nfeatures: 5\nrange: [0, 1]\ncolumns:\n" + label + "  - {name: a, position: 1, categories: [a, b]}\n",
			"are numeric"},
		{"data_id: t\nfeatures: 5\nrange: [0, 1]\ncolumns:\n" + label +
			"  - {name: a, position: 1, range: [0, 1]}\n  - {name: b, position: 1, range: [0, 1]}\n", "used twice"},
	} {
		must.Fail(ParseSchema([]byte(c.text)))(t, c.want)
	}
	must.Fail(ParseSchema([]byte("data_id: \"\"\ncolumns:\n  - {name: x, range: [1, 0]}\n")))(t,
		must.All{"data_id", "lo < hi", "role: label"}, "all problems")
}

// Words that YAML would read as numbers or booleans stay text.
func TestSchemaKeepsText(t *testing.T) {
	s := mustSchema(t, `
data_id: 007
columns:
  - {name: 1, categories: [007, 7, no, ~, 1.50, 0x10, .nan]}
  - {name: y, role: label, positive: +1, negative: -1.0}
`)
	if s.DataID != "007" || s.Columns[0].Name != "1" || s.Columns[1].Positive != "+1" || s.Columns[1].Negative != "-1.0" {
		t.Errorf("got %+v", s)
	}
	must.Equal(t, strings.Join(s.Columns[0].Categories, " "), "007 7 no ~ 1.50 0x10 .nan", "categories")
}

func TestLoadSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	must.Err(LoadSchema(path))(t, "an absent file must be an error")
	put(t, path, "data_id: t\n")
	must.Fail(LoadSchema(path))(t, path)
	put(t, path, plainSchema)
	if s, err := LoadSchema(path); err != nil || len(s.Columns) != 3 {
		t.Errorf("got %v, %v", s, err)
	}
}
