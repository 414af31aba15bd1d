package durable

import (
	"errors"
	"fmt"
	"syscall"
)

// ErrNoLocks is wrapped where a file system does not lock files between processes.
var ErrNoLocks = errors.New("this file system refuses locks between programs, as some network folders do; keep the file on a local disk, or have the server of the folder allow locks")

// lockError says of an error of locking a file whether its file system has no locks at all. A network folder that grants
// locks and keeps them on each machine by itself cannot be told from one that shares them.
func lockError(err error) error {
	if errors.Is(err, syscall.ENOLCK) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("%w (%w)", ErrNoLocks, err)
	}
	return err
}
