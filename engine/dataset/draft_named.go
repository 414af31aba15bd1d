package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// named drafts the schema of a format whose columns have names.
func (p *profile) named() ([]byte, error) {
	if err := p.read(p.readColumns); err != nil {
		return nil, err
	}
	if p.bytes && p.format == FormatCSV && p.csv.Encoding == "" {
		p.csv.Encoding, p.names, p.stats, p.rows = EncodingWindows1252, nil, nil, 0
		if err := p.read(p.readColumns); err != nil {
			return nil, err
		}
	}
	if len(p.odd) > 0 {
		for _, o := range p.odd {
			p.skipRow(o)
		}
		p.names, p.stats, p.rows = nil, nil, 0
		if err := p.read(p.readColumns); err != nil {
			return nil, err
		}
	}
	if p.rows == 0 {
		return nil, p.errorf(0, ruleEmpty)
	}
	if err := p.checkAnswers(); err != nil {
		return nil, err
	}
	columns := p.columns()
	var text []byte
	for _, a := range p.o.Answers {
		text = append(text, a.persons()...) // of one column: another is refused with the draft
	}
	text = fmt.Appendf(text, "format: %s\n", p.format)
	switch p.format {
	case FormatCSV:
		text = fmt.Appendf(text, "csv:\n  header: %v\n  delimiter: %s\n", p.csv.Header, quoteYAML(p.csv.Delimiter))
	case FormatXLSX:
		if p.o.Sheet != "" {
			text = fmt.Appendf(text, "sheet: %s\n", quoteYAML(p.o.Sheet))
		}
		text = fmt.Appendf(text, "csv: # how the sheet is read\n  header: %v\n", p.csv.Header)
	}
	if p.csv.Comment != nil {
		text = fmt.Appendf(text, "  comment: %s # lines that begin so are skipped, here and in later files\n", quoteList(p.csv.Comment))
	}
	if p.csv.IgnoreOthers {
		text = append(text, "  ignore_others: true # a column has no name\n"...)
	}
	if p.csv.Decimal != "" {
		text = fmt.Appendf(text, "  decimal: %s # the fraction of a number begins at the comma\n", quoteYAML(p.csv.Decimal))
	}
	if p.csv.Thousands != "" {
		text = fmt.Appendf(text, "  thousands: %s\n", quoteYAML(p.csv.Thousands))
	}
	if p.csv.Encoding != "" {
		text = fmt.Appendf(text, "  encoding: %s # check the letters that are not ASCII\n", p.csv.Encoding)
	}
	text = append(text, "columns:\n"...)
	for _, c := range columns {
		text = append(text, c.line()...)
	}
	return text, nil
}

// readColumns gathers the statistics of all columns.
func (p *profile) readColumns(in *input, u *unpacked) error {
	if p.format == FormatParquet {
		return p.readParquet(in)
	}
	src := newSource(p.path, u, p.csv.Encoding)
	switch p.format {
	case FormatARFF:
		return p.readARFF(src)
	case FormatJSONL:
		return p.readJSONL(src)
	}
	return p.readCSV(src)
}

func (p *profile) addColumn(name string) {
	s := newColumnStats()
	if hasCodeName(name) {
		s.persons = map[string]struct{}{}
	}
	p.names, p.stats = append(p.names, name), append(p.stats, s)
}

// draftProgressRows is how often DraftOptions.Progress is called: text of unknown kind is read slowly.
const draftProgressRows = 1 << 12

// addRow adds a row. Its error is that of Progress.
func (p *profile) addRow(row [][]byte, number int) error {
	p.rows++
	for i, field := range row {
		p.bytes = p.bytes || !utf8.Valid(field)
		p.stats[i].row = number
		p.stats[i].add(field)
	}
	if p.o.Progress != nil && p.rows%draftProgressRows == 0 {
		return p.o.Progress(p.rows)
	}
	return nil
}

// addRows adds the rows of a reader; *line is where the last one begins.
func (p *profile) addRows(next func() ([][]byte, error), line *int, header string) error {
	for {
		row, err := next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if len(row) != len(p.stats) {
			return p.errorf(*line, fmt.Sprintf("row has %d fields, %s %d; correct the row", len(row), header, len(p.stats)))
		}
		if err := p.addRow(row, *line); err != nil {
			return err
		}
	}
}

