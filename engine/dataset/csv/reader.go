// Package csv cuts delimited text into rows and fields.
package csv

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/source"
)

// Reader cuts delimited text into fields according to RFC 4180, with three extensions. Blanks around a field
// are dropped. Lines without text in any field are skipped, because spreadsheets write such lines below a
// table. A quote inside an unquoted field is an ordinary character.
type Reader struct {
	src     *source.Lines
	delim   byte
	comment [][]byte
	Skip    func(prefix string, row int) error // called for each comment line, if not nil

	Row    int    // number of the line on which the last row begins
	Line   []byte // text of that line, valid until the next row is read
	fields [][]byte
	joined []byte // a quoted row that spans several lines
	text   []byte // unquoted text of quoted fields
}

// NewReader returns a reader of the rows of a source. Lines that begin with one of the comment prefixes are skipped.
func NewReader(src *source.Lines, delim byte, comment []string) *Reader {
	r := &Reader{src: src, delim: delim}
	for _, c := range comment {
		r.comment = append(r.comment, []byte(c))
	}
	return r
}

// Next returns the fields of the next row, or io.EOF. The fields are valid until the next call.
func (r *Reader) Next() ([][]byte, error) {
	line, err := r.NextLine()
	if err != nil {
		return nil, err
	}
	return r.CutFields(line)
}

// Header returns the fields of a header, or io.EOF. Before the header, the line with which Excel names the
// delimiter ("sep=;") is skipped. named reports whether fields have a name of the schema. If only those of another
// delimiter have, Header returns an error with both delimiters.
func (r *Reader) Header(named func(header [][]byte) bool) ([][]byte, error) {
	header, err := r.Next()
	if mark, ok := bytes.CutPrefix(r.Line, []byte("sep=")); err == nil && r.Row == 1 && ok && len(mark) == 1 {
		if mark[0] != r.delim {
			return nil, r.otherDelimiter(mark[0])
		}
		header, err = r.Next()
	}
	if err != nil || named(header) {
		return header, err
	}
	for _, d := range []byte(",;\t| ") {
		if fields, ok := Split(r.Line, d); ok && d != r.delim && len(fields) > 1 && named(fields) {
			return nil, r.otherDelimiter(d)
		}
	}
	return header, nil
}

func (r *Reader) otherDelimiter(got byte) error {
	name := func(d byte) string { return strings.ReplaceAll(string(d), "\t", "tab") }
	return &source.ParseError{File: r.src.Name, Row: r.Row, Header: true, Rule: fmt.Sprintf("the fields seem to be "+
		"separated by %q and not by %q; separate them by %[2]q, or set csv: {delimiter: %[1]q} if the schema is yours",
		name(got), name(r.delim))}
}

// NextLine returns the first line of the next row, or io.EOF.
func (r *Reader) NextLine() ([]byte, error) {
	for {
		line, err := r.src.Next()
		if err != nil {
			return nil, err
		}
		if r.isEmpty(line) {
			continue
		}
		if c := r.commentOf(line); c != nil {
			if r.Skip != nil {
				if err := r.Skip(string(c), r.src.Line); err != nil {
					return nil, err
				}
			}
			continue
		}
		r.Row, r.Line = r.src.Line, line
		return line, nil
	}
}

// CutFields returns the fields of the row whose first line is given. If the row spans several lines, it reads
// the following lines.
func (r *Reader) CutFields(line []byte) (_ [][]byte, err error) {
	if bytes.IndexByte(line, '"') < 0 {
		r.splitPlain(line)
		return r.fields, nil
	}
	if line, err = r.join(line); err != nil {
		return nil, err
	}
	return r.fields, r.splitQuoted(line)
}

// isEmpty reports whether a line consists of blanks and delimiters only.
func (r *Reader) isEmpty(line []byte) bool {
	k := parse.SkipBlanks(line, r.delim)
	for k < len(line) && line[k] == r.delim {
		k++
		k += parse.SkipBlanks(line[k:], r.delim)
	}
	return k == len(line)
}

// commentOf returns the comment prefix that a line begins with, or nil if the line is not a comment.
func (r *Reader) commentOf(line []byte) []byte {
	for _, c := range r.comment {
		if bytes.HasPrefix(line, c) {
			return c
		}
	}
	return nil
}

