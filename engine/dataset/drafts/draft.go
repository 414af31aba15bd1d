// Package drafts guesses schemas. It reads a file of any format, builds a profile of each column, and decides
// from the profiles.
package drafts

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/sniff"
	"dyad/engine/dataset/source"
	"dyad/engine/dataset/workbook"

	"golang.org/x/text/encoding/charmap"
)

// Options are the options of New. The zero value needs no input from the user.
type Options struct {
	// Label is the name of the label column, and Positive is the class that should score high. If Label is
	// empty and only one column has two values, that column is the label. If Positive is empty, the positive
	// class is guessed by words that often name it.
	Label, Positive string
	// Sheet is the name of the sheet of a workbook to read. If it is empty, the workbook must have only one
	// sheet with cells.
	Sheet string
	// Decimal is the decimal separator, "." or ",". It is used where the file does not determine it.
	Decimal string
	// Answers maps the name of a column to facts about the column that are known without the data.
	Answers map[string]schema.Answer
	// Progress, if not nil, is called from time to time with the number of rows read so far. If it returns an
	// error, the draft stops and New returns the error.
	Progress func(rows int) error
}

// Drafted is the result of New.
type Drafted struct {
	Schema []byte // the drafted schema in YAML
	// Memory is the content of the file that records which values of the schema were taken from the data. The file
	// belongs into the folder of the schema, under the schema's name and DraftedEnding. Memory is private like the
	// data. It is nil if the draft took no value from the data.
	Memory []byte
	// Label is the column that was given as label or is the only one with two values. It is "" if several
	// columns have two values (then see Candidates) or the columns have no names.
	Label      string
	Candidates []string
	Ignored    []string // columns that are left out; the draft states the reasons
	FromData   []string // columns whose range or categories were taken from the data
	// Columns lists all columns of a file with named columns, together with the facts that a person needs to check
	// them. It contains values of records, so show it only to people who may see the file.
	Columns []DraftedColumn
}

// New guesses a schema for the file at path. Comments in the schema list what to check and why a column is left out.
// The draft loads without changes, unless several columns can be the label; then the draft has no label. Ranges and
// categories without an answer are taken from the data and marked from_data. They reveal values of the data, so
// treat the draft like the file until they are replaced by public values. If the remaining columns do not make a
// valid schema, New returns an error and a draft without a schema, so that the caller can ask about Columns.
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
		return &p.draft, fmt.Errorf("dataset: %s: cannot draft a schema, write it by hand: %w%s", path, err, why)
	}
	if s.BoundsFromData = s.BoundsFromData && !p.typed; s.RangesFromData() {
		p.draft.Memory = s.Remember()
		text = bytes.Replace(text, []byte("\ndata_id: "),
			[]byte("\ndraft: "+schema.QuoteYAML(s.Draft)+" # names this draft; leave the line\ndata_id: "), 1)
	}
	p.draft.Schema = text
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
		"data_id: %s # names the data in the privacy ledger: one name for the same people, whatever the file is called\n%s",
		schema.QuoteYAML(id[:min(len(id), 128)]), line)
}

// Scan is a function that checks each row of a file against a schema and then calls show for it.
type Scan func(path string, s *schema.Schema, show func(*schema.Row) error) error

// profile collects the facts about a file from which a draft is made.
type profile struct {
	scan    Scan
	path    string
	sheet   []byte // the sheet of a workbook, converted to CSV
	o       Options
	draft   Drafted
	format  string
	csv     schema.CSVOptions
	grouped bool // the rows of a LIBSVM file have query ids
	typed   bool // the element type of an array determines the range

	// The fields below are set for formats with named columns. A column without a name is left out.
	names []string
	stats []*columnStats
	rows  int
	bytes bool             // some field is not valid UTF-8
	odd   []oddRow         // rows of a CSV file that are not records
	skips map[string][]int // maps a prefix in CSVOptions.Comment that was added for such rows to the numbers of the rows
}

// read opens the file, decompresses it if needed, and calls look.
func (p *profile) read(look func(in *source.Input, u *source.Unpacked) error) error {
	pipe := p.errorf(0, "a draft reads the file several times, but this is a pipe; store its data in a file first")
	// opening a pipe would wait for a writer
	if info, err := os.Stat(p.path); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return pipe
	}
	in, err := source.OpenInput(p.path, "data")
	if err != nil {
		return err
	}
	if in.At == nil {
		return in.Close(pipe)
	}
	u, err := source.Unpack(p.path, in.R)
	if err == nil && p.sheet != nil {
		u.Close()
		u, err = source.Unpack(p.path, bytes.NewReader(p.sheet))
	}
	if err != nil {
		return in.Close(err)
	}
	defer u.Close()
	return in.Close(look(in, u))
}