func (p *profile) readCSV(src *source) error {
	r := newCSVReader(src, &p.csv)
	r.skip = p.skipped
	first, err := r.next()
	if err == io.EOF {
		return p.errorf(0, ruleEmpty)
	}
	if err != nil {
		return err
	}
	for _, name := range first {
		p.bytes = p.bytes || !utf8.Valid(name)
		p.addColumn(string(name))
	}
	var odd oddRows
	next := func() ([][]byte, error) {
		row, err := r.next()
		if err == nil {
			odd.look(p.rows+1, r.row, row, r.line)
		}
		return row, err
	}
	if err := p.addRows(next, &r.row, "the first row"); err != nil {
		return err
	}
	if p.csv.Header = p.hasHeader(&odd); !p.csv.Header {
		p.rows++
	} else {
		p.odd = p.comments(&odd)
	}
	seen := map[string]bool{}
	for i, name := range p.names {
		switch {
		case !p.csv.Header:
			p.names[i] = fmt.Sprintf("column%d", i+1)
			p.stats[i].add([]byte(name))
		case name == "":
			p.csv.IgnoreOthers = true
		case seen[name]:
			return &ParseError{File: p.path, Row: 1, Position: i + 1, Rule: "the header has a name twice; rename one"}
		}
		seen[name] = true
	}
	return nil
}

// hasHeader says that the first row is text above numbers, perhaps with a row of units between, or, where the whole
// file is text, that none of its fields comes again in its column.
func (p *profile) hasHeader(o *oddRows) bool {
	seen := map[string]bool{}
	names := true
	for i, t := range p.names {
		isText := t != "" && !isNumberText(t) && !slices.Contains(missingWords[:], t)
		if s := p.stats[i]; isText && (s.looksNumeric() || s.isNumbers() || s.isDates() || s.texted == 1 && s.values > 2 && s.words[o.at(i)] == 1) {
			return true
		}
		_, again := p.stats[i].texts[t]
		names = names && isText && !again && !seen[t] && p.stats[i].values > 0
		seen[t] = true
	}
	return names
}

func (p *profile) readARFF(src *source) error {
	r, err := newARFFReader(src)
	if err != nil {
		return err
	}
	for i, a := range r.attributes {
		p.addColumn(a.name)
		p.stats[i].nominal = a.nominal
	}
	if err := p.addRows(r.next, &src.line, "the header"); err != nil {
		return err
	}
	for i, a := range r.attributes {
		if a.other {
			p.stats[i].refuse()
		}
	}
	return nil
}

// readJSONL finds new columns as it reads; they were missing so far.
func (p *profile) readJSONL(src *source) error {
	r := &jsonReader{src: src}
	place := map[string]int{}
	var row [][]byte
	var seen []int // row that had the key last, from 1
	nested := map[int]bool{}
	for {
		clear(row)
		err := r.next(func(key, value []byte, isNested bool) error {
			i, ok := place[string(key)]
			if !ok {
				i = len(row)
				place[string(key)] = i
				p.addColumn(string(key))
				if row, seen = append(row, nil), append(seen, 0); p.rows > 0 {
					p.stats[i].add(nil)
				}
			}
			if seen[i] > p.rows {
				return p.errorf(src.line, ruleJSONTwice)
			}
			if isNested {
				nested[i] = true
			}
			if seen[i], row[i] = p.rows+1, bytes.TrimSpace(value); r.native {
				row[i] = nativeNumber(row[i])
			}
			return nil
		})
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := p.addRow(row, src.line); err != nil {
			return err
		}
	}
	for i := range nested {
		p.stats[i].refuse()
	}
	return nil
}

// readParquet leaves columns that cannot be read without values, so that the draft
// ignores them.
func (p *profile) readParquet(in *input) error {
	r, err := openParquet(in)
	if err != nil {
		return err
	}
	defer r.close()
	for i, column := range r.columns {
		p.addColumn(column.Name())
		if r.used[i] = parquetTypeOf(column) != parquetRefused; !r.used[i] {
			p.stats[i].refuse()
		}
	}
	return p.addRows(func() ([][]byte, error) {
		err := r.next()
		for i, column := range r.columns {
			if kind := parquetTypeOf(column); kind != parquetText {
				r.texts[i] = nativeNumber(r.texts[i])
			}
		}
		return r.texts, err
	}, &r.row, "")
}

func validTexts(texts map[string]int) bool {
	for t := range texts {
		if !utf8.ValidString(t) {
			return false
		}
	}
	return true
}

func formatNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// quoteYAML quotes a text; JSON strings are YAML.
func quoteYAML(s string) string {
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	_ = w.Encode(s) // a string cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

func quoteList(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = quoteYAML(s)
	}
	return "[" + strings.Join(out, ", ") + "]"
}
