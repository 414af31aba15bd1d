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
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/strictyaml"
	"dyad/internal/create"
)

// DraftedEnding is the ending of the name of the file that stores which values a draft took from the data. The file
// is in the folder of the schema. For patients.yaml it is patients.yaml.drafted.
const DraftedEnding = ".drafted"

// draftedFormat is the format version of this file (docs/formats.md).
const draftedFormat = "dyad-drafted/1"

// draftedHead is the beginning of this file.
const draftedHead = `# PRIVATE. These ranges and categories were taken from the data. Keep this file like the data, in the folder of the schema.
# The program compares the schema with it, and so knows which of its ranges nobody has replaced. Do not edit it.
`

// Memory holds the values that a draft took from the data. A schema does not contain any digest of them, because anyone
// with a digest of a range could guess the range.
type Memory struct {
	Format  string         `json:"format"`
	Draft   string         `json:"draft"`           // value of Schema.Draft
	Range   []float64      `json:"range,omitempty"` // value of Schema.Range
	Columns []memoryColumn `json:"columns,omitempty"`
}

// memoryColumn holds the values of one column: Range, or From and To, or Categories.
type memoryColumn struct {
	Field      string    `json:"field,omitempty"`    // name in the file
	Position   int       `json:"position,omitempty"` // position from 1, if columns have no names in the file
	Range      []float64 `json:"range,omitempty"`
	From       string    `json:"from,omitempty"`
	To         string    `json:"to,omitempty"`
	Categories []string  `json:"categories,omitempty"`
}

// newDraftID returns a random name for a draft. It contains no information about the data.
func newDraftID() string { return strings.ToLower(rand.Text()) }

// isDraftID reports whether a text has the form of a draft's name.
func isDraftID(id string) bool {
	return len(id) <= 64 && id != "" && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// Remember returns the text of the file that stores the ranges and categories of s that are marked as taken from the
// data. If there are no marks, it returns nil and changes nothing. Otherwise, if s.Draft is empty, Remember sets it
// to a new name. A name in s.Draft stays: it names an earlier draft whose file is missing.
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
		k := memoryColumn{Field: c.FieldOf(), Range: c.Range, Categories: c.Categories}
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

// byPosition reports whether columns are found by position instead of by name.
func (s *Schema) byPosition() bool {
	return s.ByIndex() || (s.format() == FormatCSV || s.format() == FormatXLSX) && !s.CSV.Header
}

// text returns the content of the file. Its last line has the SHA-256 of all text before this line.
func (m *Memory) text() []byte {
	body, _ := json.MarshalIndent(m, "", " ") // cannot fail for finite numbers and texts
	text := append([]byte(draftedHead), append(body, '\n')...)
	return append(text, memorySum(text)...)
}

func memorySum(text []byte) string {
	sum := sha256.Sum256(text)
	return "# sha256: " + hex.EncodeToString(sum[:]) + "\n"
}

// parseMemory parses a text written by Remember and refuses any other text.
func parseMemory(text []byte) (*Memory, error) {
	rest, ok := bytes.CutPrefix(text, []byte(draftedHead))
	if !ok {
		return nil, errors.New("the file was not written by a draft; give it another name")
	}
	var m Memory
	if json.NewDecoder(bytes.NewReader(rest)).Decode(&m) != nil || m.Format != draftedFormat || !isDraftID(m.Draft) ||
		!bytes.Equal(m.text(), text) {
		return nil, errors.New("the file was changed or is from another version; restore it, or move it away and " +
			"draft again")
	}
	return &m, nil
}

// LookDrafted returns an error if the file at path cannot be read as the Memory of a draft. The path ends in
// DraftedEnding. A missing file is not an error.
func LookDrafted(path string) error {
	_, err := readMemory(path)
	return err
}

// readMemory reads the memory of a draft. It returns nil if there is no such file.
func readMemory(path string) (*Memory, error) {
	text, err := strictyaml.Read(create.Open(path, os.O_RDONLY))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: cannot read the file of the draft (.drafted): %w", err)
	}
	m, err := parseMemory(text)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return m, nil
}

// remember compares a schema read from path with the memory of its draft and marks the ranges and categories that are
// still equal, even if the marks were removed. It then empties Draft if the memory belongs to the draft that Draft
// names. If the memory of this draft is missing, Draft stays, because it is unknown which values were replaced.
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

// is reports whether a column still has the values from the draft.
func (k *memoryColumn) is(c *Column) bool {
	switch {
	case k.Range != nil:
		return slices.Equal(c.Range, k.Range)
	case k.Categories != nil:
		return sameValues(c.Categories, k.Categories)
	}
	return c.Date != nil && c.Date.From == k.From && c.Date.To == k.To
}

// sameValues reports whether two lists of categories are equal up to their order. Numbers are compared as
// numbers, as in a file.
func sameValues(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	set := parse.NewSet(b)
	return !slices.ContainsFunc(a, func(v string) bool { return set.Find([]byte(v)) < 0 })
}

// FromDataColumns returns the names of the features whose range or categories were taken from the data.
func (s *Schema) FromDataColumns() (names []string) {
	for i := range s.Columns {
		if c := &s.Columns[i]; c.RoleOf() == RoleFeature && (c.FromData || s.BoundsFromData) {
			names = append(names, c.Name)
		}
	}
	return names
}
