package drafts

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"dyad/engine/dataset/csv"
	"dyad/engine/dataset/parse"
)

// Some rows of a spreadsheet are not records: titles above the header, units below the header, and totals at
// the end. A draft lists the beginnings of these rows under csv.comment. Readers skip such rows, in this file
// and in later files.

// titles adds the lines before the header to the comments. These are lines that have fewer fields than the lines
// below, or text in the first field only. lines are the first lines of the file without surrounding blanks, and rows
// are their numbers.
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
		if n := strings.IndexAny(first, "0123456789"); n > 3 { // a date or a number in a title differs between files
			first = first[:n]
		}
		if first == "" || slices.ContainsFunc(lines[i+1:], func(l string) bool { return strings.HasPrefix(l, first) }) {
			return
		}
		p.skipRow(oddRow{rows[i], first})
	}
}

// skipRow adds the beginning of the row's line to the comment prefixes.
func (p *profile) skipRow(o oddRow) {
	if p.skips == nil {
		p.skips = map[string][]int{}
	}
	if p.skips[o.prefix] == nil {
		p.csv.Comment = append(p.csv.Comment, o.prefix)
	}
	p.skips[o.prefix] = append(p.skips[o.prefix], o.row)
}

// skipped returns an error if a row that csv.comment skips is not a title, units or a total.
func (p *profile) skipped(prefix string, row int) error {
	rows := p.skips[prefix]
	if rows == nil || slices.Contains(rows, row) {
		return nil
	}
	return p.errorf(row, fmt.Sprintf("the row begins like row %d (a title, units or a total), so csv.comment would "+
		"skip both; remove row %d", rows[0], rows[0]))
}

// totalWords are lower-case words at the beginning of rows with totals.
var totalWords = [...]string{"summe", "gesamt", "total", "totaux", "somme", "sum", "mittelwert", "moyenne", "mean",
	"average", "durchschnitt", "ergebnis"}

// lastRows is the number of last rows in which totals are looked for.
const lastRows = 3

// oddRows collects, while the file is read, the rows that may not be records.
type oddRows struct {
	second []string // fields of the row below the header
	units  oddRow   // the row below the header
	totals []oddRow
	most   int // number of records before the first total
}

// look records a row that may not be a record. number is the position of the row below the header, from 1.
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

// comments returns the rows that are not records. These are units below the header, if numbers or dates follow
// them, and totals among the last rows.
func (p *profile) comments(o *oddRows) (rows []oddRow) {
	units := false
	for i, s := range p.stats {
		switch word := o.at(i); {
		case word == "":
		case s.values > s.texted || s.values > 1 && s.isDates():
			if s.words[word] != 1 || len([]rune(word)) > parse.MaxUnit {
				return p.totals(o) // the text is a value and not a unit
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

// totals returns the rows with totals. If a candidate stands above the last rows, its word is an ordinary
// value, and the result is empty.
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

// countDelimiters counts the delimiters outside quotes.
func countDelimiters(line string, delim byte) (n int) {
	quoted := false
	for i := range len(line) {
		if line[i] == '"' {
			quoted = !quoted
		} else if line[i] == delim && !quoted {
			n++
		}
	}
	return n
}

// usualDelimiters returns the most frequent number of delimiters in a line and the share of lines with this number.
func usualDelimiters(lines []string, delim byte) (n int, share float64) {
	counts := map[int]int{}
	for _, line := range lines {
		counts[countDelimiters(line, delim)]++
	}
	for k, lines := range counts {
		if lines > counts[n] || lines == counts[n] && k > n {
			n = k
		}
	}
	return n, float64(counts[n]) / float64(len(lines))
}
