// Package create holds the only calls of this module that open a file to create it, and all its locks.
//
// Anyone who may write to a folder can put a link in the place of a new file. So a new file is created with
// O_EXCL and O_NOFOLLOW: an existing file of the same name is not opened or changed, and a link of this name is
// not followed. A file that stays between runs, and the file of a lock, are opened with O_NOFOLLOW. Callers
// first resolve the links in a name that a user gave (durable.Resolve).
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

// New creates a file and opens it for reading and writing. The umask applies to mode. The error wraps
// fs.ErrExist if the name is taken, even by a link to a missing file.
func New(name string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|noFollow, mode)
}

// Temporary creates a file in dir as New does. The name of the file consists of prefix, ten random letters and suffix.
func Temporary(dir, prefix, suffix string, mode fs.FileMode) (*os.File, error) {
	for {
		f, err := New(filepath.Join(dir, prefix+rand.Text()[:10]+suffix), mode)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// ErrIrregular is wrapped by the errors of Open for a link, a folder or a device.
var ErrIrregular = errors.New("it is not a regular file")

// Open opens an existing regular file with a flag of package os. If the name is a symbolic link, Open
// does not follow the link.
func Open(name string, flag int) (*os.File, error) {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() { // opening a FIFO would block
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

// Kept opens a file for reading and writing as Open does. If the file does not exist, Kept creates it as New does.
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

// Lock returns the lock of the file with this name. Taking the lock creates the file, empty, if it does not exist.
func Lock(name string) *flock.Flock {
	return flock.New(name, flock.SetFlag(os.O_RDONLY|os.O_CREATE|noFollow), flock.SetPermissions(Private))
}

// LockOf returns the lock of an existing file.
func LockOf(name string) *flock.Flock {
	return flock.New(name, flock.SetFlag(os.O_RDWR|noFollow))
}
