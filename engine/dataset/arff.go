package dataset

import (
	"bytes"
	"io"
	"strings"
)

// attribute is a line "@attribute NAME TYPE" of an ARFF header.
type attribute struct {
	name    string
	line    int
	nominal []string  // the values of a nominal attribute
	set     *valueSet // of nominal
	other   bool      // a date or a relation
	text    bool      // a string
}

// arffReader reads ARFF (Weka's format): a header of attributes, then delimited
// rows. Fields and names may stand in single or double quotes, with backslash
// escapes; an unquoted question mark is a missing value.
type arffReader struct {
	src        *source
	attributes []attribute
	fields     [][]byte
	text       []byte // unescaped text of quoted fields
}

// newARFFReader reads the header, up to and with @data.
func newARFFReader(src *source) (*arffReader, error) {
	r := &arffReader{src: src}
	for {
		line, err := src.next()
		if err == io.EOF {
			return nil, r.errorf(0, ruleARFFData)
		}
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '%' || hasWord(line, "@relation"):
		case hasWord(line, "@data"):
			if len(r.attributes) == 0 {
				return nil, r.errorf(0, ruleARFFAttribute)
			}
			return r, nil
		case hasWord(line, "@attribute"):
			a, ok := r.attribute(string(bytes.TrimSpace(line[len("@attribute"):])))
			if !ok {
				return nil, r.errorf(0, ruleARFFAttribute)
			}
			r.attributes = append(r.attributes, a)
		default:
			return nil, r.errorf(0, ruleARFFLine)
		}
	}
}

// attribute reads NAME TYPE.
func (r *arffReader) attribute(text string) (a attribute, ok bool) {
	a.line = r.src.line
	if text == "" {
		return a, false
	}
	if q := text[0]; q == '\'' || q == '"' {
		name, rest, ok := r.quoted([]byte(text[1:]), q)
		if !ok {
			return a, false
		}
		a.name, text = string(name), string(rest)
	} else {
		end := strings.IndexAny(text, " \t{")
		if end < 0 {
			return a, false
		}
		a.name, text = text[:end], text[end:]
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
			a.nominal = append(a.nominal, string(f))
		}
		a.set = newValueSet(a.nominal)
		return a, true
	}
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 0 {
		return a, false
	}
	switch words[0] {
	case "numeric", "real", "integer":
	case "string":
		a.text = true
	case "date", "relational":
		a.other = true
	default:
		return a, false
	}
	return a, a.name != ""
}

// next returns the fields of the next row, valid until the next call, or io.EOF.
// A missing value is an empty field.
func (r *arffReader) next() ([][]byte, error) {
	for {
		line, err := r.src.next()
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '%' {
			continue
		}
		if line[0] == '{' {
			return nil, r.errorf(0, ruleARFFSparse)
		}
		fields, position, rule := r.split(line)
		if rule != "" {
			return nil, r.errorf(position, rule)
		}
		return fields, nil
	}
}

// split cuts a row at commas, or at tabs where there is no comma.
func (r *arffReader) split(line []byte) (fields [][]byte, position int, rule string) {
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
		line = line[skipBlanks(line, delim):]
		if len(line) > 0 && (line[0] == '\'' || line[0] == '"') {
			text, rest, ok := r.quoted(line[1:], line[0])
			if !ok {
				return nil, len(r.fields) + 1, ruleARFFOpen
			}
			r.fields = append(r.fields, text)
			line = rest[skipBlanks(rest, delim):]
			if len(line) == 0 {
				return r.fields, 0, ""
			}
			if line[0] != delim {
				return nil, len(r.fields), ruleAfterQuote
			}
			line = line[1:]
			continue
		}
		end := bytes.IndexByte(line, delim)
		f := line
		if end >= 0 {
			f = line[:end]
		}
		if f = trimBlanks(f, delim); len(f) == 1 && f[0] == '?' {
			f = f[:0]
		}
		r.fields = append(r.fields, f)
		if end < 0 {
			return r.fields, 0, ""
		}
		line = line[end+1:]
	}
}

// quoted reads up to the closing quote q.
func (r *arffReader) quoted(line []byte, q byte) (text, rest []byte, ok bool) {
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

func (r *arffReader) errorf(position int, rule string) error {
	return &ParseError{File: r.src.name, Row: r.src.line, Position: position, Rule: rule}
}

var arffNames = names{ruleARFFNames, "the ARFF header", "ignore_others: true"}

func readARFF(t *table, src *source, z sizes) error {
	r, err := newARFFReader(src)
	if err != nil {
		return err
	}
	header := make([][]byte, len(r.attributes))
	for i, a := range r.attributes {
		header[i] = []byte(a.name)
	}
	l, err := t.headerLayout(header, src.line, &arffNames)
	if err != nil {
		return err
	}
	if err := t.checkAttributes(l, r.attributes); err != nil {
		return err
	}
	t.hasLabels = l.hasLabel
	t.allocate(z, len(l.fields))
	for {
		row, err := r.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if len(row) != len(l.fields) {
			if last := row[len(row)-1]; len(last) > 0 && last[0] == '{' {
				return t.errorf(src.line, "", len(row), ruleARFFWeight)
			}
			return t.widthError(len(row), len(l.fields), src.line)
		}
		for i, f := range l.fields {
			a := &r.attributes[i]
			if f.role != RoleIgnore && a.set != nil && len(row[i]) > 0 && a.set.find(row[i]) < 0 {
				return t.errorf(src.line, f.name, i+1, ruleARFFNominal)
			}
		}
		if err := t.addRow(l, row, nil, src.line); err != nil {
			return err
		}
	}
}

// checkAttributes compares the types of the header with the schema.
func (t *table) checkAttributes(l *layout, attributes []attribute) error {
	for i, f := range l.fields {
		a := &attributes[i]
		if f.role != RoleFeature {
			continue
		}
		numeric := t.e.columns[f.feature].numeric
		switch {
		case a.other, a.text && numeric:
			return t.errorf(a.line, f.name, i+1, ruleARFFType)
		case a.set != nil && numeric && a.set.numbers == nil:
			return t.errorf(a.line, f.name, i+1, ruleARFFNumeric)
		}
	}
	return nil
}
