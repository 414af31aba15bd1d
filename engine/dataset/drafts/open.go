package drafts

import (
	"io"
	"math"
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
