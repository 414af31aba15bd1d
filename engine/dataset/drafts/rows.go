package drafts

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"dyad/engine/dataset/csv"
	"dyad/engine/dataset/parse"
)

// Some rows of a spreadsheet are not records: titles above the header, units below it, totals at the end.
// A draft names their beginnings under csv.comment, which skips them in this and in later files.

// titles adds the lines before the header to the comments: those with fewer fields than the lines
// below, or with text in the first field only. lines are the first ones of the file, trimmed, and rows their numbers.
func (p *profile) titles(lines []string, rows []int) {
	delim, ok := p.csv.Separator()
	if !ok || delim == ' ' {
		return
	}
	most, _ := usualDelimiters(lines, delim)
	if most == 0 {
		return
	}
	for i, line := range lines[:min(len(lines)-1, 10)] {
		fields, ok := csv.Split([]byte(line), delim)
		if !ok || len(fields) > most && slices.ContainsFunc(fields[1:], func(f []byte) bool { return len(f) > 0 }) {
			return
		}
		first := line
		if len(fields) > 1 {
			first = strings.TrimRight(line, string(delim)+parse.Blanks)
		}
		if n := strings.IndexAny(first, "0123456789"); n > 3 { // a date or a number of the title changes
			first = first[:n]
		}
		if first == "" || slices.ContainsFunc(lines[i+1:], func(l string) bool { return strings.HasPrefix(l, first) }) {
			return
		}
		p.skipRow(oddRow{rows[i], first})
	}
}

// skipRow makes a row a comment, by what its line begins with.
func (p *profile) skipRow(o oddRow) {
	if p.skips == nil {
		p.skips = map[string][]int{}
	}
	if p.skips[o.prefix] == nil {
		p.csv.Comment = append(p.csv.Comment, o.prefix)
	}
	p.skips[o.prefix] = append(p.skips[o.prefix], o.row)
}

// skipped refuses a row that csv.comment takes for a title, units or a total and that is not one.
func (p *profile) skipped(prefix string, row int) error {
	rows := p.skips[prefix]
	if rows == nil || slices.Contains(rows, row) {
		return nil
	}
	return p.errorf(row, fmt.Sprintf("the row begins like row %d, which is not a record but a title, units or a total; csv.comment cannot tell these rows apart: remove row %d from the file", rows[0], rows[0]))
}

// totalWords begin rows that add up others, lower case.
var totalWords = [...]string{"summe", "gesamt", "total", "totaux", "somme", "sum", "mittelwert", "moyenne", "mean", "average", "durchschnitt", "ergebnis"}

// lastRows are the rows from the end among which totals are looked for.
const lastRows = 3

// oddRows are the rows that may not be records, as the draft sees them go by.
type oddRows struct {
	second []string // fields of the row below the header
	units  oddRow   // that row
	totals []oddRow
	most   int // records before the first total
}

type oddRow struct {
	row    int    // of the file
	prefix string // of its line
}

// look remembers a row that may not be a record: the number-th below the header.
func (o *oddRows) look(number, row int, fields [][]byte, line []byte) {
	if number == 1 {
		o.units = oddRow{row, string(line)}
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
			if len(o.totals) == 0 {
				o.most = number - 1
			}
			o.totals = append(o.totals, oddRow{row, string(line[:k+len(f)])})
		}
		return
	}
}

// comments returns the rows that are not records: units below the header where numbers or
// dates follow, and totals among the last rows.
func (p *profile) comments(o *oddRows) (rows []oddRow) {
	units := false
	for i, s := range p.stats {
		switch word := o.at(i); {
		case word == "":
		case s.values > s.texted || s.values > 1 && s.isDates():
			if s.words[word] != 1 || len([]rune(word)) > parse.MaxUnit {
				return p.totals(o) // a value of its own
			}
			units = true
		case s.texts[word] > 1:
			return p.totals(o)
		}
	}
	if units && p.rows > 2 {
		rows = append(rows, o.units)
	}
	return append(rows, p.totals(o)...)
}

// totals are rows of totals, none if one stands above the last rows: it is a value like others.
func (p *profile) totals(o *oddRows) []oddRow {
	if o.most < p.rows-lastRows {
		return nil
	}
	return o.totals
}

func (o *oddRows) at(i int) string {
	if i < len(o.second) {
		return o.second[i]
	}
	return ""
}

// isDates reports whether most values are dates.
func (s *columnStats) isDates() bool {
	return slices.ContainsFunc(s.dates[:], func(d dateForm) bool { return 2*d.count > s.values })
}
