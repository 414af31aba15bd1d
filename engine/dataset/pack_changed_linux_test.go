package dataset

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"testing"

	"dyad/engine/dataset/source"
	"dyad/internal/must"
)

// A program that has had a pack mapped for writing since before it was opened changes it and leaves its times as they are: the hashes
// tell. Records in memory do not change.
func TestPackChangedThroughAMapping(t *testing.T) {
	for _, inMemory := range []bool{false, true} {
		name, _ := packFile(t, storeFile(t, 1000), storeSchema(t, "", RoleIgnore))
		f := must.Get(os.OpenFile(name, os.O_RDWR, 0))(t)
		defer f.Close()
		b := must.Get(syscall.Mmap(int(f.Fd()), 0, 2*packPage, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED))(t)
		defer func() { _ = syscall.Munmap(b) }()
		b[packPage]++ // the page is dirty from here on: its next write is no fault, and sets no time
		runtime.Gosched()
		b[packPage]--
		d := must.Get(Load(name, storeSchema(t, "", RoleIgnore), Options{InMemory: inMemory}))(t)
		must.CheckDo(t, d.Pack.Unchanged(), "nothing was changed")
		b[packPage]++
		if err := d.Pack.Unchanged(); errors.Is(err, source.ErrChanged) == inMemory {
			t.Errorf("in memory %v: %v", inMemory, err)
		}
	}
}
