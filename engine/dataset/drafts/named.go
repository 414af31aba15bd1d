package drafts

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"dyad/engine/dataset/arff"
	"dyad/engine/dataset/csv"
	"dyad/engine/dataset/jsonl"
	"dyad/engine/dataset/parquet"
	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// named drafts the schema of a file whose columns have names.
func (p *profile) named() ([]byte, error) {
	if err := p.read(p.readColumns); err != nil {
		return nil, err
	}
	again := func() error {
		p.names, p.stats, p.rows = nil, nil, 0
		return p.read(p.readColumns)
	}
	if p.bytes && p.format == schema.FormatCSV && p.csv.Encoding == "" {
		p.csv.Encoding = source.EncodingWindows1252
		if err := again(); err != nil {
			return nil, err
		}
	}
	if len(p.odd) > 0 {
		for _, o := range p.odd {
			p.skipRow(o)
		}
		if err := again(); err != nil {
			return nil, err
		}
	}
	if p.rows == 0 {
		return nil, p.errorf(0, source.RuleEmpty)
	}
	if err := p.checkAnswers(); err != nil {
		return nil, err
	}
	columns := p.columns()
	var text lines
	for _, a := range p.o.Answers {
		// lines for one person column; a second one is refused when the draft is checked
		text.addIf(a.Persons != 0, "persons: %d\n", a.Persons)
		text.addIf(a.IDs != "", "ids: %s\n", schema.QuoteYAML(a.IDs))
		text.addIf(a.MaxRowsPerPerson != 0, "max_rows_per_person: %d\n", a.MaxRowsPerPerson)
	}
	text.addIf(true, "format: %s\n", p.format)
	text.addIf(p.format == schema.FormatCSV, "csv:\n  header: %v\n  delimiter: %s\n",
		p.csv.Header, schema.QuoteYAML(p.csv.Delimiter))
	text.addIf(p.format == schema.FormatXLSX && p.o.Sheet != "", "sheet: %s\n", schema.QuoteYAML(p.o.Sheet))
	text.addIf(p.format == schema.FormatXLSX, "csv: # how the sheet is read\n  header: %v\n", p.csv.Header)
	text.addIf(p.csv.Comment != nil, "  comment: %s # lines that begin with this are skipped, in later files, too\n",
		schema.QuoteList(p.csv.Comment))
	text.addIf(p.csv.IgnoreOthers, "  ignore_others: true # a column has no name\n")
	text.addIf(p.csv.Decimal != "", "  decimal: %s # numbers have a decimal comma\n",
		schema.QuoteYAML(p.csv.Decimal))
	text.addIf(p.csv.Thousands != "", "  thousands: %s\n", schema.QuoteYAML(p.csv.Thousands))
	text.addIf(p.csv.Encoding != "", "  encoding: %s # check the letters that are not ASCII\n", p.csv.Encoding)
	text.addIf(true, "columns:\n")
	for _, c := range columns {
		text = append(text, c.line()...)
	}
	return text, nil
}

// readColumns collects the statistics of all columns.
func (p *profile) readColumns(in *source.Input, u *source.Unpacked) error {
	if p.format == schema.FormatParquet {
		return p.readParquet(in)
	}
	src := source.NewLines(p.path, u, p.csv.Encoding)
	switch p.format {
	case schema.FormatARFF:
		return p.readARFF(src)
	case schema.FormatJSONL:
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

// draftProgressRows is the number of rows between two calls of Options.Progress. It is small because text of
// unknown kind is read slowly.
const draftProgressRows = 1 << 12

// addRow adds a row to the statistics. An error is the error of Progress.
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

// addRows adds the rows of a reader. *line is the line on which the last row begins.
func (p *profile) addRows(next func() ([][]byte, error), line *int, header string) error {
	return source.Each(next, func(row [][]byte) error {
		if len(row) != len(p.stats) {
			return p.errorf(*line, fmt.Sprintf("row has %d fields, %s %d; correct the row", len(row), header, len(p.stats)))
		}
		return p.addRow(row, *line)
	})
}

func (p *profile) readCSV(src *source.Lines) error {
	delim, _ := p.csv.Separator()
	r := csv.NewReader(src, delim, p.csv.Comment)
	r.Skip = p.skipped
	first, err := r.Next()
	if err == io.EOF {
		return p.errorf(0, source.RuleEmpty)
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
		row, err := r.Next()
		if err == nil {
			odd.look(p.rows+1, r.Row, row, r.Line)
		}
		return row, err
	}
	if err := p.addRows(next, &r.Row, "the first row"); err != nil {
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
			return &source.ParseError{File: p.path, Row: 1, Position: i + 1,
				Rule: "the header has a name twice; rename one of the two columns"}
		}
		seen[name] = true
	}
	return nil
}

// hasHeader reports whether the first row is a header. It is one if it is text above numbers, perhaps with a row of
// units between. If the whole file is text, it is one if none of its fields occurs again in its column.
func (p *profile) hasHeader(o *oddRows) bool {
	seen := map[string]bool{}
	names := true
	for i, t := range p.names {
		isText := t != "" && !isNumberText(t) && !slices.Contains(missingWords[:], t)
		if s := p.stats[i]; isText && (s.looksNumeric() || s.isNumbers() || s.isDates() ||
			s.texted == 1 && s.values > 2 && s.words[o.at(i)] == 1) {
			return true
		}
		_, again := p.stats[i].texts[t]
		names = names && isText && !again && !seen[t] && p.stats[i].values > 0
		seen[t] = true
	}
	return names
}

func (p *profile) readARFF(src *source.Lines) error {
	r, err := arff.NewReader(src)
	if err != nil {
		return err
	}
	for i, a := range r.Attributes {
		p.addColumn(a.Name)
		p.stats[i].nominal = a.Nominal
	}
	if err := p.addRows(r.Next, &src.Line, "the header"); err != nil {
		return err
	}
	for i, a := range r.Attributes {
		if a.Other {
			p.stats[i].refuse()
		}
	}
	return nil
}

// readJSONL reads the rows of a JSONL file. If a new key appears, its column is taken as missing in all earlier rows.
func (p *profile) readJSONL(src *source.Lines) error {
	r := jsonl.NewReader(src)
	place := map[string]int{}
	var row [][]byte
	var seen []int // number of the last row that had the key, from 1
	nested := map[int]bool{}
	err := r.Each(func(key, value []byte, isNested bool) error {
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
			return p.errorf(src.Line, jsonl.RuleTwice)
		}
		if isNested {
			nested[i] = true
		}
		if seen[i], row[i] = p.rows+1, bytes.TrimSpace(value); r.Native {
			row[i] = parse.Native(row[i])
		}
		return nil
	}, func() error {
		defer clear(row)
		return p.addRow(row, src.Line)
	})
	for i := range nested {
		p.stats[i].refuse()
	}
	return err
}

// readParquet reads the columns of a Parquet file. Columns that cannot be read get no values, so that the draft
// ignores them.
func (p *profile) readParquet(in *source.Input) error {
	r, err := parquet.Open(in)
	if err != nil {
		return err
	}
	defer r.Close()
	for i, name := range r.Names() {
		if p.addColumn(name); !r.Use(i, false) {
			p.stats[i].refuse()
		}
	}
	return p.addRows(func() ([][]byte, error) {
		row, err := r.Next()
		for i := range row {
			if !r.IsText(i) {
				row[i] = parse.Native(row[i])
			}
		}
		return row, err
	}, &r.Row, "")
}
