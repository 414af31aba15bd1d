package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
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
		s := mustSchema(t, c.schema)
		memory := s.Remember()
		s.BoundsFromData = false
		for i := range s.Columns {
			s.Columns[i].FromData = false
		}
		load := func() *Schema {
			text := must.Get(s.YAML())(t)
			for name, text := range map[string][]byte{path: text, path + DraftedEnding: memory} {
				put(t, name, text)
			}
			s := must.Get(LoadSchema(path))(t)
			return s
		}
		if got := load(); !got.RangesFromData() || got.Draft != "" || !slices.Equal(got.FromDataColumns(), c.from) {
			t.Errorf("%s: %q of %q, draft %q\n%s", c.name, got.FromDataColumns(), c.from, got.Draft, memory)
		}
		s.Columns[0].Range, s.Range = []float64{-7, 7}, []float64{-7, 7}
		if s.ByIndex() {
			s.Columns[0].Range = nil
		} else {
			s.Range = nil
		}
		if got := load(); len(c.from) > 0 && !slices.Equal(got.FromDataColumns(), c.from[1:]) || len(c.from) == 0 && got.RangesFromData() {
			t.Errorf("%s, the first range replaced: %q", c.name, got.FromDataColumns())
		}
	}
}

// FuzzDrafted: the memory of a draft is what Remember writes, or is refused, by LookDrafted and with the schema.
func FuzzDrafted(f *testing.F) {
	s := mustSchema(f, remembered)
	memory := string(s.Remember())
	head := memory[:strings.IndexByte(memory, '{')]
	f.Add(memory)
	f.Add(head + "{\"format\": \"dyad-drafted/1\", \"draft\": \"x\", \"columns\": [{\"range\": [0]}]}")
	f.Add(head + strings.Repeat("[", 100))
	f.Add("# sha256: \n")
	path := writeFile(f, "s.yaml", remembered)
	f.Fuzz(func(t *testing.T, text string) {
		sum := sha256.Sum256([]byte(head + text))
		for _, text := range []string{text, head + text, head + text + "# sha256: " + hex.EncodeToString(sum[:]) + "\n"} {
			put(t, path+DraftedEnding, text)
			look := LookDrafted(path + DraftedEnding)
			if _, err := LoadSchema(path); (err == nil) != (look == nil) || look == nil && (!strings.HasPrefix(text, head) || !strings.Contains(text, `"draft": "`)) {
				t.Fatalf("%q: %v, and with the schema %v", text, look, err)
			}
		}
	})
}
