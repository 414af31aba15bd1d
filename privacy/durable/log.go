package durable

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"

	"dyad/internal/create"
)

// Log is a file that only grows, under a lock that its user holds: the lines of a ledger, the messages of a server.
// What Append returned nil for is on disk. A crash leaves a part of one Append behind it at most, which the next user
// recognises by what it wrote, and cuts off.
type Log struct {
	*os.File
	size   int64 // of what is whole
	broken error
}

// NewLog is the log in a file whose first size bytes are whole.
func NewLog(f *os.File, size int64) *Log { return &Log{File: f, size: size} }

// ErrUncertain is wrapped if a text that was not acknowledged may be in a log.
var ErrUncertain = errors.New("it may be written all the same")

// Append adds a text and syncs. If the sync fails the text must go: the kernel may have dropped its pages, so that a later
// read shows it and a power cut removes it. If it cannot be removed, the error wraps ErrUncertain, and so do all later
// ones. A file whose size another program changed is refused. written, if not nil, is called before the sync.
func (l *Log) Append(text []byte, written func()) error {
	if l.broken != nil {
		return l.broken
	}
	info, err := l.Stat()
	if err == nil && info.Size() != l.size {
		err = errors.New("the file changed although it is locked; stop programs that edit it")
	}
	if err != nil {
		return err
	}
	if _, err = l.WriteAt(text, l.size); err == nil {
		if written != nil {
			written()
		}
		err = l.Sync()
	}
	if err == nil {
		l.size += int64(len(text))
		return nil
	}
	if _, undo := l.Cut(); undo != nil {
		err = fmt.Errorf("%w: it could not be removed after %w: %w", ErrUncertain, err, undo)
		l.Break(err)
	}
	return err
}

// Cut removes what follows the whole part, syncs that part, and returns how many bytes it removed.
func (l *Log) Cut() (int64, error) {
	info, err := l.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size() - l.size, errors.Join(l.Truncate(l.size), l.Sync())
}

// Break lets every later Append fail.
func (l *Log) Break(err error) { l.broken = err }

const lockRetry = 5 * time.Millisecond

// Lock takes the lock of that name and waits so long for another process that has it. The lock file is
// made if need be. Each call opens it anew, so it also excludes other goroutines of this process. The error wraps
// ErrBusy if another process has it.
func Lock(name string, wait time.Duration) (*flock.Flock, error) {
	lock := create.Lock(name)
	for end := time.Now().Add(wait); ; time.Sleep(lockRetry) {
		switch ok, err := lock.TryLock(); {
		case err != nil:
			return nil, lockError(err)
		case ok:
			return lock, nil
		case !time.Now().Before(end):
			return nil, fmt.Errorf("%s: %w", name, ErrBusy)
		}
	}
}
