package schema

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/strictyaml"
	"dyad/internal/create"
)

// DraftedEnding ends the name of the file that remembers what a draft took from the data. It stands in the folder of
// the schema: of patients.yaml it is patients.yaml.drafted.
const DraftedEnding = ".drafted"

// draftedFormat is the version of such a file (docs/formats.md).
const draftedFormat = "dyad-drafted/1"

// draftedHead begins such a file.
const draftedHead = `# PRIVATE. These ranges and categories were taken from the data. Keep this file like the data, in the folder of the schema.
# The program compares the schema with it, and so knows which of its ranges nobody has replaced. Do not edit it.
`

// Memory holds the facts that a draft took from the data. A schema has none of it, as anyone who has a digest of a range can guess the range.
type Memory struct {
	Format  string         `json:"format"`
	Draft   string         `json:"draft"`           // Schema.Draft
	Range   []float64      `json:"range,omitempty"` // Schema.Range
	Columns []MemoryColumn `json:"columns,omitempty"`
}

// MemoryColumn has one of Range, From and To, and Categories.
type MemoryColumn struct {
	Field      string    `json:"field,omitempty"`    // in the file
	Position   int       `json:"position,omitempty"` // from 1, where columns have no names in the file
	Range      []float64 `json:"range,omitempty"`
	From       string    `json:"from,omitempty"`
	To         string    `json:"to,omitempty"`
	Categories []string  `json:"categories,omitempty"`
}

// newDraftID is the name of a draft. It is random and tells nothing.
func newDraftID() string { return strings.ToLower(rand.Text()) }

// isDraftID reports whether a text can be the name of a draft.
func isDraftID(id string) bool {
	return len(id) <= 64 && id != "" && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// Remember returns the text of the file that remembers which ranges and categories of s are marked as taken from the
// data, and sets s.Draft, which names it, unless it names a draft that is away. The text is nil without marks.
func (s *Schema) Remember() []byte {
	m := Memory{Format: draftedFormat, Draft: newDraftID()}
	if s.BoundsFromData {
		m.Range = s.Range
	}
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.RoleOf() != RoleFeature || !c.FromData && !s.BoundsFromData {
			continue
		}
		k := MemoryColumn{Field: c.FieldOf(), Range: c.Range, Categories: c.Categories}
		if s.byPosition() {
			k.Field, k.Position = "", cmp.Or(c.Position, i+1)
		}
		if c.Date != nil {
			k.From, k.To = c.Date.From, c.Date.To
		}
		m.Columns = append(m.Columns, k)
	}
	if m.Range == nil && m.Columns == nil {
		return nil
	}
	s.Draft = cmp.Or(s.Draft, m.Draft)
	return m.text()
}

// byPosition reports whether columns are found by their place, not by a name.
func (s *Schema) byPosition() bool {
	return s.ByIndex() || (s.format() == FormatCSV || s.format() == FormatXLSX) && !s.CSV.Header
}

// text is the file, with the SHA-256 of all that stands before it in its last line.
func (m *Memory) text() []byte {
	body, _ := json.MarshalIndent(m, "", " ") // finite numbers and texts cannot fail
	text := append([]byte(draftedHead), append(body, '\n')...)
	return append(text, memorySum(text)...)
}

func memorySum(text []byte) string {
	sum := sha256.Sum256(text)
	return "# sha256: " + hex.EncodeToString(sum[:]) + "\n"
}

// parseMemory reads what Remember wrote, and nothing else.
func parseMemory(text []byte) (*Memory, error) {
	rest, ok := bytes.CutPrefix(text, []byte(draftedHead))
	if !ok {
		return nil, errors.New("the file was not written by a draft; give it another name")
	}
	var m Memory
	if json.NewDecoder(bytes.NewReader(rest)).Decode(&m) != nil || m.Format != draftedFormat || !isDraftID(m.Draft) || !bytes.Equal(m.text(), text) {
		return nil, errors.New("the file was changed or cut off after a draft wrote it, or another version of the program wrote it; restore the file, or move it away and draft the schema again")
	}
	return &m, nil
}

// LookDrafted returns an error about a file with the name of a draft's memory that is not one. That there is no such file is not an error.
func LookDrafted(path string) error {
	_, err := readMemory(path)
	return err
}

// readMemory is nil if there is no such file.
func readMemory(path string) (*Memory, error) {
	f, err := create.Open(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var text []byte
	if err == nil {
		defer f.Close()
		text, err = io.ReadAll(io.LimitReader(f, 4*strictyaml.MaxBytes))
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: cannot read what the draft of the schema took from the data: %w", err)
	}
	m, err := parseMemory(text)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return m, nil
}

// remember marks what a schema that was read from path still has of its draft, however the marks went away. Draft is then
// empty. It stays if the memory of that draft is not there, and what was replaced is then unknown.
func (s *Schema) remember(path string) error {
	m, err := readMemory(path + DraftedEnding)
	if at, e := filepath.EvalSymlinks(path); err == nil && m == nil && e == nil {
		m, err = readMemory(at + DraftedEnding)
	}
	if m == nil || err != nil {
		return err
	}
	if s.Draft == m.Draft {
		s.Draft = ""
	}
	if m.Range != nil && s.ByIndex() && slices.Equal(s.Range, m.Range) {
		s.BoundsFromData = true
	}
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.RoleOf() != RoleFeature || c.KnownFrom != "" {
			continue
		}
		for _, k := range m.Columns {
			if (k.Field == c.FieldOf() || k.Position > 0 && s.byPosition() && k.Position == cmp.Or(c.Position, i+1)) && k.is(c) {
				c.FromData = true
			}
		}
	}
	return nil
}

// is reports whether a column still has what the draft gave it.
func (k *MemoryColumn) is(c *Column) bool {
	switch {
	case k.Range != nil:
		return slices.Equal(c.Range, k.Range)
	case k.Categories != nil:
		return sameValues(c.Categories, k.Categories)
	}
	return c.Date != nil && c.Date.From == k.From && c.Date.To == k.To
}

// sameValues compares two lists of categories without their order. Numbers are compared as numbers, as in a file.
func sameValues(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	set := parse.NewSet(b)
	return !slices.ContainsFunc(a, func(v string) bool { return set.Find([]byte(v)) < 0 })
}

// FromDataColumns are the features whose range or categories were taken from the data, by name.
func (s *Schema) FromDataColumns() (names []string) {
	for i := range s.Columns {
		if c := &s.Columns[i]; c.RoleOf() == RoleFeature && (c.FromData || s.BoundsFromData) {
			names = append(names, c.Name)
		}
	}
	return names
}
