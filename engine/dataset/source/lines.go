package source

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"runtime"

	"dyad/internal/tasks"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// MaxRowBytes is the maximum length of a row, so that an unclosed quote cannot lead to reading a whole file
// into memory.
const MaxRowBytes = 64 << 20

// Lines reads the lines of a file.
type Lines struct {
	Name string
	r    *Unpacked
	Line int    // number of the last line read, from 1
	long []byte // memory for a line longer than the buffer of r

	blocked bool   // lines are read from block instead of r
	block   []byte // remaining text of the block
	end     error  // error after the block
}

// Part returns the lines of a part of the file. text is this part, and lines is the number of lines before it.
// After the last line of the part, the error is err.
func (s *Lines) Part(text []byte, lines int, err error) *Lines {
	return &Lines{Name: s.Name, r: s.r, Line: lines, block: text, end: err, blocked: true}
}

// NewLines returns the lines of a file with the given encoding. It skips a byte order mark. If encoding is
// empty, a byte order mark of UTF-16 selects UTF-16.
func NewLines(name string, r *Unpacked, encoding string) *Lines {
	head, _ := r.Peek(3)
	marked := len(head) >= 2 && (head[0] == 0xff && head[1] == 0xfe || head[0] == 0xfe && head[1] == 0xff)
	switch {
	case bytes.Equal(head, []byte{0xef, 0xbb, 0xbf}):
		_, _ = r.Discard(3) // cannot fail, because the bytes are buffered
	case marked, encoding == EncodingUTF16:
		r.decode(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM))
	case encoding == EncodingWindows1252:
		r.decode(charmap.Windows1252)
	}
	return &Lines{Name: name, r: r}
}

// Next returns the next line without its end (LF or CRLF). The line is valid until the next call. At the end of
// the file the error is io.EOF.
func (s *Lines) Next() ([]byte, error) {
	if s.blocked {
		return s.nextOfBlock()
	}
	part, err := s.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		s.long = append(s.long[:0], part...)
		for err == bufio.ErrBufferFull {
			part, err = s.r.ReadSlice('\n')
			s.long = append(s.long, part...)
			if s.Line == 0 && len(s.long) > MaxRowBytes && endsInCR(s.long) {
				return nil, &ParseError{File: s.Name, Rule: ruleCR}
			}
			if len(s.long) > MaxRowBytes {
				return nil, &ParseError{File: s.Name, Row: s.Line + 1, Rule: RuleTooLong}
			}
		}
		part = s.long
	}
	if err != nil && err != io.EOF {
		return nil, s.r.ReadError(s.Name, s.Line, err)
	}
	if len(part) == 0 {
		return nil, io.EOF
	}
	if s.Line == 0 && err == io.EOF && endsInCR(part) {
		return nil, &ParseError{File: s.Name, Rule: ruleCR}
	}
	s.Line++
	part = bytes.TrimSuffix(part, []byte{'\n'})
	return bytes.TrimSuffix(part, []byte{'\r'}), nil
}

// endsInCR reports whether a text without LF has lines that end in CR: a CR outside quotes with text after it.
func endsInCR(text []byte) bool {
	line, _, found := bytes.Cut(bytes.TrimRight(text, "\r"), []byte{'\r'})
	return found && bytes.Count(line, []byte{'"'})%2 == 0
}

// nextOfBlock returns the next line of the block in memory.
func (s *Lines) nextOfBlock() ([]byte, error) {
	k := bytes.IndexByte(s.block, '\n')
	part := s.block[:max(k, 0)]
	switch {
	case k < 0:
		k, part = len(s.block)-1, s.block
		if len(part) > MaxRowBytes || len(part) > 0 && s.end == io.EOF {
			break
		}
		if s.end == nil || s.end == io.EOF {
			return nil, io.EOF
		}
		return nil, s.r.ReadError(s.Name, s.Line, s.end)
	}
	if k >= MaxRowBytes {
		return nil, &ParseError{File: s.Name, Row: s.Line + 1, Rule: RuleTooLong}
	}
	s.Line++
	s.block = s.block[k+1:]
	return bytes.TrimSuffix(part, []byte{'\r'}), nil
}