func (p *profile) errorf(row int, rule string) error {
	return &source.ParseError{File: p.path, Row: row, Rule: rule}
}

// sniff detects the format from the first bytes, the file name and the first lines.
func (p *profile) sniff(in *source.Input, u *source.Unpacked) error {
	head, _ := u.Peek(sniff.Bytes) // an error will recur when the rows are read
	if rule := sniff.OtherSheet(head); rule != "" {
		return p.errorf(0, rule)
	}
	switch p.format = sniff.Binary(head); p.format {
	case "":
	case schema.FormatXLSX:
		return p.openWorkbook(in)
	default:
		return nil
	}
	if p.format = sniff.Text(p.path, head); p.format != schema.FormatCSV {
		return nil
	}
	return p.sniffCSV(source.NewLines(p.path, u, ""))
}

// openWorkbook converts a sheet to the text that is read.
func (p *profile) openWorkbook(in *source.Input) error {
	text, err := workbook.Text(in, p.o.Sheet, ',')
	if err != nil {
		return err
	}
	p.sheet = text
	return p.read(func(_ *source.Input, u *source.Unpacked) error { return p.sniffCSV(source.NewLines(p.path, u, "")) })
}

// sniffCSV determines the delimiter of a text from its first lines.
func (p *profile) sniffCSV(src *source.Lines) error {
	var lines []string
	var rows []int // numbers of the lines
	for len(lines) < 100 {
		line, err := src.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if !utf8.Valid(line) {
			p.csv.Encoding = source.EncodingWindows1252
		}
		text := strings.Trim(string(line), " ")
		switch {
		case strings.Trim(text, ",;\t| ") == "":
		case len(lines) == 0 && strings.ContainsRune("@%#|", rune(text[0])): // later lines may begin with #N/A
			if c := commentPrefix(text); !slices.Contains(p.csv.Comment, c) {
				p.csv.Comment = append(p.csv.Comment, c)
			}
		default:
			lines, rows = append(lines, text), append(rows, src.Line)
		}
	}
	if len(lines) == 0 {
		return p.errorf(0, source.RuleEmpty)
	}
	if p.csv.Encoding == source.EncodingWindows1252 {
		for _, list := range [][]string{lines, p.csv.Comment} {
			for i := range list {
				list[i], _ = charmap.Windows1252.NewDecoder().String(list[i]) // Windows-1252 decodes every byte
			}
		}
	}
	var isLIBSVM bool
	switch isLIBSVM, p.grouped = looksLikeLIBSVM(lines); {
	case p.sheet != nil:
		p.csv.Delimiter = ","
		p.titles(lines, rows)
	case isLIBSVM:
		p.format = schema.FormatLIBSVM
	default:
		p.csv.Delimiter = guessDelimiter(lines)
		p.titles(lines, rows)
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
			if !ok && i > 0 || !parse.IsPlainDecimal(index) {
				return false, false
			}
			if ok {
				if _, rule := parse.Number([]byte(value)); rule != "" {
					return false, false
				}
				is = true
			}
		}
	}
	return is, grouped
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

// commentPrefix returns the prefix of a file's comments, given one comment line. The prefix is the comment mark with
// the blanks after it, or the first word, so that a value such as #NV is not taken for a comment.
func commentPrefix(line string) string {
	if k := strings.IndexFunc(line, func(r rune) bool { return !strings.ContainsRune("@%#| ", r) }); k > 1 || k < 0 {
		return line[:max(k, 1)]
	}
	word, _, _ := strings.Cut(line, " ")
	return word
}

// guessDelimiter returns the most plausible delimiter. It prefers a character that occurs equally often in most lines.
func guessDelimiter(lines []string) string {
	best, bestScore := ",", 0.
	for _, d := range []string{",", ";", "\t", "|", " "} {
		n, share := usualDelimiters(lines, d[0])
		if score := float64(n) * math.Pow(share, 4); score > bestScore {
			best, bestScore = d, score
		}
	}
	if best == "\t" {
		return "tab"
	}
	return best
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
