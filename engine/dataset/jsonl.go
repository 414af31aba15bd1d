package dataset

import (
	"bytes"
	"encoding/json"
	"io"
)

// jsonReader reads lines that are one JSON object each. Numbers and words keep
// their text; null is an empty field.
type jsonReader struct {
	src    *source
	text   []byte // unescaped strings
	native bool   // the value that add is called with is not a string
}

// next calls add for each key of the next line that is not empty, in order.
// nested marks an object or a list. At the end of the file the error is io.EOF.
func (r *jsonReader) next(add func(key, value []byte, nested bool) error) error {
	for {
		line, err := r.src.next()
		if err != nil {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if line[0] != '{' || !json.Valid(line) {
			return &ParseError{File: r.src.name, Row: r.src.line, Rule: ruleJSONLine}
		}
		return r.object(line, add)
	}
}

// object walks over one valid object.
func (r *jsonReader) object(line []byte, add func(key, value []byte, nested bool) error) error {
	r.text = r.text[:0]
	if cap(r.text) < 3*len(line) {
		r.text = make([]byte, 0, 6*len(line)) // appends below never move it: an escape or a bad byte grows to 3 bytes at most
	}
	line = skipJSONSpace(line[1:])
	for line[0] != '}' {
		key, rest := r.str(line)
		line = skipJSONSpace(skipJSONSpace(rest)[1:]) // the colon
		var value []byte
		nested := false
		r.native = line[0] != '"'
		switch line[0] {
		case '"':
			value, line = r.str(line)
		case '{', '[':
			nested = true
			line = skipNested(line)
		default:
			end := bytes.IndexAny(line, ",} \t\r")
			value, line = line[:end], line[end:]
			if string(value) == "null" {
				value = nil
			}
		}
		if err := add(key, value, nested); err != nil {
			return err
		}
		if line = skipJSONSpace(line); line[0] == ',' {
			line = skipJSONSpace(line[1:])
		}
	}
	return nil
}

// str reads a valid JSON string.
func (r *jsonReader) str(line []byte) (text, rest []byte) {
	end := stringEnd(line)
	if bytes.IndexByte(line[:end], '\\') < 0 {
		return line[1 : end-1], line[end:]
	}
	var s string
	_ = json.Unmarshal(line[:end], &s) // valid, as the whole line is
	begin := len(r.text)
	r.text = append(r.text, s...)
	return r.text[begin:len(r.text):len(r.text)], line[end:]
}

// stringEnd is the index after the closing quote of a valid JSON string.
func stringEnd(line []byte) int {
	for i := 1; ; i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// skipNested returns what follows a valid object or list.
func skipNested(line []byte) []byte {
	depth := 0
	for i := 0; ; {
		switch line[i] {
		case '"':
			i += stringEnd(line[i:])
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if i++; depth == 0 {
			return line[i:]
		}
	}
}

func skipJSONSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// readJSONL reads an object a line. A column whose key is absent is missing; the
// first row says whether the file has labels.
func readJSONL(t *table, src *source, z sizes) error {
	s := t.e.schema
	l := &layout{fields: make([]field, len(s.Columns)), label: -1}
	place := make(map[string]int, len(s.Columns))
	features := 0
	for i := range s.Columns {
		c := &s.Columns[i]
		l.fields[i] = field{role: c.role(), name: c.Name, feature: features}
		switch c.role() {
		case RoleFeature:
			features++
		case RoleLabel:
			l.label = i
		}
		place[c.field()] = i
	}
	t.allocate(z, 1)
	r := &jsonReader{src: src}
	row := make([][]byte, len(l.fields))
	seen := make([]int, len(l.fields)) // row that had the key last
	for {
		known, number := 0, t.seen+1
		clear(row)
		err := r.next(func(key, value []byte, nested bool) error {
			i, ok := place[string(key)]
			switch {
			case !ok && (s.IgnoreOthers || t.o.IgnoreOthers):
				t.others = !s.IgnoreOthers
				return nil
			case !ok:
				return t.errorf(src.line, "", 0, ruleJSONUnknown)
			case seen[i] == number:
				return t.errorf(src.line, l.fields[i].name, 0, ruleJSONTwice)
			case nested && l.fields[i].role != RoleIgnore:
				return t.errorf(src.line, l.fields[i].name, 0, ruleJSONNested)
			}
			known++
			seen[i] = number
			row[i] = bytes.TrimSpace(value)
			return nil
		})
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if known == 0 {
			return t.errorf(src.line, "", 0, ruleJSONNames)
		}
		if err := t.jsonLabel(l, seen[l.label] == number, src.line); err != nil {
			return err
		}
		if err := t.addRow(l, row, nil, src.line); err != nil {
			return err
		}
	}
}

// jsonLabel settles with the first row whether the file has labels.
func (t *table) jsonLabel(l *layout, has bool, line int) error {
	switch {
	case t.o.Labels == LabelsRequired:
		l.hasLabel = true
	case t.seen == t.first:
		t.hasLabels, l.hasLabel = has, has
	case has != t.hasLabels:
		return t.errorf(line, t.e.label.Name, 0, ruleMixedLabels)
	}
	return nil
}
