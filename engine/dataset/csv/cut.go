package csv

import (
	"bytes"

	"dyad/engine/dataset/source"
)

// chunkBytes is the size of a chunk's text, unless a single row is longer. The text and its records fit into
// the cache of a processor.
const chunkBytes = 1 << 16

// Cutter cuts a file into chunks that end at the ends of rows.
type Cutter struct {
	src  *source.Lines
	rows *Reader // reader that defines where rows end
	rest []byte  // bytes that were read and not yet returned
}

// Next returns the next whole rows and the number of lines before these rows. The rows may be in the memory of
// the argument `text`. end is nil if more rows follow, otherwise io.EOF or a read error.
func (k *Cutter) Next(text []byte) (rows []byte, line int, end error) {
	buffer := append(text[:0], k.rest...)
	for size := chunkBytes; ; size *= 2 {
		buffer, end = k.read(buffer, size)
		cut := len(buffer)
		if end == nil {
			var long bool
			if cut, long = k.rows.cut(buffer); cut == 0 && !long {
				continue
			} else if long && cut == 0 {
				cut = len(buffer) // include the row that is too long
			}
		}
		rows, line = buffer[:cut], k.src.Line
		k.src.Line += bytes.Count(rows, []byte{'\n'})
		k.rest = append(k.rest[:0], buffer[cut:]...)
		return rows, line, end
	}
}

// read reads until size bytes are available or the file ends.
func (k *Cutter) read(b []byte, size int) ([]byte, error) {
	if cap(b) < size {
		b = append(make([]byte, 0, size), b...)
	}
	for len(b) < size {
		n, err := k.src.Read(b[len(b):size])
		if b = b[:len(b)+n]; err != nil {
			return b, err
		}
	}
	return b, nil
}

// cut returns the length of the whole rows of a text that is not complete. long reports that the following row
// exceeds the maximum length of a row.
func (r *Reader) cut(text []byte) (end int, long bool) {
	if bytes.IndexByte(text, '"') < 0 {
		end = bytes.LastIndexByte(text, '\n') + 1
		return end, len(text)-end > source.MaxRowBytes
	}
	for at, open, length := 0, atStart, 0; ; {
		k := bytes.IndexByte(text[at:], '\n')
		if k < 0 {
			return end, len(text)-at > source.MaxRowBytes || length > source.MaxRowBytes
		}
		line := bytes.TrimSuffix(text[at:at+k], []byte{'\r'})
		if open == quoted || bytes.IndexByte(line, '"') >= 0 && r.commentOf(line) == nil {
			open = r.scan(open, line)
		}
		at, length = at+k+1, length+len(line)+1
		if open != quoted {
			end, open, length = at, atStart, 0
		}
	}
}

// Cutter returns a cutter for the part of the source that the reader has not read.
func (r *Reader) Cutter() *Cutter { return &Cutter{src: r.src, rows: r} }
