package durable

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"dyad/internal/must"
)

// What systems answer where there are no locks is told from a lock that is held and from a folder that is read-only.
func TestLockError(t *testing.T) {
	for _, err := range []error{syscall.ENOLCK, &fs.PathError{Op: "flock", Path: "x", Err: syscall.ENOSYS}, syscall.EOPNOTSUPP, syscall.EINVAL} {
		if got := lockError(err); !errors.Is(got, ErrNoLocks) || !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
	for _, err := range []error{nil, syscall.EROFS, syscall.EACCES, syscall.EIO, ErrBusy} {
		must.Equal(t, lockError(err), err, "became")
	}
}
