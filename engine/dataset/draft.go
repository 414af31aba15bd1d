package dataset

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Draft guesses a schema for the file at path and returns its YAML text, with
// comments that say what to check. The draft loads as it is. Its ranges,
// categories and label are taken from the data, so it sets bounds_from_data, and
// it reveals the data that it shows: treat it like the file until its ranges are
// replaced by public ones.
func Draft(path string) ([]byte, error) {
	p := &profile{path: path}
	if err := p.read(p.sniff); err != nil {
		return nil, err
	}
	var body []byte
	var err error
	switch p.format {
	case FormatLIBSVM, FormatNPY, FormatNPZ, FormatIDX:
		body, err = p.numbered()
	default:
		body, err = p.named()
	}
	if err != nil {
		return nil, err
	}
	text := append(draftHead(path), body...)
	if _, err := ParseSchema(text); err != nil { // a name or category that YAML cannot carry
		return nil, fmt.Errorf("dataset: %s: cannot draft a schema, write it by hand: %w", path, err)
	}
	return text, nil
}

var notDataID = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func draftHead(path string) []byte {
	id := filepath.Base(path)
	id = strings.TrimSuffix(strings.TrimSuffix(id, ".gz"), ".zst")
	id = strings.TrimSuffix(id, filepath.Ext(id))
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

// profile is what a draft learns about a file.
type profile struct {
	path    string
	format  string
	csv     CSVOptions
	grouped bool // LIBSVM rows have a query id

	// Of formats with named columns; a column without a name is left out.
	names []string
	stats []*columnStats
	rows  int
}

// read opens the file, also if it is compressed, for one look at it.
func (p *profile) read(look func(in *input, u *unpacked) error) error {
	in, err := openInput(p.path)
	if err != nil {
		return fmt.Errorf("dataset: cannot read data: %w", err)
	}
	if in.at == nil {
		return in.close(p.errorf(0, "a draft looks at the file several times, and this is a pipe; store it first"))
	}
	u, err := unpack(p.path, in.r)
	if err != nil {
		return in.close(err)
	}
	defer u.close()
	return in.close(look(in, u))
}

func (p *profile) errorf(row int, rule string) error {
	return &ParseError{File: p.path, Row: row, Rule: rule}
}

// sniff finds the format by the first bytes, the name and the first lines.
func (p *profile) sniff(_ *input, u *unpacked) error {
	head, _ := u.Peek(sniffBytes) // an error comes again when the rows are read
	if p.format = binaryFormat(head); p.format != "" {
		return nil
	}
	if p.format = textFormat(p.path, head); p.format != FormatCSV {
		return nil
	}
	src, err := newSource(p.path, u)
	if err != nil {
		return err
	}
	var lines []string
	for len(lines) < 100 {
		line, err := src.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		text := strings.TrimSpace(string(line))
		switch {
		case text == "":
		case text[0] == '@' || text[0] == '%' || text[0] == '#' || len(lines) == 0 && text[0] == '|':
			if !slices.Contains(p.csv.Comment, text[:1]) {
				p.csv.Comment = append(p.csv.Comment, text[:1])
			}
		default:
			lines = append(lines, text)
		}
	}
	if len(lines) == 0 {
		return p.errorf(0, ruleEmpty)
	}
	var isLIBSVM bool
	if isLIBSVM, p.grouped = looksLikeLIBSVM(lines); isLIBSVM {
		p.format = FormatLIBSVM
	} else {
		p.csv.Delimiter = guessDelimiter(lines)
	}
	return nil
}

func looksLikeLIBSVM(lines []string) (is, grouped bool) {
	for _, line := range lines {
		for i, token := range strings.Fields(line) {
			if token[0] == '#' {
				break
			}
			index, value, ok := strings.Cut(token, ":")
			if i <= 1 && index == "qid" {
				grouped = true
				continue
			}
			if !ok && i > 0 || !isPlainDecimal(index) {
				return false, false
			}
			if ok {
				if _, rule := parseNumber([]byte(value)); rule != "" {
					return false, false
				}
				is = true
			}
		}
	}
	return is, grouped
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
