package command

import (
	"io"
	"sync/atomic"
)

// screen is a terminal. A progress bar or a prompt leaves its line unfinished; the next output begins a new line.
type screen struct {
	io.Writer
	unfinished atomic.Bool
}

// Write implements io.Writer.
func (s *screen) Write(b []byte) (int, error) {
	s.end()
	return s.Writer.Write(b)
}

func (s *screen) end() {
	if s.unfinished.Swap(false) {
		_, _ = s.Writer.Write([]byte{'\n'}) // the following write reports an error
	}
}
