package dataset

import (
	"bytes"
	"slices"
	"strings"
)

// Some rows of a spreadsheet are not records: titles above the header, units below it, totals at the end.
// A draft names their beginnings under csv.comment, which skips them in this and in later files.

// titles adds the lines before the header to the comments: those with fewer fields than the lines
// below, or with text in the first field only. lines are the first ones of the file, trimmed.
func (p *profile) titles(lines []string) {
	delim, ok := p.csv.delimiter()
	if !ok || delim == ' ' {
		return
	}
	most, _ := usualDelimiters(lines, delim)
	if most == 0 {
		return
	}
	for i, line := range lines[:min(len(lines)-1, 10)] {
		r := csvReader{src: &source{name: p.path}, delim: delim}
		if r.splitQuoted([]byte(line)) != nil || len(r.fields) > most && slices.ContainsFunc(r.fields[1:], func(f []byte) bool { return len(f) > 0 }) {
			return
		}
		first := line
		if len(r.fields) > 1 {
			first = strings.TrimRight(line, string(delim)+allBlanks)
		}
		if n := strings.IndexAny(first, "0123456789"); n > 3 { // a date or a number of the title changes
			first = first[:n]
		}
		if first == "" || slices.ContainsFunc(lines[i+1:], func(l string) bool { return strings.HasPrefix(l, first) }) {
			return
		}
		p.csv.Comment = append(p.csv.Comment, first)
	}
}

// totalWords begin rows that add up others, lower case.
var totalWords = [...]string{"summe", "gesamt", "total", "totaux", "somme", "sum", "mittelwert", "moyenne", "mean", "average", "durchschnitt", "ergebnis"}

// lastRows are the rows from the end among which totals are looked for.
const lastRows = 3

// oddRows are the rows that may not be records, as the draft sees them go by.
type oddRows struct {
	second []string // fields of the row below the header
	line   string   // that row
	totals []oddRow
}

type oddRow struct {
	row    int    // from 1
	prefix string // of its line
}

// look remembers a row that may not be a record.
func (o *oddRows) look(number int, fields [][]byte, line []byte) {
	if number == 1 {
		o.line = string(line)
		for _, f := range fields {
			o.second = append(o.second, string(f))
		}
	}
	for _, f := range fields {
		if len(f) == 0 {
			continue
		}
		word := strings.TrimRight(strings.ToLower(string(f)), ":. ")
		if k := bytes.Index(line, f); slices.Contains(totalWords[:], word) && k >= 0 {
			o.totals = append(o.totals, oddRow{number, string(line[:k+len(f)])})
		}
		return
	}
}

// comments returns the prefixes of rows that are not records: units below the header where numbers or
// dates follow, and totals among the last rows.
func (p *profile) comments(o *oddRows) (prefixes []string) {
	units := false
	for i, s := range p.stats {
		switch word := o.at(i); {
		case word == "":
		case s.values > s.texted || s.values > 1 && s.isDates():
			if s.words[word] != 1 || len([]rune(word)) > maxUnit {
				return p.totals(o) // a value of its own
			}
			units = true
		case s.texts[word] > 1:
			return p.totals(o)
		}
	}
	if units && p.rows > 2 {
		prefixes = append(prefixes, o.line)
	}
	return append(prefixes, p.totals(o)...)
}

func (p *profile) totals(o *oddRows) (prefixes []string) {
	for _, t := range o.totals {
		if t.row <= p.rows-lastRows {
			return nil // a value like others
		}
		prefixes = append(prefixes, t.prefix)
	}
	return prefixes
}

func (o *oddRows) at(i int) string {
	if i < len(o.second) {
		return o.second[i]
	}
	return ""
}

// isDates says that most values are dates.
func (s *columnStats) isDates() bool {
	return slices.ContainsFunc(s.dates[:], func(d dateForm) bool { return 2*d.count > s.values })
}
