package csv

import (
	"bytes"

	"dyad/engine/dataset/source"
)

// chunkBytes is the text of a chunk, unless a row is longer; text and records stay in
// the cache of a processor.
const chunkBytes = 1 << 16

// Cutter cuts a file into chunks at the ends of rows.
type Cutter struct {
	src  *source.Lines
	rows *Reader // defines rows
	rest []byte  // read and not handed out yet
}

// Next returns the next whole rows, in the memory of text, the number of lines before them, and what follows: nil
// for more rows, io.EOF or an error of reading.
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
				cut = len(buffer) // holds the row that is too long
			}
		}
		rows, line = buffer[:cut], k.src.Line
		k.src.Line += bytes.Count(rows, []byte{'\n'})
		k.rest = append(k.rest[:0], buffer[cut:]...)
		return rows, line, end
	}
}

// read reads until there are size bytes, or to the end.
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

// cut is the length of the whole rows of a text that goes on. long reports that the row after
// them is longer than a row may be.
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
		if open == quoted || bytes.IndexByte(line, '"') >= 0 && !r.isComment(line) {
			open = r.scan(open, line)
		}
		at, length = at+k+1, length+len(line)+1
		if open != quoted {
			end, open, length = at, atStart, 0
		}
	}
}

// Cutter cuts what the reader has not read.
func (r *Reader) Cutter() *Cutter { return &Cutter{src: r.src, rows: r} }
