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

// messageLog is the durable list of accepted submissions: a header line that names the
// plan, then for each batch a line that begins it and one line for each submission, all
// "crc text". A batch is acknowledged when it is on disk, and the next one begins after
// that. One process holds the log at a time.
type messageLog struct {
	file *os.File
	lock *flock.Flock
	size int64 // of whole lines
	cut  int64 // bytes of an interrupted write that openLog removed
	// broken is the error after which the file's content is unknown.
	broken error
}

var (
	// ErrBusy: another process has the log open.
	ErrBusy    = errors.New("serve: another server uses this directory; stop it, or choose another one")
	errLogPlan = errors.New("serve: this directory holds messages of another protocol; choose another one, or start with the options of its first start")
)

// openLog opens or creates the log in dir for a plan and calls each for every
// submission. Damage in the last batch is what an interrupted write leaves, whose
// messages were not acknowledged: it is removed. Damage that a later batch follows is an
// error, because messages that were acknowledged would be lost.
func openLog(dir string, plan []byte, each func(Submission) error) (_ *messageLog, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	l := &messageLog{lock: create.Lock(filepath.Join(dir, "lock"))}
	if ok, err := l.lock.TryLock(); err != nil {
		return nil, fmt.Errorf("serve: locking %s: %w", dir, durable.LockError(err))
	} else if !ok {
		return nil, ErrBusy
	}
	defer func() {
		if err != nil {
			_ = l.close()
		}
	}()
	path := filepath.Join(dir, "messages.log")
	if l.file, err = create.Kept(path, create.Private); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	if err := l.replay(plan, each); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	info, err := l.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	l.cut = info.Size() - l.size
	if err := l.file.Truncate(l.size); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	if l.size == 0 {
		if err := l.write(line(plan)); err != nil {
			return nil, err
		}
		if err := durable.SyncDir(dir); err != nil {
			return nil, fmt.Errorf("serve: %w", err)
		}
	}
	return l, nil
}

// batchLine begins a batch. No submission has this text: they are JSON.
var batchLine = line([]byte("batch"))

func (l *messageLog) replay(plan []byte, each func(Submission) error) error {
	r := bufio.NewReaderSize(l.file, 1<<20)
	begun := false // a batch
	for number := 0; ; number++ {
		text, err := r.ReadBytes('\n')
		if err == io.EOF {
			return nil // nothing, or a line cut short
		}
		if err != nil {
			return err
		}
		body, ok := unline(text)
		switch {
		case !ok:
			if later, err := batchFollows(r); err != nil {
				return err
			} else if later || !begun {
				return fmt.Errorf("serve: line %d is damaged; restore the file from a copy", number+1)
			}
			return nil
		case number == 0 && !bytes.Equal(body, plan):
			return errLogPlan
		case bytes.Equal(text, batchLine):
			begun = true
		case number > 0:
			var s Submission
			if err := json.Unmarshal(body, &s); err != nil {
				return fmt.Errorf("serve: line %d: %w", number+1, err)
			}
			if err := each(s); err != nil {
				return fmt.Errorf("serve: line %d: %w", number+1, err)
			}
		}
		l.size += int64(len(text))
	}
}

// batchFollows reads the rest of a log and says whether a batch begins in it.
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

// append writes a batch of lines and returns when they are on disk. After an error nothing
// is known to be durable, and every later append fails.
func (l *messageLog) append(lines [][]byte) error {
	return l.write(slices.Concat(append([][]byte{batchLine}, lines...)...))
}

func (l *messageLog) write(text []byte) error {
	if l.broken != nil {
		return l.broken
	}
	_, err := l.file.WriteAt(text, l.size)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		// A part of the lines may be there: cut it off, so that it is not replayed as
		// accepted. If that fails too the log cannot be used any more.
		if again := errors.Join(l.file.Truncate(l.size), l.file.Sync()); again != nil {
			l.broken = fmt.Errorf("serve: the log could not be written or repaired: %w", errors.Join(err, again))
			return l.broken
		}
		return fmt.Errorf("serve: the log could not be written: %w", err)
	}
	l.size += int64(len(text))
	return nil
}

func (l *messageLog) close() error {
	var err error
	if l.file != nil {
		err = l.file.Close()
	}
	return errors.Join(err, l.lock.Unlock())
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// line is a body with its checksum, one line.
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
