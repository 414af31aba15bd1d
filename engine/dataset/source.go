package dataset

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

// sizes are what a first look counts; each bounds what is stored, but for compressed files.
type sizes struct {
	rows   int // lines
	bytes  int64
	colons int // LIBSVM pairs
}

// How much of a file is counted at a time, and how much text of a compressed one.
const (
	countBlock  = 1 << 17
	guessedText = 1 << 20
)

// count adds what a piece of text has.
func (z *sizes) count(text []byte, colons bool) {
	z.rows += bytes.Count(text, []byte{'\n'})
	z.bytes += int64(len(text))
	if colons {
		z.colons += bytes.Count(text, []byte{':'})
	}
}

// countLines bounds what the lines of a regular file need, unless they are only shown: it counts the
// ends of lines, in parallel, and the colons of a LIBSVM file. In an encoding other than UTF-8 it counts
// at least as many. A compressed file is not decompressed twice for it: guessLines. Errors are left for
// the second pass to report, but for that of Progress.
func (t *table) countLines(path, format string) (z sizes, err error) {
	if t.scan != nil {
		return z, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return z, nil
	}
	defer f.Close()
	colons := format == FormatLIBSVM
	u, err := unpack(path, f)
	if err != nil {
		return z, nil
	}
	defer u.close()
	info, err := f.Stat()
	if err != nil {
		return z, nil
	}
	if u.compressed {
		return u.guessLines(info.Size(), colons), nil
	}
	blocks := int((info.Size() + countBlock - 1) / countBlock)
	workers := runtime.GOMAXPROCS(0)
	buffers, counts := make([][]byte, workers), make([]sizes, workers)
	for from := 0; from < blocks; from += 256 {
		_ = tasks.Each(context.Background(), workers, min(256, blocks-from), func(w, k int) {
			if buffers[w] == nil {
				buffers[w] = make([]byte, countBlock)
			}
			n, _ := f.ReadAt(buffers[w], int64(from+k)*countBlock)
			counts[w].count(buffers[w][:n], colons)
		})
		if t.o.Progress != nil {
			if err := t.o.Progress(t.seen); err != nil {
				return z, err
			}
		}
	}
	for _, c := range counts {
		z.rows, z.bytes, z.colons = z.rows+c.rows, z.bytes+c.bytes, z.colons+c.colons
	}
	z.rows++ // the last line may have no end
	return z, nil
}

// guessLines says what a compressed file of a size would need if it went on as it begins, and a
// little more. If the guess is too low, blocks are joined in the end, within the memory of the records.
func (u *unpacked) guessLines(size int64, colons bool) (z sizes) {
	text := make([]byte, guessedText)
	n, err := io.ReadFull(u, text)
	z.count(text[:n], colons)
	z.rows++
	if err != nil {
		return z // that was all
	}
	used := max(u.raw.count-u.packed.Buffered(), guessedText/64) // at most 64 times as much text as there are bytes
	times := float64(size) / float64(used) * (1 + 1./32)
	z.rows, z.bytes, z.colons = int(times*float64(z.rows)), int64(times*float64(z.bytes)), int(times*float64(z.colons))
	return z
}
