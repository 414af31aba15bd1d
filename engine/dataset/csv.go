package dataset

import (
	"bytes"
	"io"
)

// csvReader cuts delimited text into fields (RFC 4180, with these liberties:
// blanks around a field are dropped, lines without any text in a field are skipped, as
// spreadsheets leave them below a table, and a quote inside an unquoted field is an ordinary
// character).
type csvReader struct {
	src     *source
	delim   byte
	comment [][]byte
	skip    func(prefix string, row int) error // told of comments, if not nil

	row    int    // line where the last row begins
	line   []byte // that line, until the next one is read
	fields [][]byte
	joined []byte // a row with quotes that spans lines
	text   []byte // unquoted text of quoted fields
}

func newCSVReader(src *source, o *CSVOptions) *csvReader {
	r := &csvReader{src: src}
	r.delim, _ = o.delimiter()
	for _, c := range o.Comment {
		r.comment = append(r.comment, []byte(c))
	}
	return r
}

// next returns the fields of the next row, valid until the next call, or io.EOF.
func (r *csvReader) next() ([][]byte, error) {
	line, err := r.nextLine()
	if err != nil {
		return nil, err
	}
	return r.cutFields(line)
}

// nextLine returns the line that the next row begins with, or io.EOF.
func (r *csvReader) nextLine() ([]byte, error) {
	for {
		line, err := r.src.next()
		if err != nil {
			return nil, err
		}
		if r.isEmpty(line) {
			continue
		}
		if c := r.commentOf(line); c != nil {
			if r.skip != nil {
				if err := r.skip(string(c), r.src.line); err != nil {
					return nil, err
				}
			}
			continue
		}
		r.row, r.line = r.src.line, line
		return line, nil
	}
}

// cutFields returns the fields of the row that begins with a line.
func (r *csvReader) cutFields(line []byte) (_ [][]byte, err error) {
	if bytes.IndexByte(line, '"') < 0 {
		r.splitPlain(line)
		return r.fields, nil
	}
	if line, err = r.join(line); err != nil {
		return nil, err
	}
	return r.fields, r.splitQuoted(line)
}

// isEmpty says that a line has blanks and delimiters only.
func (r *csvReader) isEmpty(line []byte) bool {
	k := skipBlanks(line, r.delim)
	for k < len(line) && line[k] == r.delim {
		k++
		k += skipBlanks(line[k:], r.delim)
	}
	return k == len(line)
}

func (r *csvReader) isComment(line []byte) bool { return r.commentOf(line) != nil }

// commentOf is the prefix by which a line is a comment, nil for other lines.
func (r *csvReader) commentOf(line []byte) []byte {
	for _, c := range r.comment {
		if bytes.HasPrefix(line, c) {
			return c
		}
	}
	return nil
}

func (r *csvReader) splitPlain(line []byte) {
	r.fields = r.fields[:0]
	start := 0
	for i, c := range line { // fields are short: faster than a search for each
		if c == r.delim {
			r.fields = append(r.fields, trimBlanks(line[start:i], r.delim))
			start = i + 1
		}
	}
	r.fields = append(r.fields, trimBlanks(line[start:], r.delim))
}

// quoteState is the state of the scan for the end of a row.
type quoteState int

const (
	atStart  quoteState = iota // of a field, only blanks so far
	plain                      // in an unquoted field
	quoted                     // inside quotes
	afterEnd                   // after a closing quote, or the first of a doubled one
)

func (r *csvReader) scan(state quoteState, part []byte) quoteState {
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

// join appends lines to a row until its quotes are closed. Each byte is looked
// at once here and once in splitQuoted, however many lines there are.
func (r *csvReader) join(line []byte) ([]byte, error) {
	state := r.scan(atStart, line)
	if state != quoted {
		return line, nil
	}
	r.joined = append(r.joined[:0], line...)
	for state == quoted {
		more, err := r.src.next()
		if err == io.EOF {
			return nil, r.errorf(0, ruleOpenQuote)
		}
		if err != nil {
			return nil, err
		}
		if len(r.joined)+len(more) > maxRowBytes {
			return nil, r.errorf(0, ruleTooLong)
		}
		r.joined = append(append(r.joined, '\n'), more...)
		state = r.scan(state, more)
	}
	return r.joined, nil
}

// splitQuoted fills fields from a row whose quotes are closed.
func (r *csvReader) splitQuoted(line []byte) error {
	r.fields = r.fields[:0]
	if cap(r.text) < len(line) {
		r.text = make([]byte, 0, 2*len(line)) // appends below never move it
	}
	r.text = r.text[:0]
	for {
		start := skipBlanks(line, r.delim)
		if start == len(line) || line[start] != '"' {
			k := bytes.IndexByte(line, r.delim)
			if k < 0 {
				r.fields = append(r.fields, trimBlanks(line, r.delim))
				return nil
			}
			r.fields = append(r.fields, trimBlanks(line[:k], r.delim))
			line = line[k+1:]
			continue
		}
		begin := len(r.text)
		line = line[start+1:]
		for {
			k := bytes.IndexByte(line, '"')
			if k < 0 {
				return r.errorf(len(r.fields)+1, ruleOpenQuote)
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
		line = line[skipBlanks(line, r.delim):]
		if len(line) == 0 {
			return nil
		}
		if line[0] != r.delim {
			return r.errorf(len(r.fields), ruleAfterQuote)
		}
		line = line[1:]
	}
}

func (r *csvReader) errorf(position int, rule string) error {
	return &ParseError{File: r.src.name, Row: r.row, Position: position, Rule: rule}
}

// trimBlanks drops spaces and tabs at both ends, except the delimiter.
func trimBlanks(b []byte, delim byte) []byte {
	b = b[skipBlanks(b, delim):]
	for len(b) > 0 && isBlank(b[len(b)-1], delim) {
		b = b[:len(b)-1]
	}
	return b
}

func skipBlanks(b []byte, delim byte) int {
	k := 0
	for k < len(b) && isBlank(b[k], delim) {
		k++
	}
	return k
}

func isBlank(c, delim byte) bool { return (c == ' ' || c == '\t') && c != delim }
