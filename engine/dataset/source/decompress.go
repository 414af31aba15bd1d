package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"dyad/internal/tasks"
)

// maxZstdWindow is the maximum window, and thus memory, of the zstd decoder. It is the window of "zstd
// --long=27".
const maxZstdWindow = 1 << 27

// Unpacked reads the decompressed content of a file that may be compressed.
type Unpacked struct {
	*bufio.Reader
	Compressed bool
	raw        *watched
	packed     *bufio.Reader // reader of the bytes before decompression
	Close      func()
}

// watched is a reader that counts bytes and stores the error of the file under a decompressor, so that a disk
// error is not taken for damaged content.
type watched struct {
	r     io.Reader
	err   error
	count int
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	w.count += n
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// Unpack decompresses gzip and zstd, which it detects by their magic bytes. The caller must close the result.
// Closing it leaves r open.
func Unpack(name string, r io.Reader) (*Unpacked, error) {
	raw := &watched{r: r}
	u := &Unpacked{Reader: bufio.NewReaderSize(raw, 1<<16), raw: raw, Close: func() {}}
	u.packed = u.Reader
	head, _ := u.Peek(4)
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		u.Compressed = true
		z, err := gzip.NewReader(u.Reader)
		if err != nil {
			return nil, u.ReadError(name, 0, err)
		}
		u.Reader = bufio.NewReaderSize(z, 1<<16)
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		u.Compressed = true
		z, err := zstd.NewReader(u.Reader, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, u.ReadError(name, 0, err)
		}
		u.Close = z.Close
		u.Reader = bufio.NewReaderSize(z, 1<<16)
	}
	return u, nil
}

// ahead reads text that a goroutine decompresses while the caller uses earlier text.
type ahead struct {
	full  chan aheadBlock // blocks in order; closed after the last block
	empty chan []byte
	stop  chan struct{}
	rest  []byte // remaining text of the current block
	block []byte
	err   error // error after the current block
	all   tasks.Group
}

type aheadBlock struct {
	text []byte
	err  error // error after the block
}

// Sizes of the text that is decompressed ahead.
const (
	aheadBytes  = 1 << 18
	aheadBlocks = 4
)

// ReadAhead decompresses in a separate goroutine from now on, until Close. It is meant for files, because Close
// waits for a pending read, and a read from a stream could take any time.
func (u *Unpacked) ReadAhead() {
	a := &ahead{full: make(chan aheadBlock, aheadBlocks), empty: make(chan []byte, aheadBlocks), stop: make(chan struct{}),
		err: io.ErrUnexpectedEOF}
	for range aheadBlocks {
		a.empty <- make([]byte, aheadBytes)
	}
	from, done := u.Reader, u.Close
	a.all.Go(func() {
		defer close(a.full)
		for {
			select {
			case <-a.stop:
				return
			case b := <-a.empty:
				n, err := 0, error(nil)
				for n < len(b) && err == nil { // not io.ReadFull, which would change the error
					var k int
					k, err = from.Read(b[n:])
					n += k
				}
				a.full <- aheadBlock{b[:n], err} // there is room for all blocks
				if err != nil {
					return
				}
			}
		}
	})
	u.Close = func() {
		close(a.stop)
		a.all.Wait()
		done()
	}
	u.Reader = bufio.NewReaderSize(a, 1<<16)
}

// Read returns the remaining text of a block. Its error comes from the decompressor.
func (a *ahead) Read(b []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.block != nil {
			a.empty <- a.block[:cap(a.block)] // there is room for all blocks
			a.block = nil
		}
		next, ok := <-a.full
		if !ok {
			return 0, a.err // also after a panic, which close propagates
		}
		a.block, a.rest = next.text, next.text
		if next.err != nil {
			a.err = next.err
		}
	}
	n := copy(b, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// decode converts text of an encoding to UTF-8.
func (u *Unpacked) decode(e encoding.Encoding) {
	u.Reader = bufio.NewReaderSize(transform.NewReader(u.Reader, e.NewDecoder()), 1<<16)
}

// ReadError returns a ParseError if decompression failed after the given number of rows. It wraps an error of
// reading the file.
func (u *Unpacked) ReadError(name string, rows int, err error) error {
	rule := RuleBadPacked
	switch {
	case u.raw.err != nil || !u.Compressed && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF):
		return fmt.Errorf("dataset: cannot read %s after row %d: %w", name, rows, err)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		rule = ruleZstdWindow
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		rule = RuleTruncated
	}
	return &ParseError{File: name, Row: rows + 1, Rule: rule}
}

// The rules of a compressed file.
const (
	RuleTruncated  = "the compressed file is truncated; fetch it again"
	RuleBadPacked  = "the compressed file is damaged; fetch it again"
	ruleZstdWindow = "the zstd window is larger than 128 MiB; compress the file again with --long=27 or less"
)
