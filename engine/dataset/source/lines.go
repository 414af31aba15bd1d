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

// MaxRowBytes bounds one row, so that an unclosed quote cannot read a whole file
// into memory.
const MaxRowBytes = 64 << 20

// Lines reads the lines of a file.
type Lines struct {
	Name string
	r    *Unpacked
	Line int    // number of the last line read, from 1
	long []byte // a line longer than the buffer of r

	blocked bool   // lines count block and not r
	block   []byte // what is left of it
	end     error  // what comes after block
}

// Part is a source of text that stands in the file after some lines, and before what err says.
func (s *Lines) Part(text []byte, lines int, err error) *Lines {
	return &Lines{Name: s.Name, r: s.r, Line: lines, block: text, end: err, blocked: true}
}

// NewLines decodes a file of an encoding. It looks through a byte order mark, which also
// tells UTF-16 where the encoding is empty.
func NewLines(name string, r *Unpacked, encoding string) *Lines {
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
	return &Lines{Name: name, r: r}
}

// Next returns the next line without its end (LF or CRLF). It is valid until
// the next call. At the end of the file the error is io.EOF.
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
	s.Line++
	part = bytes.TrimSuffix(part, []byte{'\n'})
	return bytes.TrimSuffix(part, []byte{'\r'}), nil
}

// nextOfBlock is next from memory.
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

// Sizes holds the counts of a first look; each bounds the stored amount, but for compressed files.
type Sizes struct {
	Rows   int // lines
	Bytes  int64
	Colons int // LIBSVM pairs
}

// How much of a file is counted at a time, and how much text of a compressed one.
const (
	countBlock  = 1 << 17
	guessedText = 1 << 20
)

// Count adds what a piece of text has.
func (z *Sizes) Count(text []byte, colons bool) {
	z.Rows += bytes.Count(text, []byte{'\n'})
	z.Bytes += int64(len(text))
	if colons {
		z.Colons += bytes.Count(text, []byte{':'})
	}
}

// CountLines bounds what the lines of a regular file need: it counts the ends of lines, in parallel, and
// the colons if asked to. In an encoding other than UTF-8 it counts at least as many. A compressed file is
// not decompressed twice for it: guessLines. Errors are left for the second pass to report, but for that of
// progress, which is called now and then.
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
	z.Rows++ // the last line may have no end
	return z, nil
}

// guessLines estimates the size of a compressed file from its beginning, with a margin. If the guess is
// too low, blocks are joined in the end, within the memory of the records.
func (u *Unpacked) guessLines(size int64, colons bool) (z Sizes) {
	text := make([]byte, guessedText)
	n, err := io.ReadFull(u, text)
	z.Count(text[:n], colons)
	z.Rows++
	if err != nil {
		return z // that was all
	}
	used := max(u.raw.count-u.packed.Buffered(), guessedText/64) // at most 64 times as much text as there are bytes
	times := float64(size) / float64(used) * (1 + 1./32)
	z.Rows, z.Bytes, z.Colons = int(times*float64(z.Rows)), int64(times*float64(z.Bytes)), int(times*float64(z.Colons))
	return z
}

// RuleTooLong is a rule of a line.
const RuleTooLong = "row is longer than 64 MiB; look for a quote that is never closed"

// Encodings of a text file that is not UTF-8.
const (
	EncodingUTF16       = "utf-16"       // with or without a byte order mark; without one, little-endian
	EncodingWindows1252 = "windows-1252" // also reads latin-1 (ISO 8859-1)
)

// Read reads text that no line has yet.
func (s *Lines) Read(b []byte) (int, error) { return s.r.Read(b) }
