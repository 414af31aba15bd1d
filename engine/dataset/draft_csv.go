package dataset

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// sniffed is what the first lines of a file tell.
type sniffed struct {
	libsvm bool
	csv    CSVOptions
}

func sniff(path string) (sniffed, error) {
	var s sniffed
	src, closer, err := openLines(path)
	if err != nil {
		return s, err
	}
	defer closer()
	var lines []string
	for len(lines) < 100 {
		line, err := src.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return s, err
		}
		text := strings.TrimSpace(string(line))
		switch {
		case text == "":
		case text[0] == '@' || text[0] == '%' || text[0] == '#' || len(lines) == 0 && text[0] == '|':
			if !slices.Contains(s.csv.Comment, text[:1]) {
				s.csv.Comment = append(s.csv.Comment, text[:1])
			}
		default:
			lines = append(lines, text)
		}
	}
	if len(lines) == 0 {
		return s, &ParseError{File: path, Rule: ruleEmpty}
	}
	if s.libsvm = looksLikeLIBSVM(lines); !s.libsvm {
		s.csv.Delimiter = guessDelimiter(lines)
	}
	return s, nil
}

func looksLikeLIBSVM(lines []string) bool {
	pairs := 0
	for _, line := range lines {
		for i, token := range strings.Fields(line) {
			if token[0] == '#' {
				break
			}
			index, value, ok := strings.Cut(token, ":")
			if i <= 1 && index == "qid" {
				continue
			}
			if !ok && i > 0 || !isPlainDecimal(index) {
				return false
			}
			if ok {
				if _, rule := parseNumber([]byte(value)); rule != "" {
					return false
				}
				pairs++
			}
		}
	}
	return pairs > 0
}

// guessDelimiter prefers a character that occurs equally often in every line.
func guessDelimiter(lines []string) string {
	best, bestScore := ",", 0
	for _, d := range []string{",", ";", "\t", "|", " "} {
		least, most := math.MaxInt, 0
		for _, line := range lines {
			n, quoted := 0, false
			for i := range len(line) {
				if line[i] == '"' {
					quoted = !quoted
				} else if line[i] == d[0] && !quoted {
					n++
				}
			}
			least, most = min(least, n), max(most, n)
		}
		score := least
		if least == most {
			score *= 1000
		}
		if score > bestScore {
			best, bestScore = d, score
		}
	}
	if best == "\t" {
		return "tab"
	}
	return best
}

// scanCSV collects the first row and the statistics of the others.
func scanCSV(path string, o *CSVOptions) (first []string, rest []*columnStats, rows int, err error) {
	src, closer, err := openLines(path)
	if err != nil {
		return nil, nil, 0, err
	}
	defer closer()
	r := newCSVReader(src, o)
	for {
		row, err := r.next()
		if err == io.EOF {
			return first, rest, rows, nil
		}
		if err != nil {
			return nil, nil, 0, err
		}
		if first == nil {
			for _, b := range row {
				first = append(first, string(b))
				rest = append(rest, newColumnStats())
			}
			continue
		}
		if len(row) != len(first) {
			return nil, nil, 0, &ParseError{File: path, Row: r.row, Rule: fmt.Sprintf("row has %d fields, the first row %d; correct the row", len(row), len(first))}
		}
		rows++
		for i, b := range row {
			rest[i].add(b)
		}
	}
}

// isHeader says that a row is text above numbers, or, where the whole file is
// text, that none of its fields comes again in its column.
func isHeader(first []string, rest []*columnStats) bool {
	seen := map[string]bool{}
	names := true
	for i, t := range first {
		_, rule := parseNumber([]byte(t))
		isText := t != "" && rule != "" && !slices.Contains(missingWords[:], t)
		if isText && rest[i].isNumeric() {
			return true
		}
		_, again := rest[i].texts[t]
		names = names && isText && !again && !seen[t] && rest[i].values > 0
		seen[t] = true
	}
	return names
}

func draftCSV(text []byte, path string, o *CSVOptions) ([]byte, error) {
	first, stats, rows, err := scanCSV(path, o)
	if err != nil {
		return nil, err
	}
	if len(first) == 0 {
		return nil, &ParseError{File: path, Rule: ruleEmpty}
	}
	o.Header = isHeader(first, stats)
	names := make([]string, len(first))
	seen := map[string]bool{}
	for i, t := range first {
		switch {
		case !o.Header:
			names[i] = fmt.Sprintf("column%d", i+1)
			stats[i].add([]byte(t))
		case t == "":
			o.IgnoreOthers = true
		case seen[t] || !utf8.ValidString(t):
			return nil, &ParseError{File: path, Row: 1, Position: i + 1, Rule: "the header has a name twice, or one that is not UTF-8; correct it"}
		default:
			names[i] = t
		}
		seen[t] = true
	}
	if !o.Header {
		rows++
	}
	label, others, err := guessLabel(names, stats, rows)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return appendCSV(text, o, names, stats, rows, label, others), nil
}

func appendCSV(text []byte, o *CSVOptions, names []string, stats []*columnStats, rows, label int, others []string) []byte {
	text = fmt.Appendf(text, "format: csv\ncsv:\n  header: %v\n  delimiter: %s\n", o.Header, quoteYAML(o.Delimiter))
	if o.Comment != nil {
		text = fmt.Appendf(text, "  comment: %s\n", quoteList(o.Comment))
	}
	if o.IgnoreOthers {
		text = append(text, "  ignore_others: true # a column has no name\n"...)
	}
	return appendColumns(text, names, stats, rows, label, others)
}
