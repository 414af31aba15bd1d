package durable

import (
	"errors"
	"fmt"
	"syscall"
)

// ErrNoLocks is wrapped by an error that occurs because a file system cannot lock files between processes.
var ErrNoLocks = errors.New("this file system refuses locks; keep the file on a local disk, or enable locks on the " +
	"file server")

// lockError returns an error that wraps ErrNoLocks if err, the error of locking a file, means that the file
// system has no locks. Otherwise it returns err. Some network folders grant locks, but only within each
// machine. They cannot be distinguished from folders that share locks.
func lockError(err error) error {
	if errors.Is(err, syscall.ENOLCK) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("%w (%w)", ErrNoLocks, err)
	}
	return err
}
