//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"dyad/internal/must"
)

// What somebody else put where a kept file may be is not opened: a read of a FIFO would wait
// for ever.
func TestOpenTakesRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must.Do(t, errors.Join(syscall.Mkfifo(in("fifo"), 0o600), os.WriteFile(in("file"), nil, 0o600), os.Symlink("file", in("link"))))
	for name, want := range map[string]error{"file": nil, "fifo": fs.ErrNotExist, "link": fs.ErrNotExist, "absent": fs.ErrNotExist} {
		f, err := Open(in(name))
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if err == nil {
			_ = f.Close()
		}
	}
}
