package dataset

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxRowBytes bounds one row, so that an unclosed quote cannot read a whole file
// into memory.
const maxRowBytes = 64 << 20

// source reads lines of a file that may be compressed.
type source struct {
	name string
	r    *bufio.Reader
	line int    // number of the last line read, from 1
	long []byte // a line longer than the buffer of r
}

// openSource looks through gzip (by its magic bytes) and a UTF-8 byte order mark.
func openSource(name string, r io.Reader) (*source, error) {
	s := &source{name: name, r: bufio.NewReaderSize(r, 1<<16)}
	if head, _ := s.r.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(s.r)
		if err != nil {
			return nil, s.readError(err)
		}
		s.r = bufio.NewReaderSize(z, 1<<16)
	}
	if head, _ := s.r.Peek(3); bytes.Equal(head, []byte{0xef, 0xbb, 0xbf}) {
		_, _ = s.r.Discard(3) // buffered, cannot fail
	} else if len(head) >= 2 && (head[0] == 0xff && head[1] == 0xfe || head[0] == 0xfe && head[1] == 0xff) {
		return nil, &ParseError{File: name, Rule: ruleUTF16}
	}
	return s, nil
}

// next returns the next line without its end (LF or CRLF). It is valid until
// the next call. At the end of the file the error is io.EOF.
func (s *source) next() ([]byte, error) {
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
		return nil, s.readError(err)
	}
	if len(part) == 0 {
		return nil, io.EOF
	}
	s.line++
	part = bytes.TrimSuffix(part, []byte{'\n'})
	return bytes.TrimSuffix(part, []byte{'\r'}), nil
}

// readError turns a failure of the decompressor into a ParseError.
func (s *source) readError(err error) error {
	rule := ""
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		rule = ruleTruncated
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, new(flate.CorruptInputError)):
		rule = ruleBadGzip
	default:
		return fmt.Errorf("dataset: cannot read %s after row %d: %w", s.name, s.line, err)
	}
	return &ParseError{File: s.name, Row: s.line + 1, Rule: rule}
}

// sizes are what a first pass counts; each bounds what the second one stores.
type sizes struct {
	rows   int // lines that are not empty
	bytes  int64
	colons int // LIBSVM pairs
}

// countFile reads a file once to size its storage. Errors are left for the
// second pass to report.
func countFile(path string) sizes {
	var z sizes
	f, err := os.Open(path)
	if err != nil {
		return z
	}
	defer f.Close()
	s, err := openSource(path, f)
	if err != nil {
		return z
	}
	for {
		line, err := s.next()
		if err != nil {
			return z
		}
		if len(line) == 0 {
			continue
		}
		z.rows++
		z.bytes += int64(len(line)) + 1
		z.colons += bytes.Count(line, []byte{':'})
	}
}