func (r *Reader) splitPlain(line []byte) {
	r.fields = r.fields[:0]
	start := 0
	for i, c := range line { // fields are short, so one loop is faster than a search for each delimiter
		if c == r.delim {
			r.fields = append(r.fields, parse.TrimBlanks(line[start:i], r.delim))
			start = i + 1
		}
	}
	r.fields = append(r.fields, parse.TrimBlanks(line[start:], r.delim))
}

// quoteState is the state of the scan for the end of a row.
type quoteState int

const (
	atStart  quoteState = iota // at the start of a field, after blanks only
	plain                      // in an unquoted field
	quoted                     // inside quotes
	afterEnd                   // after a closing quote or the first quote of a doubled quote
)

func (r *Reader) scan(state quoteState, part []byte) quoteState {
	for _, c := range part {
		switch {
		case state == quoted:
			if c == '"' {
				state = afterEnd
			}
		case c == r.delim:
			state = atStart
		case c == '"' && (state == atStart || state == afterEnd):
			state = quoted
		case state == atStart && (c == ' ' || c == '\t'):
		case state == atStart:
			state = plain
		}
	}
	return state
}

// join appends lines to a row until its quotes are closed. Each byte is examined once here and once in
// splitQuoted, regardless of the number of lines.
func (r *Reader) join(line []byte) ([]byte, error) {
	state := r.scan(atStart, line)
	if state != quoted {
		return line, nil
	}
	r.joined = append(r.joined[:0], line...)
	for state == quoted {
		more, err := r.src.Next()
		if err == io.EOF {
			return nil, r.errorf(0, RuleOpenQuote)
		}
		if err != nil {
			return nil, err
		}
		if len(r.joined)+len(more) > source.MaxRowBytes {
			return nil, r.errorf(0, source.RuleTooLong)
		}
		r.joined = append(append(r.joined, '\n'), more...)
		state = r.scan(state, more)
	}
	return r.joined, nil
}

// Split returns the fields of a row on one line. ok is false if the quotes are not balanced.
func Split(line []byte, delim byte) (fields [][]byte, ok bool) {
	r := Reader{src: &source.Lines{}, delim: delim}
	err := r.splitQuoted(line)
	return r.fields, err == nil
}

// splitQuoted fills fields from a row whose quotes are closed.
func (r *Reader) splitQuoted(line []byte) error {
	r.fields = r.fields[:0]
	if cap(r.text) < len(line) {
		r.text = make([]byte, 0, 2*len(line)) // appends below never move it
	}
	r.text = r.text[:0]
	for {
		start := parse.SkipBlanks(line, r.delim)
		if start == len(line) || line[start] != '"' {
			k := bytes.IndexByte(line, r.delim)
			if k < 0 {
				r.fields = append(r.fields, parse.TrimBlanks(line, r.delim))
				return nil
			}
			r.fields = append(r.fields, parse.TrimBlanks(line[:k], r.delim))
			line = line[k+1:]
			continue
		}
		begin := len(r.text)
		line = line[start+1:]
		for {
			k := bytes.IndexByte(line, '"')
			if k < 0 {
				return r.errorf(len(r.fields)+1, RuleOpenQuote)
			}
			r.text = append(r.text, line[:k]...)
			line = line[k+1:]
			if len(line) == 0 || line[0] != '"' {
				break
			}
			r.text = append(r.text, '"')
			line = line[1:]
		}
		r.fields = append(r.fields, r.text[begin:len(r.text):len(r.text)])
		line = line[parse.SkipBlanks(line, r.delim):]
		if len(line) == 0 {
			return nil
		}
		if line[0] != r.delim {
			return r.errorf(len(r.fields), RuleAfterQuote)
		}
		line = line[1:]
	}
}

func (r *Reader) errorf(position int, rule string) error {
	return &source.ParseError{File: r.src.Name, Row: r.Row, Position: position, Rule: rule}
}

// The rules of delimited text.
const (
	RuleOpenQuote = "a quoted field begins in this row and is never closed; close the field, or double each quote " +
		"inside the text"
	RuleAfterQuote = "text follows a closing quote; add a delimiter, double each quote inside the text, or correct " +
		"csv.delimiter"
)
