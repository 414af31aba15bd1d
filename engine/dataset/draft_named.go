package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
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
	if p.rows == 0 {
		return nil, p.errorf(0, ruleEmpty)
	}
	label, others, err := p.guessLabel()
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", p.path, err)
	}
	text := fmt.Appendf(nil, "format: %s\n", p.format)
	if p.format == FormatCSV {
		text = fmt.Appendf(text, "csv:\n  header: %v\n  delimiter: %s\n", p.csv.Header, quoteYAML(p.csv.Delimiter))
	}
	if p.csv.Comment != nil && p.format == FormatCSV {
		text = fmt.Appendf(text, "  comment: %s\n", quoteList(p.csv.Comment))
	}
	if p.csv.IgnoreOthers {
		text = append(text, "  ignore_others: true # a column has no name\n"...)
	}
	return p.appendColumns(text, label, others), nil
}

// readColumns gathers the statistics of all columns.
func (p *profile) readColumns(in *input, u *unpacked) error {
	if p.format == FormatParquet {
		return p.readParquet(in)
	}
	src, err := newSource(p.path, u)
	if err != nil {
		return err
	}
	switch p.format {
	case FormatARFF:
		return p.readARFF(src)
	case FormatJSONL:
		return p.readJSONL(src)
	}
	return p.readCSV(src)
}

func (p *profile) addColumn(name string) {
	p.names, p.stats = append(p.names, name), append(p.stats, newColumnStats())
}

func (p *profile) addRow(row [][]byte) {
	p.rows++
	for i, field := range row {
		p.stats[i].add(field)
	}
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
		p.addRow(row)
	}
}

func (p *profile) readCSV(src *source) error {
	r := newCSVReader(src, &p.csv)
	first, err := r.next()
	if err == io.EOF {
		return p.errorf(0, ruleEmpty)
	}
	if err != nil {
		return err
	}
	for _, name := range first {
		p.addColumn(string(name))
	}
	if err := p.addRows(r.next, &r.row, "the first row"); err != nil {
		return err
	}
	if p.csv.Header = p.hasHeader(); !p.csv.Header {
		p.rows++
	}
	seen := map[string]bool{}
	for i, name := range p.names {
		switch {
		case !p.csv.Header:
			p.names[i] = fmt.Sprintf("column%d", i+1)
			p.stats[i].add([]byte(name))
		case name == "":
			p.csv.IgnoreOthers = true
		case seen[name] || !utf8.ValidString(name):
			return &ParseError{File: p.path, Row: 1, Position: i + 1, Rule: "the header has a name twice, or one that is not UTF-8; correct it"}
		}
		seen[name] = true
	}
	return nil
}

// hasHeader says that the first row is text above numbers, or, where the whole
// file is text, that none of its fields comes again in its column.
func (p *profile) hasHeader() bool {
	seen := map[string]bool{}
	names := true
	for i, t := range p.names {
		_, rule := parseNumber([]byte(t))
		isText := t != "" && rule != "" && !slices.Contains(missingWords[:], t)
		if isText && p.stats[i].isNumeric() {
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
			p.stats[i] = newColumnStats() // ignored by the draft
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
			seen[i], row[i] = p.rows+1, bytes.TrimSpace(value)
			return nil
		})
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		p.addRow(row)
	}
	for i := range nested {
		p.stats[i] = newColumnStats() // ignored by the draft
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
		r.used[i] = parquetTypeOf(column) != parquetRefused
	}
	return p.addRows(func() ([][]byte, error) { err := r.next(); return r.texts, err }, &r.row, "")
}

// guessLabel returns the likely label and the other columns with two values.
func (p *profile) guessLabel() (label int, others []string, err error) {
	label = -1
	score := 0
	for i, s := range p.stats {
		if p.names[i] == "" || s.values != p.rows || len(s.texts) != 2 || !validTexts(s.texts) {
			continue
		}
		others = append(others, p.names[i])
		now := 1
		if slices.Contains(labelNames[:], strings.ToLower(p.names[i])) {
			now += 4
		}
		if i == len(p.stats)-1 {
			now += 2
		} else if i == 0 {
			now++
		}
		if now > score {
			label, score = i, now
		}
	}
	if label < 0 {
		return -1, nil, errors.New("no column has exactly two values and no gaps, so none can be the label; write the schema by hand")
	}
	return label, slices.DeleteFunc(others, func(n string) bool { return n == p.names[label] }), nil
}

func validTexts(texts map[string]int) bool {
	for t := range texts {
		if !utf8.ValidString(t) {
			return false
		}
	}
	return true
}

// appendColumns writes the columns of a schema with named columns.
func (p *profile) appendColumns(text []byte, label int, others []string) []byte {
	text = append(text, "columns:\n"...)
	hasID := false
	for i, s := range p.stats {
		if p.names[i] == "" {
			continue
		}
		text = fmt.Appendf(text, "  - {name: %s", quoteYAML(p.names[i]))
		missing := ""
		if len(s.missing) > 0 {
			missing = ", missing: {policy: middle}"
			if words := slices.DeleteFunc(slices.Clone(s.missing), func(w string) bool { return w == "" }); len(words) > 0 {
				missing = fmt.Sprintf(", missing: {values: %s, policy: middle}", quoteList(words))
			}
		}
		switch {
		case i == label:
			positive, negative := s.guessClasses()
			text = fmt.Appendf(text, ", role: label, positive: %s, negative: %s} # check which class should score high", quoteYAML(positive), quoteYAML(negative))
			if len(others) > 0 {
				text = fmt.Appendf(text, "; %d other column(s) also have two values", len(others))
			}
			text = append(text, '\n')
		case !hasID && s.isID(p.names[i], i == 0, p.rows):
			hasID = true
			text = append(text, ", role: id} # a different value in every row\n"...)
		case s.isNumeric() && s.lo < s.hi && !math.IsInf(s.hi-s.lo, 0) && s.hi/2-s.lo/2 > 0:
			text = fmt.Appendf(text, ", range: [%s, %s]%s} # FROM THE DATA\n", formatNumber(s.lo), formatNumber(s.hi), missing)
		case len(s.nominal) >= 2 && !slices.Contains(s.nominal, ""):
			text = fmt.Appendf(text, ", categories: %s%s} # the nominal set of the header\n", quoteList(s.nominal), missing)
		case !s.isNumeric() && len(s.texts) >= 2 && s.isCategorical() && validTexts(s.texts):
			text = fmt.Appendf(text, ", categories: %s%s} # FROM THE DATA\n", quoteList(s.categories()), missing)
		default:
			text = append(text, ", role: ignore} # constant, empty, or text with too many values\n"...)
		}
	}
	return text
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
