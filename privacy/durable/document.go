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

// Document is a file that only its owner can read. One process at a time owns it and replaces it as a whole.
// Examples are the state of a stream and the memory of a client.
type Document struct {
	name string
	lock *flock.Flock
}

// Own locks the document that path leads to (see Resolve) until Close or the end of the process. The lock
// file is NAME.lock. The document need not exist. The error wraps ErrBusy if another process owns the
// document.
func Own(path string) (*Document, error) {
	name, err := Resolve(path)
	if err != nil {
		return nil, err
	}
	lock, err := Lock(name+".lock", 0)
	return &Document{name, lock}, err
}

// Name returns the name of the file.
func (d *Document) Name() string { return d.name }

// Replace replaces the content of the file by text, durably: after a crash the file has the old text or the
// new text. If a symbolic link has taken the name in the meantime, Replace replaces the link and does not
// follow it. The argument beforeRename is passed to Write.
func (d *Document) Replace(text []byte, beforeRename func() error) error {
	return Write(d.name, true, true, beforeRename, Text(text))
}

// Alone returns an error if the file has more than one name (hard links), or is not a regular file. Replace
// gives the new text to one name only, so the other names would keep the older text.
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
		err = fmt.Errorf("the file %s has %d names (hard links); keep one name and remove the other names", d.name, n)
	}
	return err
}

// Close releases the lock, so that other processes can own the document.
func (d *Document) Close() error { return d.lock.Unlock() }

// Write creates a temporary file with the content that fill writes, syncs it, and renames it to name. After a
// crash, name is unchanged or has the whole content. A secret file is readable by its owner only. For other
// files, the umask decides the permissions. If replace is false and the name is taken, the error wraps
// fs.ErrExist. If beforeRename is not nil, Write calls it when the content is on disk under the temporary
// name. If beforeRename returns an error, name is unchanged.
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

// Text returns a function that writes text. Write accepts this function as the argument fill.
func Text(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

// ErrTooLong is wrapped by the error for a file that is longer than the limit of its kind.
var ErrTooLong = errors.New("it is too long")

// Read returns the content of a regular file of at most limit bytes. It refuses all other files, because a
// device or a large file could fill the memory if the user names it by mistake. If name is a symbolic link,
// Read does not follow the link; see Resolve.
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
		text, err := io.ReadAll(io.LimitReader(f, limit+1)) // the file may grow meanwhile
		if size = int64(len(text)); err != nil || size <= limit {
			return text, err
		}
	}
	return nil, fmt.Errorf("%s has %d bytes, but may have at most %d: %w", name, size, limit, ErrTooLong)
}

// SweepTemporary removes the temporary files of killed programs from dir.
func SweepTemporary(dir string) {
	Sweep(dir, func(name string) bool { return strings.HasPrefix(name, TempPrefix) })
}
