package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"dyad/internal/create"
)

// Document is a file that one process at a time owns and replaces whole, readable by its
// owner only: the state of a stream, the memory of a client.
type Document struct {
	name string
	lock *flock.Flock
}

// Own locks the document that path leads to (Resolve), by a file NAME.lock, until Close or the end of the process. The
// document need not exist. The error wraps ErrBusy if another process owns it.
func Own(path string) (*Document, error) {
	name, err := Resolve(path)
	if err != nil {
		return nil, err
	}
	lock, err := Lock(name+".lock", 0)
	return &Document{name, lock}, err
}

// Name is the name of the file.
func (d *Document) Name() string { return d.name }

// Replace replaces the file by text, durably: a crash leaves the old text or the new one. A
// symbolic link that took the name meanwhile is replaced and not followed. beforeRename is the argument of Write.
func (d *Document) Replace(text []byte, beforeRename func() error) error {
	return Write(d.name, true, true, beforeRename, Text(text))
}

// Alone fails if the file has another name than its own, or is not a regular file: Replace would
// leave the other name with the older text.
func (d *Document) Alone() error {
	info, err := os.Lstat(d.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; name a file", d.name)
	}
	n, err := links(d.name, info)
	if err == nil && n > 1 {
		err = fmt.Errorf("%s is one file with %d names (hard links); remove all but one", d.name, n)
	}
	return err
}

// Close gives the document to other processes.
func (d *Document) Close() error { return d.lock.Unlock() }

// Write writes, syncs and renames: a crash leaves name as it was or with all that fill wrote. A secret file is readable
// by its owner only; others get the permissions of the umask. Without replace it fails with an error wrapping
// fs.ErrExist if the name is taken. beforeRename, if not nil, is called when the content is on disk under another name;
// if it fails, name stays as it was.
func Write(name string, secret, replace bool, beforeRename func() error, fill func(io.Writer) error) error {
	f, err := Create(filepath.Dir(name), TempPrefix, "")
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	err = fill(f)
	if err == nil && !secret {
		mode, err = SharedMode(filepath.Dir(name))
	}
	if err = errors.Join(err, f.Sync()); err == nil {
		if beforeRename != nil {
			err = beforeRename()
		}
	}
	if err == nil {
		var renamed bool
		if renamed, err = f.Publish(name, mode, replace); renamed {
			return err
		}
	}
	f.Remove()
	return err
}

// Text is a fill of Write.
func Text(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

// ErrTooLong is wrapped for a file that is longer than its kind can be.
var ErrTooLong = errors.New("it is too long")

// Read returns the content of a regular file of at most limit bytes, and reads no other: a device or a data file that
// is named by mistake would fill the memory. A link that has the name is not followed: see Resolve.
func Read(name string, limit int64) ([]byte, error) {
	f, err := create.Open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if size <= limit {
		text, err := io.ReadAll(io.LimitReader(f, limit+1)) // it may grow
		if size = int64(len(text)); err != nil || size <= limit {
			return text, err
		}
	}
	return nil, fmt.Errorf("%s has %d bytes, at most %d are read: %w", name, size, limit, ErrTooLong)
}

// SweepTemporary removes what killed programs left in dir of files that they were writing.
func SweepTemporary(dir string) {
	Sweep(dir, func(name string) bool { return strings.HasPrefix(name, TempPrefix) })
}
