package command

import (
	"context"
	"io"
	"sync"
	"time"
)

// liveReader reads until ctx is done. If it follows a file, it waits for more data at the end.
type liveReader struct {
	ctx    context.Context
	r      io.Reader
	follow bool
	chunks chan chunk
	rest   []byte
	err    error // error at the end of r, returned by every later Read
}

type chunk struct {
	bytes []byte
	err   error
}

// Read implements io.Reader. A separate goroutine reads from r; after an interrupt, Read does not wait for it.
func (l *liveReader) Read(p []byte) (int, error) {
	if l.chunks == nil {
		l.chunks = make(chan chunk)
		go l.pump()
	}
	if len(l.rest) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		select {
		case <-l.ctx.Done():
			return 0, l.ctx.Err()
		case c := <-l.chunks:
			if l.rest, l.err = c.bytes, c.err; l.err != nil {
				return 0, l.err
			}
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *liveReader) pump() {
	const wait = 100 * time.Millisecond
	for {
		buffer := make([]byte, 1<<14)
		n, err := l.r.Read(buffer)
		if err == io.EOF && l.follow {
			err = nil
			if n == 0 {
				select {
				case <-l.ctx.Done():
					return
				case <-time.After(wait):
				}
				continue
			}
		}
		for _, c := range []chunk{{bytes: buffer[:n]}, {err: err}} {
			if len(c.bytes) == 0 && c.err == nil {
				continue
			}
			select {
			case <-l.ctx.Done():
				return
			case l.chunks <- c:
			}
		}
		if err != nil {
			return
		}
	}
}

// door passes on all writes until it is closed.
type door struct {
	mu     sync.Mutex
	closed bool
}

func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}

func (d *door) writer(w io.Writer) io.Writer { return &doorWriter{d, w} }

type doorWriter struct {
	door *door
	to   io.Writer
}

// Write implements io.Writer.
func (w *doorWriter) Write(b []byte) (int, error) {
	w.door.mu.Lock()
	defer w.door.mu.Unlock()
	if w.door.closed {
		return 0, io.ErrClosedPipe
	}
	return w.to.Write(b)
}
