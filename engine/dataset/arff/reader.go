// Package arff reads Weka's format: a header of attributes, then delimited rows.
package arff

import (
	"bytes"
	"io"
	"strings"

	"dyad/engine/dataset/csv"
	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/source"
)

// Attribute is a line "@attribute NAME TYPE" of an ARFF header.
type Attribute struct {
	Name    string
	Line    int
	Nominal []string   // the values of a nominal attribute
	Set     *parse.Set // Set holds the values of Nominal for look-up
	Other   bool       // the type is date or relational
	Text    bool       // the type is string
}

// Reader reads ARFF (Weka's format): a header of attributes, then delimited rows. Fields and names can be
// enclosed in single or double quotes, with backslash escapes inside. An unquoted question mark is a missing
// value.
type Reader struct {
	src        *source.Lines
	Attributes []Attribute
	fields     [][]byte
	text       []byte // unescaped text of quoted fields
}

// NewReader returns a reader of the rows of src. It reads the header, up to and including the line @data.
func NewReader(src *source.Lines) (*Reader, error) {
	r := &Reader{src: src}
	for {
		line, err := src.Next()
		if err == io.EOF {
			return nil, r.errorf(0, RuleData)
		}
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '%' || HasWord(line, "@relation"):
		case HasWord(line, "@data"):
			if len(r.Attributes) == 0 {
				return nil, r.errorf(0, RuleAttribute)
			}
			return r, nil
		case HasWord(line, "@attribute"):
			a, ok := r.attribute(string(bytes.TrimSpace(line[len("@attribute"):])))
			if !ok {
				return nil, r.errorf(0, RuleAttribute)
			}
			r.Attributes = append(r.Attributes, a)
		default:
			return nil, r.errorf(0, RuleLine)
		}
	}
}

// attribute parses the text "NAME TYPE" of an attribute line.
func (r *Reader) attribute(text string) (a Attribute, ok bool) {
	a.Line = r.src.Line
	if text == "" {
		return a, false
	}
	if q := text[0]; q == '\'' || q == '"' {
		name, rest, ok := r.quoted([]byte(text[1:]), q)
		if !ok {
			return a, false
		}
		a.Name, text = string(name), string(rest)
	} else {
		end := strings.IndexAny(text, " \t{")
		if end < 0 {
			return a, false
		}
		a.Name, text = text[:end], text[end:]
	}
	text = strings.TrimSpace(text)
	if set, ok := strings.CutPrefix(text, "{"); ok {
		if set, ok = strings.CutSuffix(set, "}"); !ok {
			return a, false
		}
		fields, position, _ := r.split([]byte(set))
		if position > 0 {
			return a, false
		}
		for _, f := range fields {
			a.Nominal = append(a.Nominal, string(f))
		}
		a.Set = parse.NewSet(a.Nominal)
		return a, true
	}
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 0 {
		return a, false
	}
	switch words[0] {
	case "numeric", "real", "integer":
	case "string":
		a.Text = true
	case "date", "relational":
		a.Other = true
	default:
		return a, false
	}
	return a, a.Name != ""
}

// Next returns the fields of the next row, or io.EOF. The fields are valid until the next call. A missing value
// is an empty field.
func (r *Reader) Next() ([][]byte, error) {
	for {
		line, err := r.src.Next()
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '%' {
			continue
		}
		if line[0] == '{' {
			return nil, r.errorf(0, RuleSparse)
		}
		fields, position, rule := r.split(line)
		if rule != "" {
			return nil, r.errorf(position, rule)
		}
		return fields, nil
	}
}

// split cuts a row at commas. A row without commas is cut at tabs.
func (r *Reader) split(line []byte) (fields [][]byte, position int, rule string) {
	r.fields = r.fields[:0]
	if cap(r.text) < len(line) {
		r.text = make([]byte, 0, 2*len(line)) // appends below never move it
	}
	r.text = r.text[:0]
	delim := byte(',')
	if bytes.IndexByte(line, ',') < 0 && bytes.IndexByte(line, '\t') >= 0 {
		delim = '\t'
	}
	for {
		line = line[parse.SkipBlanks(line, delim):]
		if len(line) > 0 && (line[0] == '\'' || line[0] == '"') {
			text, rest, ok := r.quoted(line[1:], line[0])
			if !ok {
				return nil, len(r.fields) + 1, RuleOpen
			}
			r.fields = append(r.fields, text)
			line = rest[parse.SkipBlanks(rest, delim):]
			if len(line) == 0 {
				return r.fields, 0, ""
			}
			if line[0] != delim {
				return nil, len(r.fields), csv.RuleAfterQuote
			}
			line = line[1:]
			continue
		}
		end := bytes.IndexByte(line, delim)
		f := line
		if end >= 0 {
			f = line[:end]
		}
		if f = parse.TrimBlanks(f, delim); len(f) == 1 && f[0] == '?' {
			f = f[:0]
		}
		r.fields = append(r.fields, f)
		if end < 0 {
			return r.fields, 0, ""
		}
		line = line[end+1:]
	}
}

// quoted reads the text up to the closing quote q.
func (r *Reader) quoted(line []byte, q byte) (text, rest []byte, ok bool) {
	begin := len(r.text)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == q:
			return r.text[begin:len(r.text):len(r.text)], line[i+1:], true
		case c == '\\' && i+1 < len(line):
			i++
			c = line[i]
			if c == 't' {
				c = '\t'
			}
			r.text = append(r.text, c)
		default:
			r.text = append(r.text, c)
		}
	}
	return nil, nil, false
}

func (r *Reader) errorf(position int, rule string) error {
	return &source.ParseError{File: r.src.Name, Row: r.src.Line, Position: position, Rule: rule}
}

// HasWord reports whether a line begins with a word. Case is ignored.
func HasWord(line []byte, word string) bool {
	return len(line) >= len(word) && strings.EqualFold(string(line[:len(word)]), word) &&
		(len(line) == len(word) || line[len(word)] == ' ' || line[len(word)] == '\t')
}

// The rules of an ARFF file.
const (
	RuleData      = "the header has no @data line; without it there are no rows"
	RuleLine      = "the line does not belong to an ARFF header; a header has lines @relation, @attribute and @data"
	RuleAttribute = "not an attribute; want @attribute NAME TYPE, with the type numeric, real, integer, string, date or " +
		"{A, B, ...}"
	RuleSparse = "sparse ARFF rows ({INDEX VALUE, ...}) are not supported; write the file dense, or as LIBSVM"
	RuleOpen   = "a quoted field is never closed; close the quote in the same row"
)
