package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"dyad/engine/dataset"
)

// The levels of --log-format json.
const (
	levelInfo    = "info"
	levelWarning = "warn"
	levelError   = "error"
)

// logEntry is a line of --log-format json.
type logEntry struct {
	Time    time.Time   `json:"time"`
	Level   string      `json:"level"`
	Message string      `json:"message"`
	Done    int         `json:"done,omitempty"`  // completed steps out of Total, for progress
	Total   int         `json:"total,omitempty"` // total number of steps, a public number
	Place   *brokenRule `json:"place,omitempty"` // position of an error in the content of a file
}

// brokenRule states where a file breaks a rule and which one, for clients that use their own wording.
type brokenRule struct {
	File     string `json:"file,omitempty"`
	Row      int    `json:"row,omitempty"`
	Column   string `json:"column,omitempty"`
	Position int    `json:"position,omitempty"`
	Rule     string `json:"rule"`
}

// jsonLog writes the text for standard error as one JSON object on each line. Every line has the start time of
// the command. The current time would reveal how long a step takes, which can depend on private records and on
// how many rows a person has, and others read logs. For the same reason, progress is one line for each tenth of
// a public number of steps, and not one line each second.
type jsonLog struct {
	mu    sync.Mutex
	to    io.Writer
	began time.Time
}

// asksForJSON reports whether a command line has --log-format json. It is called before the line is parsed, so
// that parsing errors are logged, too.
func asksForJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	i := slices.Index(args, "--log-format")
	return i >= 0 && i+1 < len(args) && args[i+1] == "json" || slices.Contains(args, "--log-format=json")
}

// Write implements io.Writer. b must be one complete message, as written by one call of Fprintf.
func (l *jsonLog) Write(b []byte) (int, error) {
	return len(b), l.log(logEntry{Level: levelInfo, Message: strings.TrimSpace(string(b))})
}

// log writes an entry, unless it is empty.
func (l *jsonLog) log(e logEntry) error {
	if e.Message == "" {
		return nil
	}
	lines := strings.Split(e.Message, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "dyad: ")
	}
	e.Time, e.Message = l.began, strings.Join(lines, "\n")
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.to.Write(append(text, '\n'))
	return err
}

// fail writes an error to standard error, or to a log.
func fail(stderr io.Writer, format string, args ...any) {
	failAt(stderr, nil, format, args...)
}

// warn is like fail, for a warning.
func warn(stderr io.Writer, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if l, ok := stderr.(*jsonLog); ok {
		_ = l.log(logEntry{Level: levelWarning, Message: text}) // an error of the log does not stop a run
	} else {
		fmt.Fprintf(stderr, "dyad: warning: %s\n", text)
	}
}

// failAt is like fail and adds the position of an error if it has one.
func failAt(stderr io.Writer, of error, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l, ok := stderr.(*jsonLog)
	if !ok {
		fmt.Fprintln(stderr, text)
		return
	}
	e := logEntry{Level: levelError, Message: text}
	if p := (*dataset.ParseError)(nil); errors.As(of, &p) {
		e.Place = &brokenRule{File: p.File, Row: p.Row, Column: p.Column, Position: p.Position, Rule: p.Rule}
	}
	_ = l.log(e) // nobody reads the log any more
}

// tenths logs progress: one line for each tenth of the total.
func (l *jsonLog) tenths(what func() string) func(done, total int) {
	told := 0
	return func(done, total int) {
		if total <= 0 || 10*done/total <= told {
			return
		}
		told = 10 * done / total
		// an error of the log does not stop a run
		_ = l.log(logEntry{Level: levelInfo, Message: what(), Done: done, Total: total})
	}
}
