package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"
)

// maxZstdWindow bounds the memory of the zstd decoder; it is what
// "zstd --long=27" needs.
const maxZstdWindow = 1 << 27

// unpacked is the content of a file that may be compressed.
type unpacked struct {
	*bufio.Reader
	compressed bool
	raw        *watched
	close      func()
}

// watched remembers the error of the file below a decompressor, so that a broken
// disk is not taken for damaged content.
type watched struct {
	r   io.Reader
	err error
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// unpack looks through gzip and zstd, by their magic bytes. The caller closes
// the result, which leaves r open.
func unpack(name string, r io.Reader) (*unpacked, error) {
	raw := &watched{r: r}
	u := &unpacked{Reader: bufio.NewReaderSize(raw, 1<<16), raw: raw, close: func() {}}
	head, _ := u.Peek(4)
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		u.compressed = true
		z, err := gzip.NewReader(u.Reader)
		if err != nil {
			return nil, u.readError(name, 0, err)
		}
		u.Reader = bufio.NewReaderSize(z, 1<<16)
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		u.compressed = true
		z, err := zstd.NewReader(u.Reader, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, u.readError(name, 0, err)
		}
		u.close = z.Close
		u.Reader = bufio.NewReaderSize(z, 1<<16)
	}
	return u, nil
}

// decode turns the text of an encoding into UTF-8.
func (u *unpacked) decode(e encoding.Encoding) {
	u.Reader = bufio.NewReaderSize(transform.NewReader(u.Reader, e.NewDecoder()), 1<<16)
}

// readError turns a failure of the decompressor after some rows into a
// ParseError; an error of the file itself stays one.
func (u *unpacked) readError(name string, rows int, err error) error {
	rule := ruleBadPacked
	switch {
	case u.raw.err != nil || !u.compressed && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF):
		return fmt.Errorf("dataset: cannot read %s after row %d: %w", name, rows, err)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		rule = ruleZstdWindow
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		rule = ruleTruncated
	}
	return &ParseError{File: name, Row: rows + 1, Rule: rule}
}
