package dataset

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// remembered is a schema with a column of each kind that a draft takes from the data.
const remembered = `data_id: x
csv: {header: true}
columns:
  - {name: a, range: [-0.5, 1e+300], from_data: true}
  - {name: "b: \"#\"", field: "f ,{", categories: ["1", "no", "~", "ü, \"x\""], from_data: true}
  - {name: c, date: {format: DD.MM.YYYY, from: 2020-01-01, to: 2021-12-31}, from_data: true}
  - {name: d, range: [0, 1]}
  - {name: y, role: label, positive: 1}
`

// TestMemoryOfDraft: what Remember writes marks the same columns again, also of files whose columns have places instead of names
// or whose features are numbered, and none that differs.
func TestMemoryOfDraft(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		from         []string
	}{
		{"names", remembered, []string{"a", `b: "#"`, "c"}},
		{"places", "data_id: x\ncolumns:\n  - {name: a, range: [0, 1], from_data: true}\n  - {name: y, role: label, positive: 1}\n  - {name: b, range: [0, 1], from_data: true}\n  - {name: c, range: [0, 1]}\n", []string{"a", "b"}},
		{"numbers", "data_id: x\nfeatures: 3\nrange: [0, 2]\nbounds_from_data: true\ncolumns:\n  - {name: y, role: label, positive: \"1\"}\n", nil},
	} {
		path := filepath.Join(t.TempDir(), "s.yaml")
		s, err := ParseSchema([]byte(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		memory := s.Remember()
		s.BoundsFromData = false
		for i := range s.Columns {
			s.Columns[i].FromData = false
		}
		load := func() *Schema {
			text, err := s.YAML()
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string][]byte{path: text, path + DraftedEnding: memory} {
				if err := os.WriteFile(name, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := LoadSchema(path)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		if got := load(); !got.RangesFromData() || got.Draft != "" || !slices.Equal(got.FromDataColumns(), c.from) {
			t.Errorf("%s: %q of %q, draft %q\n%s", c.name, got.FromDataColumns(), c.from, got.Draft, memory)
		}
		s.Columns[0].Range, s.Range = []float64{-7, 7}, []float64{-7, 7}
		if s.byIndex() {
			s.Columns[0].Range = nil
		} else {
			s.Range = nil
		}
		if got := load(); len(c.from) > 0 && !slices.Equal(got.FromDataColumns(), c.from[1:]) || len(c.from) == 0 && got.RangesFromData() {
			t.Errorf("%s, the first range replaced: %q", c.name, got.FromDataColumns())
		}
	}
}

// TestSameValues: lists of categories are compared as a file is matched with them, without their order.
func TestSameValues(t *testing.T) {
	for _, c := range []struct {
		a, b []string
		same bool
	}{
		{[]string{"f", "m"}, []string{"m", "f"}, true}, {[]string{"1.0", "2"}, []string{"1", "2"}, true},
		{[]string{"f", "m", "d"}, []string{"f", "m"}, false}, {[]string{"f", "M"}, []string{"f", "m"}, false}, {[]string{"1", "3"}, []string{"1", "2"}, false},
	} {
		if sameValues(c.a, c.b) != c.same {
			t.Errorf("%q and %q: %v", c.a, c.b, !c.same)
		}
	}
}

// FuzzDrafted: the memory of a draft is what Remember writes, or is refused.
func FuzzDrafted(f *testing.F) {
	s := mustSchema(f, remembered)
	f.Add(string(s.Remember()))
	f.Add(draftedHead + "{\"format\": \"dyad-drafted/1\", \"draft\": \"x\", \"columns\": [{\"range\": [0]}]}")
	f.Add(draftedHead + strings.Repeat("[", 100))
	f.Add("# sha256: \n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, text := range []string{text, draftedHead + text, draftedHead + text + memorySum([]byte(draftedHead+text))} {
			m, err := parseMemory([]byte(text))
			if err != nil {
				continue
			}
			if !bytes.Equal(m.text(), []byte(text)) || m.Format != draftedFormat || !isDraftID(m.Draft) {
				t.Fatalf("%q is read as %+v", text, m)
			}
			for _, c := range m.Columns {
				_ = c.is(&Column{Range: []float64{0, math.Inf(1)}}) // whatever is in it
			}
		}
	})
}

// TestDraftedFilesOfEveryVersion: files that earlier versions wrote are read.
func TestDraftedFilesOfEveryVersion(t *testing.T) {
	m, err := readMemory("testdata/drafted-1.drafted")
	if err != nil || m == nil || len(m.Columns) != 10 {
		t.Errorf("%+v, %v", m, err)
	}
}
