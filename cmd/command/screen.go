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

// endLine ends an unfinished line of standard error, before standard output is written to.
func (a *app) endLine() {
	if a.screen != nil {
		a.screen.end()
	}
}

// bar returns the writer for progress bars. Field unfinished is true while a progress bar or a prompt occupies
// the current line.
func (a *app) bar() io.Writer {
	if a.screen != nil {
		return a.screen.Writer
	}
	return a.stderr
}

func (a *app) unfinished(yes bool) {
	if a.screen != nil {
		a.screen.unfinished.Store(yes)
	}
}