// Sizes holds the counts of a first pass over a file. The amounts stored later are at most these counts,
// except for compressed files.
type Sizes struct {
	Rows   int // number of lines
	Bytes  int64
	Colons int // number of LIBSVM pairs
}

// Number of bytes of a file that are counted at a time, and of text that is used to estimate a compressed file.
const (
	countBlock  = 1 << 17
	guessedText = 1 << 20
)

// Count adds the counts of a piece of text.
func (z *Sizes) Count(text []byte, colons bool) {
	z.Rows += bytes.Count(text, []byte{'\n'})
	z.Bytes += int64(len(text))
	if colons {
		z.Colons += bytes.Count(text, []byte{':'})
	}
}

// CountLines returns upper bounds of the sizes of a regular file. It counts line ends in parallel, and also
// colons if colons is set. In an encoding other than UTF-8 the counts are still upper bounds. For a
// compressed file it uses an estimate (guessLines), so that the file is not decompressed twice. CountLines
// calls progress from time to time and returns its error. It leaves all other errors to the second pass.
func CountLines(path string, colons bool, progress func() error) (z Sizes, err error) {
	f, err := os.Open(path)
	if err != nil {
		return z, nil
	}
	defer f.Close()
	u, err := Unpack(path, f)
	if err != nil {
		return z, nil
	}
	defer u.Close()
	info, err := f.Stat()
	if err != nil {
		return z, nil
	}
	if u.Compressed {
		return u.guessLines(info.Size(), colons), nil
	}
	blocks := int((info.Size() + countBlock - 1) / countBlock)
	workers := runtime.GOMAXPROCS(0)
	buffers, counts := make([][]byte, workers), make([]Sizes, workers)
	for from := 0; from < blocks; from += 256 {
		_ = tasks.Each(context.Background(), workers, min(256, blocks-from), func(w, k int) {
			if buffers[w] == nil {
				buffers[w] = make([]byte, countBlock)
			}
			n, _ := f.ReadAt(buffers[w], int64(from+k)*countBlock)
			counts[w].Count(buffers[w][:n], colons)
		})
		if err := progress(); err != nil {
			return z, err
		}
	}
	for _, c := range counts {
		z.Rows, z.Bytes, z.Colons = z.Rows+c.Rows, z.Bytes+c.Bytes, z.Colons+c.Colons
	}
	z.Rows++ // the last line may lack a line end
	return z, nil
}

// guessLines estimates the sizes of a compressed file from its beginning, with a margin. If the estimate is too
// low, blocks are joined in the end, within the memory of the records.
func (u *Unpacked) guessLines(size int64, colons bool) (z Sizes) {
	text := make([]byte, guessedText)
	n, err := io.ReadFull(u, text)
	z.Count(text[:n], colons)
	z.Rows++
	if err != nil {
		return z // the text has ended
	}
	// assume at most 64 bytes of text for each compressed byte
	used := max(u.raw.count-u.packed.Buffered(), guessedText/64)
	times := float64(size) / float64(used) * (1 + 1./32)
	z.Rows, z.Bytes, z.Colons = int(times*float64(z.Rows)), int64(times*float64(z.Bytes)), int(times*float64(z.Colons))
	return z
}

const ruleCR = "the lines end in CR alone, without LF; write the file again with LF or CRLF, for example with tr " +
	`'\r' '\n' < OLD > NEW`

// RuleTooLong is the rule broken by a row that is too long.
const RuleTooLong = "the row is longer than 64 MiB; look for a quote that is never closed"

// Encodings of text files other than UTF-8.
const (
	EncodingUTF16       = "utf-16"       // with or without a byte order mark; without one, little-endian
	EncodingWindows1252 = "windows-1252" // also reads latin-1 (ISO 8859-1)
)

// Read reads text that Next has not returned.
func (s *Lines) Read(b []byte) (int, error) { return s.r.Read(b) }
