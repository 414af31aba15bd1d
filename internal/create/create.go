// Package create holds the only opens of this module that make a file, and all its locks.
//
// Somebody who may write to a folder can put a link where a file is going to be made. So a new file is made
// with O_EXCL and O_NOFOLLOW: whatever has the name is neither followed, opened nor changed. A file that stays
// between runs, and the file of a lock, are opened with O_NOFOLLOW. Callers resolve the links that a user named
// first (durable.Resolve).
package create

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// Private is the mode of a file that its owner alone may read.
const Private fs.FileMode = 0o600

// New makes a file for reading and writing, with a mode less the umask. The error wraps fs.ErrExist if
// anything has the name, a link to nowhere too.
func New(name string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|noFollow, mode)
}

// Temporary makes a file as New does, in dir, named prefix, ten random letters and suffix.
func Temporary(dir, prefix, suffix string, mode fs.FileMode) (*os.File, error) {
	for {
		f, err := New(filepath.Join(dir, prefix+rand.Text()[:10]+suffix), mode)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// ErrIrregular is wrapped by Open for a link, a folder and a device.
var ErrIrregular = errors.New("it is not a regular file")

// Open opens a regular file that is there, with a flag of package os, and does not follow a link that has its name.
func Open(name string, flag int) (*os.File, error) {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() { // to open a FIFO would wait
		return nil, fmt.Errorf("%s: %w", name, ErrIrregular)
	}
	f, err := os.OpenFile(name, flag&^(os.O_CREATE|os.O_TRUNC)|noFollow, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, ErrIrregular), err, f.Close())
	}
	return f, nil
}

// Kept opens a file for reading and writing, as Open does, or makes it, as New does.
func Kept(name string, mode fs.FileMode) (*os.File, error) {
	for {
		f, err := Open(name, os.O_RDWR)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		if f, err = New(name, mode); !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// Lock is the lock of a file of that name, which is made, empty, when the lock is taken.
func Lock(name string) *flock.Flock {
	return flock.New(name, flock.SetFlag(os.O_RDONLY|os.O_CREATE|noFollow), flock.SetPermissions(Private))
}

// LockOf is the lock of a file that is there.
func LockOf(name string) *flock.Flock {
	return flock.New(name, flock.SetFlag(os.O_RDWR|noFollow))
}
