// Package durable writes files that are whole or absent after a crash. Other users cannot read a file before
// it has its final name and mode.
//
// Create makes a file under a temporary name, readable by its owner only. The program writes and syncs the
// file, and Publish renames it to its final name. A temporary file is locked while its program runs, so that
// Sweep can recognise the files of dead programs.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/gofrs/flock"

	"dyad/internal/create"
)

// maxLinks is the largest number of symbolic links that Resolve follows, as in Linux.
const maxLinks = 40

// Resolve returns the absolute name of the file that path leads to. It follows all symbolic links, including
// the last one if its target does not exist yet. So all names of a file lead to one lock, and a rename
// replaces the file and never a link to the file. The folder must exist. Resolve does not clean a path before
// it has resolved the links of the path: in "link/../file", ".." is the folder above the target of the link.
func Resolve(path string) (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for range maxLinks {
		if !filepath.IsAbs(path) {
			path = folder + string(filepath.Separator) + path
		}
		var last string
		folder, last = filepath.Split(path)
		if last == "" || last == "." || last == ".." {
			return "", errors.New("is a directory; name a file")
		}
		if folder, err = filepath.EvalSymlinks(folder); err != nil {
			return "", fmt.Errorf("this folder cannot be used; create it first (%w)", err)
		}
		name := filepath.Join(folder, last)
		info, err := os.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return name, nil
		case err != nil || info.Mode()&fs.ModeSymlink == 0:
			return name, err
		}
		if path, err = os.Readlink(name); err != nil {
			return "", err
		}
	}
	return "", errors.New("too many symbolic links")
}

// SyncDir makes renames in a folder durable. Some file systems cannot sync folders (EINVAL, ENOSYS,
// EOPNOTSUPP of some FUSE, SMB and 9p servers, and Windows). On these systems SyncDir succeeds, and a rename
// is as durable as the file system makes it.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if unsyncable(err) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// unsyncable reports whether the error means that a file system cannot sync folders. ENOSYS and EOPNOTSUPP
// are errors.ErrUnsupported. EINVAL is not an error of package errors.
func unsyncable(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported)
}

// File is an open and locked file under a temporary name.
type File struct {
	*os.File
	lock *flock.Flock // nil on file systems without locks
}

// Create makes a file of mode 0600 in dir. Its name is prefix, random letters and suffix. The file is locked
// until Publish, Close or Remove, or the end of the program.
func Create(dir, prefix, suffix string) (*File, error) {
	for {
		file, err := create.Temporary(dir, prefix, suffix, create.Private)
		if err != nil {
			return nil, err
		}
		f := &File{File: file, lock: create.LockOf(file.Name())}
		switch ok, err := f.lock.TryLock(); {
		case err != nil && sameFile(f.File, f.Name()): // without locks on this file system, Sweep removes no files
			f.lock = nil
			return f, nil
		case ok && sameFile(f.File, f.Name()):
			return f, nil
		}
		f.Remove() // Sweep ran between the two calls
	}
}

func sameFile(f *os.File, name string) bool {
	is, err := f.Stat()
	at, errAt := os.Lstat(name)
	return err == nil && errAt == nil && os.SameFile(is, at)
}

// Open opens an existing file and locks it. It does not wait: if the program that wrote the file is running,
// the error wraps ErrBusy. Open treats anything but a regular file as absent, because reading a FIFO would
// wait for ever, and anyone who may write to the folder can make a FIFO.
func Open(name string) (*File, error) {
	file, err := create.Open(name, os.O_RDWR)
	if errors.Is(err, create.ErrIrregular) {
		err = fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	f := &File{File: file, lock: create.LockOf(name)}
	switch ok, err := f.lock.TryLock(); {
	case err != nil:
		_ = f.Close()
		return nil, lockError(err)
	case !ok:
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", name, ErrBusy)
	case !sameFile(f.File, name):
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return f, nil
}

// Keep opens and locks a file as Open does, but creates the file if it does not exist, readable by its owner
// only. The locked file is the one that has the name, even if another process sweeps in the meantime.
func Keep(name string) (*File, error) {
	for {
		made, err := create.Kept(name, create.Private)
		if err != nil {
			return nil, err
		}
		_ = made.Close()
		if f, err := Open(name); !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
}

// ErrBusy is wrapped by the error if another process holds the lock of a file.
var ErrBusy = errors.New("it is in use by another process")

// Close closes the file and releases the lock. It does not remove the file.
func (f *File) Close() error {
	err := f.File.Close()
	if f.lock != nil {
		_ = f.lock.Close()
	}
	return err
}

// Remove removes the file.
func (f *File) Remove() {
	_ = os.Remove(f.Name())
	_ = f.Close()
}

// SharedMode returns the mode of a new file in dir for all users who may read new files there: 0666 less the
// umask. To determine the mode, SharedMode creates and removes an empty file.
func SharedMode(dir string) (fs.FileMode, error) {
	probe, err := create.Temporary(dir, TempPrefix, "", 0o666)
	if err != nil {
		return 0, err
	}
	info, err := probe.Stat()
	// If the file cannot be removed here, Sweep removes it later; it is empty.
	_, _ = probe.Close(), os.Remove(probe.Name())
	if err != nil {
		return 0, err
	}
	return info.Mode().Perm(), nil
}

// TempPrefix is the prefix of the names of temporary files that may be deleted.
const TempPrefix = ".dyad-tmp-"

// Publish renames a synced file to path and then sets its mode. This order ensures that other users can never
// read the file under its temporary name. If replace is false and the name is taken, the error wraps
// fs.ErrExist. After this error and any other error of the rename, the file keeps its temporary name. If
// renamed is true, the file has its new name, and an error concerns its mode or the durability of the name.
//
// Publish closes the file if the rename succeeds. Otherwise the file stays open and locked. On Windows,
// Publish closes the file before the rename.
func (f *File) Publish(path string, mode fs.FileMode, replace bool) (renamed bool, err error) {
	if runtime.GOOS == "windows" { // Windows cannot rename an open file
		_ = f.Close()
	}
	if replace {
		err = os.Rename(f.Name(), path)
	} else {
		err = renameNoReplace(f.Name(), path)
	}
	if err != nil || runtime.GOOS == "windows" {
		return err == nil, err
	}
	if mode != create.Private {
		err = f.Chmod(mode)
	}
	return true, errors.Join(err, f.Close(), SyncDir(filepath.Dir(path)))
}

// linkNoReplace renames a file without replacing an existing file, on file systems with hard links. A crash
// between its two steps leaves both names. Without hard links, linkNoReplace checks that the name is free and
// then renames. It does not notice a file that is made between the check and the rename.
func linkNoReplace(from, to string) error {
	switch err := os.Link(from, to); {
	case err == nil:
		return os.Remove(from)
	case errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist):
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	}
	return os.Rename(from, to)
}

// Sweep removes those files of dir for which stale returns true and which no running program has locked. If
// files cannot be locked, Sweep removes none.
func Sweep(dir string, stale func(name string) bool) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, file := range files {
		if !file.Type().IsRegular() || !stale(file.Name()) {
			continue
		}
		if f, err := Open(filepath.Join(dir, file.Name())); err == nil {
			if stale(file.Name()) { // the answer may have changed before the lock
				_ = os.Remove(f.Name())
			}
			_ = f.Close()
		}
	}
}
