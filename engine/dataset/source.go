package dataset

import (
	"bufio"
	"bytes"
	"io"
	"os"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// maxRowBytes bounds one row, so that an unclosed quote cannot read a whole file
// into memory.
const maxRowBytes = 64 << 20

// source reads the lines of a file.
type source struct {
	name string
	r    *unpacked
	line int    // number of the last line read, from 1
	long []byte // a line longer than the buffer of r

	blocked bool   // lines are those of block and not of r
	block   []byte // what is left of it
	end     error  // what comes after block
}

// newSource decodes a file of an encoding. It looks through a byte order mark, which also
// tells UTF-16 where the encoding is empty.
func newSource(name string, r *unpacked, encoding string) *source {
	head, _ := r.Peek(3)
	marked := len(head) >= 2 && (head[0] == 0xff && head[1] == 0xfe || head[0] == 0xfe && head[1] == 0xff)
	switch {
	case bytes.Equal(head, []byte{0xef, 0xbb, 0xbf}):
		_, _ = r.Discard(3) // buffered, cannot fail
	case marked, encoding == EncodingUTF16:
		r.decode(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM))
	case encoding == EncodingWindows1252:
		r.decode(charmap.Windows1252)
	}
	return &source{name: name, r: r}
}

// next returns the next line without its end (LF or CRLF). It is valid until
// the next call. At the end of the file the error is io.EOF.
func (s *source) next() ([]byte, error) {
	if s.blocked {
		return s.nextOfBlock()
	}
	part, err := s.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		s.long = append(s.long[:0], part...)
		for err == bufio.ErrBufferFull {
			part, err = s.r.ReadSlice('\n')
			s.long = append(s.long, part...)
			if len(s.long) > maxRowBytes {
				return nil, &ParseError{File: s.name, Row: s.line + 1, Rule: ruleTooLong}
			}
		}
		part = s.long
	}
	if err != nil && err != io.EOF {
		return nil, s.r.readError(s.name, s.line, err)
	}
	if len(part) == 0 {
		return nil, io.EOF
	}
	s.line++
	part = bytes.TrimSuffix(part, []byte{'\n'})
	return bytes.TrimSuffix(part, []byte{'\r'}), nil
}

// nextOfBlock is next from memory.
func (s *source) nextOfBlock() ([]byte, error) {
	k := bytes.IndexByte(s.block, '\n')
	part := s.block[:max(k, 0)]
	switch {
	case k < 0:
		k, part = len(s.block)-1, s.block
		if len(part) > maxRowBytes || len(part) > 0 && s.end == io.EOF {
			break
		}
		if s.end == nil || s.end == io.EOF {
			return nil, io.EOF
		}
		return nil, s.r.readError(s.name, s.line, s.end)
	}
	if k >= maxRowBytes {
		return nil, &ParseError{File: s.name, Row: s.line + 1, Rule: ruleTooLong}
	}
	s.line++
	s.block = s.block[k+1:]
	return bytes.TrimSuffix(part, []byte{'\r'}), nil
}

// sizes are what a first pass counts; each bounds what the second one stores.
type sizes struct {
	rows   int // lines that are not empty
	bytes  int64
	colons int // LIBSVM pairs
}

// countLines reads the lines of a file once to size its storage, unless they are only shown.
// Errors are left for the second pass to report, but for that of Progress.
func (t *table) countLines(path string) (z sizes, err error) {
	if t.scan != nil {
		return z, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return z, nil
	}
	defer f.Close()
	u, err := unpack(path, f)
	if err != nil {
		return z, nil
	}
	defer u.close()
	s := newSource(path, u, t.e.schema.CSV.Encoding)
	for {
		line, err := s.next()
		if err != nil {
			return z, nil
		}
		if len(line) == 0 {
			continue
		}
		z.rows++
		z.bytes += int64(len(line)) + 1
		z.colons += bytes.Count(line, []byte{':'})
		if z.rows%progressRows == 0 && t.o.Progress != nil {
			if err := t.o.Progress(t.seen); err != nil {
				return z, err
			}
		}
	}
}
