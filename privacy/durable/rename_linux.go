package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNoReplace renames a file atomically, unless the new name is taken.
func renameNoReplace(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, errors.ErrUnsupported): // e.g. NFS
		return linkNoReplace(from, to)
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}
