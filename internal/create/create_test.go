//go:build unix

package create

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dyad/internal/must"
)

// What has the name already is neither followed nor changed, whatever it is.
func TestNothingPlantedIsFollowed(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must.Do(t, errors.Join(os.WriteFile(in("victim"), []byte("keep"), 0o600), os.Symlink("victim", in("link")), os.Symlink("absent", in("dangling")),
		syscall.Mkfifo(in("fifo"), 0o600), os.Mkdir(in("folder"), 0o700)))
	for _, name := range []string{"victim", "link", "dangling", "fifo", "folder"} {
		if f, err := New(in(name), Private); !errors.Is(err, fs.ErrExist) {
			t.Errorf("New %s: %v, %v", name, f, err)
		}
		if name == "victim" {
			continue
		}
		for what, open := range map[string]func() (*os.File, error){
			"Open": func() (*os.File, error) { return Open(in(name), os.O_RDWR) },
			"Kept": func() (*os.File, error) { return Kept(in(name), Private) },
		} {
			if f, err := open(); !errors.Is(err, ErrIrregular) {
				t.Errorf("%s %s: %v, %v", what, name, f, err)
			}
		}
	}
	for _, name := range []string{"link", "dangling"} {
		if ok, err := Lock(in(name)).TryLock(); ok || err == nil {
			t.Errorf("the lock %s is a link: %v, %v", name, ok, err)
		}
		if ok, err := LockOf(in(name)).TryLock(); ok || err == nil {
			t.Errorf("the lock of %s is that of its target: %v, %v", name, ok, err)
		}
	}
	if text, err := os.ReadFile(in("victim")); err != nil || string(text) != "keep" {
		t.Errorf("the victim has %q, %v", text, err)
	}
	must.Err(os.Lstat(in("absent")))(t, "a file was made through a link")
}

// Files that are made are there, empty and private.
func TestFilesAreMade(t *testing.T) {
	dir := t.TempDir()
	for what, open := range map[string]func() (*os.File, error){
		"new":       func() (*os.File, error) { return New(filepath.Join(dir, "new"), Private) },
		"kept":      func() (*os.File, error) { return Kept(filepath.Join(dir, "kept"), Private) },
		"temporary": func() (*os.File, error) { return Temporary(dir, "temporary-", ".x", Private) },
	} {
		f := must.Get(open())(t, what)
		if info, err := f.Stat(); err != nil || info.Mode().Perm() != Private || info.Size() != 0 || !strings.HasPrefix(info.Name(), what) {
			t.Errorf("%s: %v, %v", what, info, err)
		}
		must.Check(f.WriteString("text"))(t, what)
		must.CheckDo(t, f.Close(), what)
	}
	f := must.Get(Kept(filepath.Join(dir, "kept"), Private))(t)
	text := make([]byte, 4)
	if _, err := f.ReadAt(text, 0); err != nil || string(text) != "text" {
		t.Errorf("what is kept has %q, %v", text, err)
	}
	must.CheckDo(t, f.Close())
	lock := Lock(filepath.Join(dir, "lock"))
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if ok, err := Lock(filepath.Join(dir, "lock")).TryLock(); ok || err != nil {
		t.Error("a lock is held twice", err)
	}
}
