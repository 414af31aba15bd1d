package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	format, err := sniffFormat(path)
	if err != nil {
		return nil, err
	}
	text := draftHead(path)
	switch format {
	case FormatParquet, FormatARFF, FormatJSONL:
		text, err = draftNamed(text, path, format)
	case FormatNPY, FormatNPZ, FormatIDX:
		text, err = draftArrays(text, path, format)
	default:
		var s sniffed
		if s, err = sniff(path); err != nil {
			return nil, err
		}
		if s.libsvm {
			text, err = draftLIBSVM(text, path)
		} else {
			text, err = draftCSV(text, path, &s.csv)
		}
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

// openPath opens a file and looks through its compression; closer closes both.
func openPath(path string) (in *input, u *unpacked, closer func(), err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("dataset: cannot read data: %w", err)
	}
	in = &input{name: path, r: f}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		in.at, in.size = f, info.Size()
	}
	if u, err = unpack(path, f); err != nil {
		f.Close()
		return nil, nil, nil, err
	}
	return in, u, func() { u.close(); f.Close() }, nil
}

func openLines(path string) (src *source, closer func(), err error) {
	_, u, closer, err := openPath(path)
	if err != nil {
		return nil, nil, err
	}
	if src, err = newSource(path, u); err != nil {
		closer()
		return nil, nil, err
	}
	return src, closer, nil
}

// sniffFormat is the format by the first bytes of the file and its name.
func sniffFormat(path string) (string, error) {
	_, u, closer, err := openPath(path)
	if err != nil {
		return "", err
	}
	defer closer()
	head, _ := u.Peek(sniffBytes) // an error comes again when the rows are read
	if format := binaryFormat(head); format != "" {
		return format, nil
	}
	return textFormat(path, head), nil
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

// appendColumns writes the columns of a schema with named columns.
func appendColumns(text []byte, names []string, stats []*columnStats, rows, label int, others []string) []byte {
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
			positive, negative := s.guessClasses()
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
