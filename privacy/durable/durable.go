// Package durable writes files that a crash leaves whole or absent, and that nobody else
// can read before they are meant to be read.
//
// A file is written under a temporary name (Create), readable by its owner only, synced,
// and gets its name by a rename (Publish). A temporary file is locked while its program
// lives, so that Sweep can tell what a dead one left.
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

// maxLinks is how many symbolic links Resolve follows, as Linux does.
const maxLinks = 40

// Resolve returns the absolute name of the file that path leads to. Symbolic links are
// followed, also the last one if its target does not exist yet. So every name of a file
// gives one lock, and a rename replaces the file and never a link to it. The folder must
// exist. No path is cleaned before its links are resolved: in "link/../file", ".." is the
// folder above what the link names.
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

// SyncDir makes renames in a folder durable. Where a folder cannot be synced (EINVAL,
// ENOSYS, EOPNOTSUPP of some FUSE, SMB and 9p servers, and Windows) a rename is as durable
// as that file system makes it, and SyncDir succeeds.
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

// unsyncable reports whether a file system cannot sync folders. ENOSYS and EOPNOTSUPP are
// errors.ErrUnsupported; EINVAL is not an error of package errors.
func unsyncable(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported)
}

// File is a file under a temporary name.
type File struct {
	*os.File
	lock *flock.Flock // nil where there are no locks
}

// Create makes a file of mode 0600 in dir, named prefix, random letters and suffix, and
// locks it until Publish, Close or Remove, or the end of the program.
func Create(dir, prefix, suffix string) (*File, error) {
	for {
		file, err := create.Temporary(dir, prefix, suffix, create.Private)
		if err != nil {
			return nil, err
		}
		f := &File{File: file, lock: create.LockOf(file.Name())}
		switch ok, err := f.lock.TryLock(); {
		case err != nil && sameFile(f.File, f.Name()): // no locks here: nobody can sweep here either
			f.lock = nil
			return f, nil
		case ok && sameFile(f.File, f.Name()):
			return f, nil
		}
		f.Remove() // Sweep was between the two calls
	}
}

func sameFile(f *os.File, name string) bool {
	is, err := f.Stat()
	at, errAt := os.Lstat(name)
	return err == nil && errAt == nil && os.SameFile(is, at)
}

// Open opens an existing file and locks it. It fails with ErrBusy if the program that
// wrote it is alive, and without reason to wait. It treats anything but a regular file as
// absent: reading a FIFO would wait for ever, and anyone who may write to the folder can
// make one.
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

// Keep is Open of a file that is made if need be, readable by its owner only. It locks the file that has the name,
// even if another process sweeps meanwhile.
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

// ErrBusy is wrapped if another process holds the lock of a file.
var ErrBusy = errors.New("it is in use by another process")

// Close closes the file and gives up the lock. The file stays.
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

// SharedMode is the mode of a new file in dir that everybody may read who may read new
// files there: 0666 less the umask. An empty file is made and removed to find it.
func SharedMode(dir string) (fs.FileMode, error) {
	probe, err := create.Temporary(dir, TempPrefix, "", 0o666)
	if err != nil {
		return 0, err
	}
	info, err := probe.Stat()
	// What cannot be removed is empty; Sweep removes it.
	_, _ = probe.Close(), os.Remove(probe.Name())
	if err != nil {
		return 0, err
	}
	return info.Mode().Perm(), nil
}

// TempPrefix begins the names of temporary files that nobody misses.
const TempPrefix = ".dyad-tmp-"

// Publish gives a synced file its name, and then the mode, in that order: under a
// temporary name it never is readable by others. Without replace it fails with an error
// wrapping fs.ErrExist if the name is taken, and the file keeps its temporary name. After
// any other error of the rename it keeps it as well. If renamed is true, the file has its
// name, and an error concerns its mode or the durability of the name.
//
// The file is closed if it has its name, and stays open and locked if not.
func (f *File) Publish(path string, mode fs.FileMode, replace bool) (renamed bool, err error) {
	if runtime.GOOS == "windows" { // no rename of an open file
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

// linkNoReplace is a rename that replaces nothing, for file systems with hard links. A crash
// in between leaves both names. Where there are no links it looks and renames, and does
// not see what is made between the two.
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

// Sweep removes the files of dir for which stale says so and which no living program
// holds. Where files cannot be locked it removes none.
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
			if stale(file.Name()) { // it may have changed before the lock
				_ = os.Remove(f.Name())
			}
			_ = f.Close()
		}
	}
}
