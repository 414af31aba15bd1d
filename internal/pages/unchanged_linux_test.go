package pages

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"dyad/internal/must"
)

// A mapping tells that its file was written to or cut, also with the old time of modification, and not that another file took its name
// or that it has none. The first look is at the file as it was before it was mapped.
func TestUnchanged(t *testing.T) {
	write := func(name string) error {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteAt([]byte("x"), 100)
		return err
	}
	for what, c := range map[string]struct {
		change  func(name string) error
		changed bool
	}{
		"nothing": {func(string) error { return nil }, false},
		"written": {write, true},
		"written with its time": {func(name string) error {
			info, err := os.Stat(name)
			return errors.Join(err, write(name), os.Chtimes(name, time.Time{}, info.ModTime()))
		}, true},
		"longer":  {func(name string) error { return os.Truncate(name, 9000) }, true},
		"cut":     {func(name string) error { return os.Truncate(name, 10) }, true},
		"removed": {os.Remove, false},
		"replaced": {func(name string) error {
			return errors.Join(os.WriteFile(name+"2", []byte("other"), 0o600), os.Rename(name+"2", name))
		}, false},
	} {
		name := filepath.Join(t.TempDir(), "data")
		must.Do(t, os.WriteFile(name, make([]byte, 8192), 0o600))
		time.Sleep(20 * time.Millisecond) // times of files are as fine as the clock of the kernel
		f := must.Get(os.Open(name))(t)
		m, err := File(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		must.Do(t, c.change(name))
		if err := m.Unchanged(); errors.Is(err, ErrChanged) != c.changed || err != nil && !c.changed {
			t.Errorf("%s: %v, want changed = %v", what, err, c.changed)
		}
	}
}
