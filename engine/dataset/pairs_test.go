package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
	"dyad/internal/must"
)

var fourIDs = []string{"anna", "ben", "cora", "dan"}

func loadPairs(t *testing.T, name, content string, o PairOptions) ([]LabelledPair, error) {
	t.Helper()
	path := writeFile(t, name, content)
	return readPairs(path, fourIDs, "people.csv", "id", o)
}

var likeness = PairOptions{True: "different", False: "same"}

type pairRow struct {
	First  string `parquet:"first"`
	Label  bool   `parquet:"label"`
	Second string `parquet:"second"`
}

func TestLoadPairs(t *testing.T) {
	want := []LabelledPair{{0, 1, true}, {2, 1, false}}
	bools := PairOptions{True: "true", False: "false"}
	named := PairOptions{True: "1", False: "0", Columns: PairColumns{First: "a", Second: "b", Label: "sick"},
		CSV: schema.CSVOptions{Delimiter: ";"}}
	preference := PairOptions{True: "first", False: "second", Oriented: true}
	for _, c := range []struct {
		name, content string
		o             PairOptions
		want          []LabelledPair
	}{
		{"a.csv", "first,second,label\nanna,ben,different\n\ncora , \"ben\",same\n", likeness, want},
		{"b.csv", "sick;b;note;a\n1;ben;x;anna\n0.0;ben;y;cora\n", named, want},
		{"c.parquet", parquetFile(t, pairRow{"anna", true, "ben"}, pairRow{"cora", false, "ben"}), bools, want},
		{"d.csv", "first,second\nanna,ben\ncora,ben\n", preference, []LabelledPair{{0, 1, true}, {2, 1, true}}},
	} {
		must.Same(t, must.Get(loadPairs(t, c.name, c.content, c.o))(t, c.name), c.want, "%s", c.name)
	}
}

// Every rule is found at its row and column, and no error shows a field.
func TestLoadPairsErrors(t *testing.T) {
	const head, good = "first,second,label\n", "anna,ben,same\n"
	preference := PairOptions{True: "first", False: "second", Oriented: true}
	for _, c := range []struct {
		content  string
		o        PairOptions
		row      int
		column   string
		position int
		says     string
	}{
		{head + good + "ben,anna,same\n", likeness, 3, "", 0,
			"row 2 has the same pair; keep only the row with the true label"},
		{head + good + "\nben,anna,different\n", likeness, 4, "", 0,
			"row 2 has the same pair; keep only the row with the true label"},
		{head + "anna,ben,first\nben,anna,second\n", preference, 3, "", 0,
			"row 2 has the same pair; keep only the row with the true label"},
		{head + "anna,ben,first\nben,anna,first\n", preference, 3, "", 0,
			"row 2 has the same pair; keep only the row with the true label"},
		{"first,second\nanna,ben\nben,anna\n", preference, 3, "", 0,
			"row 2 has the same pair; keep only the row with the true label"},
		{head + good + "dan,dan,same\n", likeness, 3, "", 0, "the same individual twice"},
		{head + good + "dan,zoe,same\n", likeness, 3, "second", 2, "not in the features file"},
		{head + "zoe,dan,same\n", likeness, 2, "first", 1, "not in the features file"},
		{head + "anna,,same\n", likeness, 2, "second", 2, "id is missing"},
		{head + "anna,ben,\n", likeness, 2, "label", 3, "label is missing"},
		{head + "anna,ben,secret\n", likeness, 2, "label", 3, `neither "different" nor "same"`},
		{head + "anna,ben\n", likeness, 2, "", 0, "2 fields, but the header has 3"},
		{"first,label\nanna,same\n", likeness, 1, "second", 0, "lacks this column"},
		{"first,second\nanna,ben\n", likeness, 1, "label", 0, "lacks this column"},
		{"first;second;label\nanna;ben;same\n", likeness, 1, "", 0, `separated by ";" and not by ","`},
		{"first,second,first,label\n", likeness, 1, "first", 1, "twice"},
		{head, likeness, 0, "", 0, "no pairs"},
		{"", likeness, 0, "", 0, "no pairs"},
		{"PK\x03\x04", likeness, 0, "", 0, "neither CSV nor Parquet"},
		{"PAR1 damaged", likeness, 0, "", 0, "damaged"},
	} {
		_, err := loadPairs(t, "pairs.csv", c.content, c.o)
		var parse *source.ParseError
		wantRule(t, err, source.ParseError{Row: c.row, Column: c.column, Position: c.position, Rule: c.says}, c.content)
		if !errors.As(err, &parse) || filepath.Base(parse.File) != "pairs.csv" {
			t.Fatalf("%q: %v", c.content, err)
		}
		for _, field := range []string{"zoe", "secret", "anna", "dan"} {
			if strings.Contains(parse.Rule, field) {
				t.Errorf("%q: the error shows a field: %v", c.content, err)
			}
		}
	}
	must.Err(loadPairs(t, "a.csv", head+good, PairOptions{True: "same", False: "same"}))(t,
		"two equal values of a label were accepted")
}

func TestLoadPairsChecksIDs(t *testing.T) {
	for name, ids := range map[string][]string{"records 1 and 3": {"a", "b", "a"}, "record 2": {"a", ""}} {
		_, err := readPairs("missing.csv", ids, "people.csv", "who", likeness)
		wantRule(t, err, source.ParseError{File: "people.csv", Column: "who", Rule: name}, ids)
	}
	must.Fail(readPairs("missing.csv", fourIDs, "people.csv", "who", likeness))(t, os.ErrNotExist, "a missing file")
}
