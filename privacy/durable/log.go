package durable

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"

	"dyad/internal/create"
)

// Log is a file that only grows, such as the lines of a ledger or the messages of a server. The user of a Log
// holds a lock on it. When Append has returned nil, the text is on disk. A crash leaves at most a part of one
// appended text at the end of the file. The next user recognises this part by its content and cuts it off.
type Log struct {
	*os.File
	size   int64 // number of bytes of the whole texts
	broken error
}

// NewLog returns the log in the file f. The argument size is the number of bytes of the
// whole texts at the beginning of the file.
func NewLog(f *os.File, size int64) *Log { return &Log{File: f, size: size} }

// ErrUncertain is wrapped by the error of Append if a log may contain a text that Append did not acknowledge.
var ErrUncertain = errors.New("it may have been written nevertheless")

// Append adds a text and syncs the file. If the sync fails, Append removes the text, because the kernel may
// have dropped the pages of the text. A later read could then return the text although a power cut would
// remove it. If the text cannot be removed, this error and the errors of all later calls wrap ErrUncertain.
// Append returns an error if another program has changed the size of the file. If written is not nil,
// Append calls it before the sync.
func (l *Log) Append(text []byte, written func()) error {
	if l.broken != nil {
		return l.broken
	}
	info, err := l.Stat()
	if err == nil && info.Size() != l.size {
		err = errors.New("another program changed the file although it is locked; stop the other program")
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
		err = fmt.Errorf("%w: the write failed (%w), and its text could not be removed: %w", ErrUncertain, err, undo)
		l.Break(err)
	}
	return err
}

// Cut removes everything after the last whole text, syncs the file, and returns the number of bytes
// that it removed.
func (l *Log) Cut() (int64, error) {
	info, err := l.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size() - l.size, errors.Join(l.Truncate(l.size), l.Sync())
}

// Break makes every later Append return err.
func (l *Log) Break(err error) { l.broken = err }

const lockRetry = 5 * time.Millisecond

// Lock takes the lock with the given name. If another process holds the lock, Lock waits for at most the
// duration wait. Lock creates the lock file if it does not exist. Each call opens the lock file anew, so the
// lock also excludes other goroutines of this process. The error wraps ErrBusy if another process holds the
// lock.
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
