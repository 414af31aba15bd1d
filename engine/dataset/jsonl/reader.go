// Package jsonl reads files with one JSON object on each line.
package jsonl

import (
	"bytes"
	"encoding/json"

	"dyad/engine/dataset/source"
)

// Reader reads JSON objects, one from each line. Numbers and words keep their text. null is an empty field.
type Reader struct {
	src    *source.Lines
	text   []byte // text of unescaped strings
	Native bool   // the value passed to add is not a JSON string
}

// NewReader returns a reader of the lines of a source.
func NewReader(src *source.Lines) *Reader { return &Reader{src: src} }

// Each processes every line that is not empty. For a line, it calls add for each key in order, and then it
// calls end. The argument nested of add reports whether the value is an object or a list.
func (r *Reader) Each(add func(key, value []byte, nested bool) error, end func() error) error {
	return source.Each(r.src.Next, func(line []byte) error {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			return nil
		}
		if line[0] != '{' || !json.Valid(line) {
			return &source.ParseError{File: r.src.Name, Row: r.src.Line, Rule: RuleLine}
		}
		if err := r.object(line, add); err != nil {
			return err
		}
		return end()
	})
}

// object calls add for each key of one valid object.
func (r *Reader) object(line []byte, add func(key, value []byte, nested bool) error) error {
	r.text = r.text[:0]
	if cap(r.text) < 3*len(line) {
		// the appends below never reallocate: an escape or an invalid byte grows to at most 3 bytes
		r.text = make([]byte, 0, 6*len(line))
	}
	line = skipSpace(line[1:])
	for line[0] != '}' {
		key, rest := r.str(line)
		line = skipSpace(skipSpace(rest)[1:]) // skip the colon
		var value []byte
		nested := false
		r.Native = line[0] != '"'
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
		if line = skipSpace(line); line[0] == ',' {
			line = skipSpace(line[1:])
		}
	}
	return nil
}

// str unescapes a valid JSON string.
func (r *Reader) str(line []byte) (text, rest []byte) {
	end := stringEnd(line)
	if bytes.IndexByte(line[:end], '\\') < 0 {
		return line[1 : end-1], line[end:]
	}
	var s string
	_ = json.Unmarshal(line[:end], &s) // cannot fail, because the whole line is valid
	begin := len(r.text)
	r.text = append(r.text, s...)
	return r.text[begin:len(r.text):len(r.text)], line[end:]
}

// stringEnd returns the index after the closing quote of a valid JSON string.
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

// skipNested returns the text after a valid object or list.
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

func skipSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// RuleLine is the rule broken by a line that is not one JSON object.
const RuleLine = "not one JSON object; want {\"NAME\": VALUE, ...} on each line"

// RuleTwice is the rule broken by an object with a repeated key.
const RuleTwice = "the object has this key twice; remove one of the two"
