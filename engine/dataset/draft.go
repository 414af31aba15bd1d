package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Draft guesses a schema for the file at path and returns its YAML text, with
// comments that say what to check. The draft loads as it is. Its ranges,
// categories and label are taken from the data, so it sets bounds_from_data, and
// it reveals the data that it shows: treat it like the file until its ranges are
// replaced by public ones.
func Draft(path string) ([]byte, error) {
	s, err := sniff(path)
	if err != nil {
		return nil, err
	}
	text := draftHead(path)
	if s.libsvm {
		text, err = draftLIBSVM(text, path)
	} else {
		text, err = draftCSV(text, path, &s.csv)
	}
	if err != nil {
		return nil, err
	}
	if _, err := ParseSchema(text); err != nil { // a name or category that YAML cannot carry
		return nil, fmt.Errorf("dataset: %s: cannot draft a schema, write it by hand: %w", path, err)
	}
	return text, nil
}

var notDataID = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func draftHead(path string) []byte {
	id := filepath.Base(path)
	for _, ext := range []string{".gz", filepath.Ext(strings.TrimSuffix(id, ".gz"))} {
		id = strings.TrimSuffix(id, ext)
	}
	id = strings.Trim(notDataID.ReplaceAllString(id, "-"), "-.")
	if id == "" {
		id = "data"
	}
	return fmt.Appendf(nil, `# DRAFT of a schema. Read every line before you use it.
#
# !!! The ranges and categories below were TAKEN FROM THE DATA. They are not
# !!! private: the largest value of a column is the value of one person.
# !!! Replace each by what is known without the data (a code book, what the
# !!! instrument can show, what is possible), then delete bounds_from_data.
# !!! Until then every report says "bounds not private".
data_id: %s # names the data in the privacy ledger
bounds_from_data: true
`, quoteYAML(id[:min(len(id), 128)]))
}

// sniffed is what the first lines of a file tell.
type sniffed struct {
	libsvm bool
	csv    CSVOptions
}

func openPath(path string) (*source, *os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("dataset: cannot read data: %w", err)
	}
	src, err := openSource(path, f)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return src, f, nil
}

func sniff(path string) (sniffed, error) {
	var s sniffed
	src, f, err := openPath(path)
	if err != nil {
		return s, err
	}
	defer f.Close()
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
	if slices.Contains(s.csv.Comment, "@") && !slices.Contains(s.csv.Comment, "%") {
		s.csv.Comment = append(s.csv.Comment, "%")
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
	src, f, err := openPath(path)
	if err != nil {
		return nil, nil, 0, err
	}
	defer f.Close()
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

// guessLabel returns the likely label and the other columns with two values.
func guessLabel(names []string, stats []*columnStats, rows int) (label int, others []string, err error) {
	label = -1
	score := 0
	for i, s := range stats {
		if names[i] == "" || s.values != rows || len(s.texts) != 2 || !validTexts(s.texts) {
			continue
		}
		others = append(others, names[i])
		now := 1
		if slices.Contains(labelNames[:], strings.ToLower(names[i])) {
			now += 4
		}
		if i == len(stats)-1 {
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
	return label, slices.DeleteFunc(others, func(n string) bool { return n == names[label] }), nil
}

func validTexts(texts map[string]int) bool {
	for t := range texts {
		if !utf8.ValidString(t) {
			return false
		}
	}
	return true
}

func appendCSV(text []byte, o *CSVOptions, names []string, stats []*columnStats, rows, label int, others []string) []byte {
	text = fmt.Appendf(text, "format: csv\ncsv:\n  header: %v\n  delimiter: %s\n", o.Header, quoteYAML(o.Delimiter))
	if o.Comment != nil {
		text = fmt.Appendf(text, "  comment: %s\n", quoteList(o.Comment))
	}
	if o.IgnoreOthers {
		text = append(text, "  ignore_others: true # a column has no name\n"...)
	}
	text = append(text, "columns:\n"...)
	hasID := false
	for i, s := range stats {
		if names[i] == "" {
			continue
		}
		text = fmt.Appendf(text, "  - {name: %s", quoteYAML(names[i]))
		missing := ""
		if len(s.missing) > 0 {
			missing = ", missing: {policy: middle}"
			if words := slices.DeleteFunc(slices.Clone(s.missing), func(w string) bool { return w == "" }); len(words) > 0 {
				missing = fmt.Sprintf(", missing: {values: %s, policy: middle}", quoteList(words))
			}
		}
		switch {
		case i == label:
			positive := s.guessPositive()
			c := s.categories()
			negative := c[0]
			if negative == positive {
				negative = c[1]
			}
			text = fmt.Appendf(text, ", role: label, positive: %s, negative: %s} # check which class should score high", quoteYAML(positive), quoteYAML(negative))
			if len(others) > 0 {
				text = fmt.Appendf(text, "; %d other column(s) also have two values", len(others))
			}
			text = append(text, '\n')
		case !hasID && s.isID(names[i], i == 0, rows):
			hasID = true
			text = append(text, ", role: id} # a different value in every row\n"...)
		case s.isNumeric() && s.lo < s.hi && !math.IsInf(s.hi-s.lo, 0) && s.hi/2-s.lo/2 > 0:
			text = fmt.Appendf(text, ", range: [%s, %s]%s} # FROM THE DATA\n", formatNumber(s.lo), formatNumber(s.hi), missing)
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
