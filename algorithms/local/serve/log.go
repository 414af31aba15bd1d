package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"

	"dyad/internal/create"
	"dyad/privacy/durable"
)

// messageLog is the durable list of accepted submissions. A header line names the plan. Each batch has a line
// that begins it, and then one line for each submission. All lines have the form "crc text". A batch is
// acknowledged when it is on disk, and the next batch begins after that. Only one process can hold the log at a
// time.
type messageLog struct {
	*durable.Log
	lock *flock.Flock
	cut  int64 // the number of bytes of an interrupted write that openLog removed
}

var (
	// ErrBusy means that another process has the log open.
	ErrBusy    = errors.New("serve: another server uses this directory; stop that server, or choose another directory")
	errLogPlan = errors.New("serve: this directory holds messages of another protocol; choose another directory, " +
		"or the options of the first start")
)

// openLog opens or creates the log in dir for a plan and calls each for every submission. An interrupted write
// can damage the last batch; its messages were not acknowledged, so the damaged part is removed. If a later
// batch follows the damage, openLog returns an error, because acknowledged messages would be lost.
func openLog(dir string, plan []byte, each func(Submission) error) (_ *messageLog, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	l := &messageLog{}
	switch l.lock, err = durable.Lock(filepath.Join(dir, "lock"), 0); {
	case errors.Is(err, durable.ErrBusy):
		return nil, ErrBusy
	case err != nil:
		return nil, fmt.Errorf("serve: locking %s: %w", dir, err)
	}
	defer func() {
		if err != nil {
			_ = l.close()
		}
	}()
	path := filepath.Join(dir, "messages.log")
	f, err := create.Kept(path, create.Private)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	size, err := replay(f, plan, each)
	l.Log = durable.NewLog(f, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if l.cut, err = l.Cut(); err == nil && size == 0 {
		err = errors.Join(l.Append(line(plan), nil), durable.SyncDir(dir))
	}
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	return l, nil
}

// batchLine begins a batch. Submissions are JSON, so no submission has this text.
var batchLine = line([]byte("batch"))

// replay reads a log and returns the number of bytes of its whole lines.
func replay(file io.Reader, plan []byte, each func(Submission) error) (size int64, err error) {
	r := bufio.NewReaderSize(file, 1<<20)
	begun := false // whether a batch has begun
	for number := 0; ; number++ {
		text, err := r.ReadBytes('\n')
		if err == io.EOF {
			return size, nil // the end, or a line that was cut short
		}
		if err != nil {
			return size, err
		}
		body, ok := unline(text)
		switch {
		case !ok:
			if later, err := batchFollows(r); err != nil {
				return size, err
			} else if later || !begun {
				return size, fmt.Errorf("serve: line %d is damaged; restore the file from a copy", number+1)
			}
			return size, nil
		case number == 0 && !bytes.Equal(body, plan):
			return size, errLogPlan
		case bytes.Equal(text, batchLine):
			begun = true
		case number > 0:
			var s Submission
			if err := json.Unmarshal(body, &s); err != nil {
				return size, fmt.Errorf("serve: line %d: %w", number+1, err)
			}
			if err := each(s); err != nil {
				return size, fmt.Errorf("serve: line %d: %w", number+1, err)
			}
		}
		size += int64(len(text))
	}
}

// batchFollows reads the remaining log and reports whether a batch begins in it.
func batchFollows(r *bufio.Reader) (bool, error) {
	for {
		text, err := r.ReadBytes('\n')
		if bytes.HasSuffix(text, batchLine) { // after zeros without an end of line
			return true, nil
		}
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// append writes a batch of lines. It returns when they are on disk.
func (l *messageLog) append(lines [][]byte) error {
	if err := l.Append(slices.Concat(append([][]byte{batchLine}, lines...)...), nil); err != nil {
		return fmt.Errorf("serve: the log could not be written: %w", err)
	}
	return nil
}

func (l *messageLog) close() error {
	var err error
	if l.Log != nil {
		err = l.Close()
	}
	return errors.Join(err, l.lock.Unlock())
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// line returns a body with its checksum as one line.
func line(body []byte) []byte {
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(body, castagnoli), body)
}

func unline(text []byte) (body []byte, ok bool) {
	if len(text) < 10 || text[8] != ' ' {
		return nil, false
	}
	body = bytes.TrimSuffix(text[9:], []byte{'\n'})
	return body, bytes.Equal(line(body), text)
}
