//go:build unix

package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dyad/internal/must"
)

func TestResolve(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.Mkdir(in("real"), 0o700),
		os.WriteFile(in("real/file"), nil, 0o600),
		os.Symlink("real/file", in("relative")),
		os.Symlink(in("real/file"), in("absolute")),
		os.Symlink("relative", in("twice")),
		os.Symlink("real/absent", in("dangling")),
		os.Symlink("real", in("folder")),
		os.Symlink("../folder/absent", in("real/through")),
		os.Mkdir(in("real/deep"), 0o700),
		os.Symlink("real/deep", in("deep")),
		os.Symlink("loop", in("loop")),
		os.Symlink("nowhere/file", in("lost")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"real/file": "real/file", "relative": "real/file", "absolute": "real/file", "twice": "real/file", "folder/file": "real/file",
		"dangling": "real/absent", "folder/absent": "real/absent", "real/through": "real/absent", "new": "new", "real": "real",
		"deep/../file": "real/file", "deep/../new": "real/new",
	} {
		must.Equal(t, must.Get(Resolve(dir+"/"+name))(t), in(want), "%s leads to, want %s", name, want)
	}
	for _, name := range []string{"loop", "lost", "absent/file", "real/", "real/.", "real/.."} {
		if got, err := Resolve(dir + "/" + name); err == nil {
			t.Errorf("%s leads to %s", name, got)
		}
	}
	t.Chdir(in("real"))
	must.Equal(t, must.Get(Resolve("../relative"))(t), in("real/file"), "a relative name leads")
}

// Folders that cannot be synced are no error, and those that fail are one.
func TestSyncDir(t *testing.T) {
	must.CheckDo(t, SyncDir(t.TempDir()))
	must.FailDo(t, SyncDir(filepath.Join(t.TempDir(), "absent")), fs.ErrNotExist, "no folder")
	if d, err := os.Open("/proc/self"); err == nil { // a file system of Linux without fsync
		defer d.Close()
		if err := d.Sync(); !errors.Is(err, syscall.EINVAL) {
			t.Skipf("fsync of /proc: %v", err)
		}
		must.CheckDo(t, SyncDir("/proc/self"), "a folder that cannot be synced")
	}
	for err, tolerated := range map[error]bool{syscall.EINVAL: true, syscall.ENOSYS: true, syscall.EOPNOTSUPP: true, syscall.EIO: false, syscall.ENOSPC: false, syscall.EROFS: false} {
		must.Equal(t, unsyncable(&fs.PathError{Op: "sync", Path: "d", Err: err}), tolerated, "%v is tolerated", err)
	}
}

func TestPublish(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	mode := must.Get(SharedMode(dir))(t)
	make := func(text string) *File {
		f, err := Create(dir, TempPrefix, ".x")
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		must.Equal(t, must.Get(f.Stat())(t).Mode().Perm(), 0o600, "a temporary file has mode")
		return f
	}
	want := func(text string, mode fs.FileMode) {
		t.Helper()
		got, err := os.ReadFile(name)
		info, errStat := os.Stat(name)
		if err != nil || errStat != nil || string(got) != text || info.Mode().Perm() != mode {
			t.Errorf("%q of mode %v (%v, %v), want %q of mode %v", got, info.Mode(), err, errStat, text, mode)
		}
	}
	if renamed, err := make("one").Publish(name, 0o600, false); !renamed || err != nil {
		t.Fatal(renamed, err)
	}
	want("one", 0o600)
	f := make("two")
	if renamed, err := f.Publish(name, mode, false); renamed || !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name that is taken: %v, %v", renamed, err)
	}
	want("one", 0o600)
	if renamed, err := f.Publish(name, mode, true); !renamed || err != nil {
		t.Fatal(renamed, err)
	}
	want("two", mode)

	// Where there is no such rename: by links.
	f = make("three")
	must.FailDo(t, linkNoReplace(f.Name(), name), fs.ErrExist, "a name that is taken")
	want("two", mode)
	other := filepath.Join(dir, "other")
	must.CheckDo(t, linkNoReplace(f.Name(), other))
	must.Equal(t, string(must.Get(os.ReadFile(other))(t)), "three", "string text")
	must.FailDo(t, linkNoReplace(filepath.Join(dir, "absent"), filepath.Join(dir, "new")), fs.ErrNotExist, "no file")
	_ = f.Close()
	if left, _ := filepath.Glob(filepath.Join(dir, ".dyad-*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// Sweep removes what no program holds; what is published while it looks stays.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	living := must.Get(Create(dir, TempPrefix, ""))(t)
	dead := must.Get(Create(dir, TempPrefix, ""))(t)
	_ = dead.Close()
	must.Do(t, os.WriteFile(filepath.Join(dir, "other"), nil, 0o600))
	ours := func(name string) bool { return strings.HasPrefix(name, TempPrefix) }
	Sweep(dir, ours)
	for name, want := range map[string]bool{living.Name(): true, dead.Name(): false, filepath.Join(dir, "other"): true} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
	must.Fail(Open(living.Name()))(t, ErrBusy, "a file in use")
	asked := 0
	_ = living.Close()
	Sweep(dir, func(name string) bool { // what was stale is not any more when the lock is taken
		if ours(name) {
			asked++
		}
		return ours(name) && asked == 1
	})
	if _, err := os.Stat(living.Name()); err != nil || asked != 2 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}

// A file that Create returned is there and stays, whatever sweeps meanwhile.
func TestCreateWhileOthersSweep(t *testing.T) {
	dir := t.TempDir()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				Sweep(dir, func(string) bool { return true })
			}
		}
	}()
	for range 2000 {
		f := must.Get(Create(dir, TempPrefix, ""))(t)
		if !sameFile(f.File, f.Name()) {
			t.Fatal("the file was swept")
		}
		f.Remove()
	}
	close(stop)
	<-done
}

// A file gets its name after its content is on disk: if the sync fails, the name leads to what it led to before.
func TestWriteSyncsBeforeItRenames(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	must.Do(t, Write(name, true, true, nil, Text([]byte("before"))))
	renames := false
	err := Write(name, true, true, func() error { renames = true; return nil }, func(w io.Writer) error {
		_, err := w.Write([]byte("after"))
		return errors.Join(err, w.(*File).File.Close()) // so that the sync fails
	})
	if text, read := os.ReadFile(name); err == nil || renames || read != nil || string(text) != "before" {
		t.Errorf("a file that could not be synced: %v, renamed %v, now %q (%v)", err, renames, text, read)
	}
}
