//go:build linux

package command

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"dyad/internal/must"
)

// packChange is something that happens to a pack at a stage of a run that uses it.
type packChange struct {
	name, stage string
	change      func(t *testing.T, pack string)
	fine        bool // the run is released all the same
}

// overwrite writes into the features of a pack, in place.
func overwrite(t *testing.T, pack string) {
	t.Helper()
	f := must.Get(os.OpenFile(pack, os.O_WRONLY, 0))(t)
	defer f.Close()
	must.Get(f.WriteAt(bytes.Repeat([]byte{0x40}, 4096), 4096))(t)
}

// backdated overwrites and restores the time of modification, as some programs do that copy files.
func backdated(t *testing.T, pack string) {
	t.Helper()
	before := must.Get(os.Stat(pack))(t)
	overwrite(t, pack)
	must.Do(t, os.Chtimes(pack, time.Time{}, before.ModTime()))
}

// A pack that changes in place after it was opened ends the run, which is resumed at no further cost when the pack is as it was. A file
// that takes the pack's name changes nothing: the old one is still mapped.
func TestChangedPackIsNotReleased(t *testing.T) {
	for _, c := range []packChange{
		{name: "overwritten", stage: "bound", change: overwrite},
		{name: "overwritten, its time restored", stage: "bound", change: backdated},
		{name: "overwritten between opening and charge", stage: "opening ledger", change: overwrite},
		{name: "cut", stage: "bound", change: func(t *testing.T, pack string) {
			must.Do(t, os.Truncate(pack, 0))
		}},
		{name: "cut after the training", stage: "trained", change: func(t *testing.T, pack string) {
			must.Do(t, os.Truncate(pack, 4096))
		}},
		{name: "replaced", stage: "bound", fine: true, change: func(t *testing.T, pack string) {
			must.Do(t, os.WriteFile(pack+".new", []byte("another file"), 0o600))
			must.Do(t, os.Rename(pack+".new", pack))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.run(t)
		})
	}
}

// run trains on a pack that changes.
func (c packChange) run(t *testing.T) {
	f := newFixture(t)
	pack, out := f.in("in/p.dyadpack"), f.in("out/packed.json")
	f.dyad("data", "pack", f.in("in/patients.csv"), "--schema", f.in("in/patients.yaml"), "-o", pack).Want(t, "pack", exitOK, "")
	whole := must.Get(os.ReadFile(pack))(t)
	args := []string{"train", "--data", pack, "--schema", f.in("in/patients.yaml"), "--algorithm", "dpgdsc", "--out", out, "--ledger", f.in("ledger/packed.jsonl")}
	code, stdout, text := hooked(context.Background(), reach(c.stage, func() { c.change(t, pack) }), args...)
	if c.fine {
		if code != exitOK || !exists(out) {
			t.Errorf("exit %d: %s%s", code, stdout, text)
		}
		return
	}
	_, run, named := strings.Cut(text, "--resume ")
	if code != exitFailure || !named || exists(out) || strings.Contains(text, "cannot be stored in any folder") || strings.Contains(text, "please report") || !strings.Contains(text, "pack") {
		t.Fatalf("exit %d: %s%s", code, stdout, text)
	}
	run, _, _ = strings.Cut(run, " ")
	must.Do(t, os.WriteFile(pack, whole, 0o600))
	f.dyad(append(args, "--resume", run)...).Want(t, "the pack is as it was", exitOK, "")
	if !exists(out) {
		t.Error("the resumed run wrote no model")
	}
}
