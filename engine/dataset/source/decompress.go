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

// maxZstdWindow bounds the memory of the zstd decoder; it is what
// "zstd --long=27" needs.
const maxZstdWindow = 1 << 27

// Unpacked is the content of a file that may be compressed.
type Unpacked struct {
	*bufio.Reader
	Compressed bool
	raw        *watched
	packed     *bufio.Reader // of the bytes before they are decompressed
	Close      func()
}

// watched remembers the error of the file below a decompressor, so that a broken
// disk is not taken for damaged content, and counts the bytes.
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

// Unpack looks through gzip and zstd, by their magic bytes. The caller closes
// the result, which leaves r open.
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

// ahead is text that a goroutine decompresses while what comes before it is used.
type ahead struct {
	full  chan aheadBlock // in order; closed after the last
	empty chan []byte
	stop  chan struct{}
	rest  []byte // of the block that is read
	block []byte
	err   error // that follows
	all   tasks.Group
}

type aheadBlock struct {
	text []byte
	err  error // what comes after it
}

// Sizes of the text that is decompressed ahead.
const (
	aheadBytes  = 1 << 18
	aheadBlocks = 4
)

// ReadAhead decompresses in a goroutine of its own from now on, until close. It is for files: close
// waits for a read that is under way, which a stream could let it do for ever.
func (u *Unpacked) ReadAhead() {
	a := &ahead{full: make(chan aheadBlock, aheadBlocks), empty: make(chan []byte, aheadBlocks), stop: make(chan struct{}), err: io.ErrUnexpectedEOF}
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
				for n < len(b) && err == nil { // io.ReadFull would change the error
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

// Read gives what is left of a block. Its error comes from the decompressor.
func (a *ahead) Read(b []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.block != nil {
			a.empty <- a.block[:cap(a.block)] // there is room for all blocks
			a.block = nil
		}
		next, ok := <-a.full
		if !ok {
			return 0, a.err // also after a panic, which close passes on
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

// decode turns the text of an encoding into UTF-8.
func (u *Unpacked) decode(e encoding.Encoding) {
	u.Reader = bufio.NewReaderSize(transform.NewReader(u.Reader, e.NewDecoder()), 1<<16)
}

// ReadError turns a failure of the decompressor after some rows into a
// ParseError; an error of the file itself stays one.
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
	ruleZstdWindow = "the zstd window is larger than 128 MiB; compress the file with --long=27 or less"
)
