//go:build unix

package command

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/engine/dataset"
)

// readingKind is a kind whose Reads changes what it must not.
type readingKind struct {
	sums
	Change string
}

func (readingKind) Info() algorithms.Info {
	return algorithms.Info{Name: "reading", Title: "Release sums", Released: "two sums"}
}

// readSchema is the schema that readingKind returned last, for a change after Reads.
var readSchema *dataset.Schema

func (k readingKind) Rows(s algorithms.KindShape) (algorithms.Releases, error) {
	if k.Change == "later" {
		readSchema.Public, readSchema.DataID = true, "other"
	}
	return k.sums.Rows(s)
}

func (k readingKind) Reads(s *dataset.Schema) (algorithms.Kind, *dataset.Schema, error) {
	if readSchema = s; k.Change == "failed" {
		return nil, nil, errors.New("own: there is no such column")
	}
	if k.Change == "nothing" {
		return nil, nil, nil
	}
	if k.Change == "another kind" {
		return sums{}, s, nil
	}
	for i := range s.Columns {
		switch c := &s.Columns[i]; {
		case k.Change == "a person's column ignored" && c.Role == dataset.RolePerson:
			*c = dataset.Column{Name: c.Name, Role: dataset.RoleIgnore}
		case k.Change == "another column of persons" && c.Role == dataset.RolePerson:
			c.Field = "x"
		case k.Change == "a mark" && c.FromData:
			c.FromData = false
		case k.Change == "a column with a mark" && c.FromData:
			*c = dataset.Column{Name: c.Name, Role: dataset.RoleIgnore}
		case k.Change == "selection" && c.Role == dataset.RoleLabel:
			c.Others = ""
		}
	}
	switch k.Change {
	case "public":
		s.Public = true
	case "data id":
		s.DataID = "other"
	case "rows":
		s.RowsPerPerson = 0
	case "a copy":
		other := *s
		other.Public = true
		s = &other
	case "cap":
		s.MaxRowsPerPerson = 1
	case "number of persons":
		s.Persons = 7
	case "ids":
		s.IDs = ""
	}
	return k, s, nil
}

// A kind that would make private records public, charge another data id, read rows of persons as records, or lose what its guarantee is qualified
// by, is refused with its name before a charge.
func TestReadersLeaveTheProtectionAsItIs(t *testing.T) {
	w := With{Kinds: []algorithms.Kind{readingKind{}}}
	rows, persons := `data_id: d
csv: {header: true}
rows_per_person: 3
columns:
  - {name: x, range: [-1, 1], from_data: true}
  - {name: z, range: [0, 10]}
  - {name: y, role: label, positive: "1", negative: "0", others: drop}
`, `data_id: d
csv: {header: true}
ids: public
max_rows_per_person: 4
columns:
  - {name: x, range: [-1, 1]}
  - {name: z, range: [0, 10]}
  - {name: y, role: person}
`
	run := func(t *testing.T, schema, change string) (dir string, code int, errs string) {
		dir = t.TempDir()
		write(t, dir, "s.yaml", schema)
		write(t, dir, "r.csv", "x,z,y\n"+strings.Repeat("0.5,3,1\n-0.5,4,0\n", 12))
		in := func(name string) string { return filepath.Join(dir, name) }
		code, _, errs = hooked(context.Background(), hooks{with: w}, "reading", "--change", change, "--data", in("r.csv"),
			"--schema", in("s.yaml"), "--ledger", in("l.jsonl"), "--out", in("o.json"))
		return dir, code, errs
	}
	for _, change := range []string{"none", "later"} {
		dir, code, errs := run(t, rows, change)
		if code != exitOK || !exists(filepath.Join(dir, "l.jsonl")) ||
			strings.Count(text(t, dir, "l.jsonl"), `"type":"charge"`) != 1 || !strings.Contains(text(t, dir, "o.json"), `"data_id": "d"`) {
			t.Errorf("%s: exit %d: %s", change, code, errs)
		}
	}
	if _, code, errs := run(t, persons, "none"); code != exitInput || !strings.Contains(errs, "persons with several") {
		t.Errorf("persons: exit %d: %s", code, errs)
	}
	for schema, changes := range map[string]map[string]string{
		rows: {
			"public": "public", "a copy": "public", "data id": "data_id", "rows": "rows_per_person", "a mark": "from_data",
			"a column with a mark": "from_data", "selection": "others: drop",
			"nothing": "must return", "another kind": "must return", "failed": "no such column",
		},
		persons: {
			"a person's column ignored": "the columns of persons", "another column of persons": "the columns of persons",
			"cap": "max_rows_per_person", "number of persons": "persons", "ids": "ids",
		},
	} {
		for change, want := range changes {
			dir, code, errs := run(t, schema, change)
			if code != exitInput || !strings.Contains(errs, want) ||
				change != "failed" && !strings.Contains(errs, pick(want == "must return", "reading: its method Reads ",
					"kind reading: Reads must not change who is protected, but it changed ")) || exists(filepath.Join(dir, "l.jsonl")) {
				t.Errorf("%s: exit %d: %s", change, code, errs)
			}
		}
	}
}
