// Package drafts guesses schemas. It reads a file of any format, builds a profile of each column, and decides
// from the profiles.
package drafts

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"dyad/engine/dataset/schema"
)

// New guesses a schema for the file at path. Comments in the schema list what to check and why a column is left out.
// The draft can be loaded without changes, unless several columns can be the label. In that case, the draft has no
// label. Ranges and categories that Options.Answers does not state are taken from the data and marked from_data.
// They reveal values of the data. So treat the draft like the file until you have replaced the marked values by
// public values. If the remaining columns do not make a valid schema, New returns an error and a draft without a
// schema, so that the caller can ask about Columns.
//
// scan reads the rows of a file with numbered features.
func New(path string, o Options, scan Scan) (*Drafted, error) {
	p := &profile{path: path, o: o, scan: scan}
	if err := p.read(p.sniff); err != nil {
		return nil, err
	}
	draft := p.named
	if schema.IsNumbered(p.format) {
		draft = p.numbered
	}
	body, err := draft()
	if err != nil {
		return nil, err
	}
	text := append(p.head(), body...)
	s, err := schema.ParseText(text, true)
	if err != nil { // a name or a category cannot be written in YAML
		why := ""
		for line := range strings.Lines(string(body)) {
			if column, reason, ok := strings.Cut(line, ", role: ignore} # "); ok {
				why += "; " + strings.TrimLeft(column, " -{") + " is left out: " + strings.TrimSpace(reason)
			}
		}
		return &p.draft, fmt.Errorf("dataset: %s: cannot draft a schema, so write the schema by hand: %w%s", path, err, why)
	}
	if s.BoundsFromData = s.BoundsFromData && !p.typed; s.RangesFromData() {
		p.draft.Memory = s.Remember()
		text = bytes.Replace(text, []byte("\ndata_id: "),
			[]byte("\ndraft: "+schema.QuoteYAML(s.Draft)+" # identifies this draft; do not remove this line\ndata_id: "), 1)
	}
	p.draft.Schema, p.draft.Persons = text, s.Persons
	return &p.draft, nil
}

var notDataID = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// head returns the first lines of a draft.
func (p *profile) head() []byte {
	id := filepath.Base(p.path)
	id = strings.TrimSuffix(strings.TrimSuffix(id, ".gz"), ".zst")
	id = strings.TrimSuffix(id, filepath.Ext(id))
	id = strings.Trim(notDataID.ReplaceAllString(id, "-"), "-.")
	if id == "" {
		id = "data"
	}
	mark, line := "from_data", ""
	if schema.IsNumbered(p.format) {
		mark, line = "bounds_from_data", "bounds_from_data: true\n"
	}
	text := []byte("# DRAFT of a schema. Read every line before you use it.\n")
	if line != "" || len(p.draft.FromData) > 0 {
		text = fmt.Appendf(text, `#
# !!! Ranges and categories that are marked were TAKEN FROM THE DATA. They are not
# !!! private: the largest value of a column is the value of one person.
# !!! Replace each by what is known without the data (a code book, what the
# !!! instrument can show, what is possible), then delete its mark (%s).
# !!! Where that is what the draft has, say where it is known from, in the place of
# !!! the mark: known_from: "code book of 2019". A value left as it is counts as taken
# !!! from the data, with or without its mark: every report says "bounds not private".
`, mark)
	}
	return fmt.Appendf(text,
		"data_id: %s # names the data in the privacy ledger; use one name for all files of the same people\n%s",
		schema.QuoteYAML(id[:min(len(id), 128)]), line)
}

// MayNamePersons returns the names of columns that may identify persons. Such a column has a name that is
// common for identifiers, and some of its values repeat. The result is private like the records. It is empty
// for formats without column names. progress is called like Options.Progress and may be nil.
func MayNamePersons(path string, progress func(rows int) error) (names []string, err error) {
	p := &profile{path: path, o: Options{Progress: progress}}
	if err := p.read(p.sniff); err != nil {
		return nil, err
	}
	if schema.IsNumbered(p.format) {
		return nil, nil
	}
	if err := p.read(p.readColumns); err != nil {
		return nil, err
	}
	for i, s := range p.stats {
		if s.repeats > 0 && hasCodeName(p.names[i]) {
			names = append(names, p.names[i])
		}
	}
	return names, nil
}
