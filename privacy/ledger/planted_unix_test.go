//go:build unix

package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/durable"
)

// Somebody who may write to the folder of a ledger puts links to a file of another user where the ledger makes
// its own: the names of earlier versions, and every name that a ledger has by design. No link is followed.
func TestPlantedLinksAreNotFollowed(t *testing.T) {
	for _, planted := range []string{"led.new", "led.head.new", "led.compact", "led.lock", "led.head", "led.archive-1-0.new"} {
		t.Run(planted, func(t *testing.T) {
			dir := t.TempDir()
			victim := filepath.Join(dir, "victim")
			must.Do(t, os.WriteFile(victim, []byte("keep"), 0o600))
			work, absent := filepath.Join(dir, "work"), filepath.Join(dir, "absent")
			for target, name := range map[string]string{victim: planted, absent: "led.run-a.lock"} {
				must.Do(t, errors.Join(os.MkdirAll(work, 0o700), os.Symlink(target, filepath.Join(work, name))))
			}
			l, err := Open(filepath.Join(work, "led"))
			if err == nil {
				err = l.SetCap("data", privacy.Budget{Epsilon: 1, Delta: 1e-5})
			}
			if err == nil {
				_, err = l.Verify()
			}
			// A lock and a head of somebody else are refused, the other names are free.
			must.Equal(t, planted == "led.lock" || planted == "led.head", err != nil, "%v", err)
			if err == nil {
				if r, err := l.LockRun("a"); err == nil {
					r.Unlock()
					t.Error("the count of a run is a link")
				}
			}
			must.Equal(t, string(must.Get(os.ReadFile(victim))(t)), "keep", "the other user's file")
			must.Err(os.Lstat(absent))(t, "a file was made where a link pointed")
			files, _ := os.ReadDir(work)
			for _, f := range files {
				if strings.HasPrefix(f.Name(), ".dyad") {
					t.Errorf("left: %s", f.Name())
				}
			}
		})
	}
}

// A device, a FIFO, a folder or a long data file that is named by mistake is refused before it is read, and no lock
// is made next to it.
func TestOnlyAFileOfTheLengthOfALedgerIsRead(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must.Do(t, errors.Join(os.WriteFile(in("long"), nil, 0o600), os.Truncate(in("long"), maxLedger+1), syscall.Mkfifo(in("fifo"), 0o600), os.Symlink("/dev/zero", in("zero"))))
	if l, err := Open(in("long")); !errors.Is(err, durable.ErrTooLong) || !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "dyad ledger compact") {
		t.Errorf("a file of %d bytes: %v, %v", maxLedger+1, l, err)
	}
	for _, name := range []string{in("fifo"), in("zero"), "/dev/null", dir} {
		if l, err := Open(name); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "name a file") {
			t.Errorf("%s: %v, %v", name, l, err)
		}
		must.Err(os.Lstat(name+lockSuffix))(t, "%s has a lock", name)
	}
	// An archive and a head are read with the same care.
	l := newTestLedger(t)
	must.Do(t, errors.Join(os.Remove(l.path+headSuffix), os.Symlink("/dev/zero", l.path+headSuffix)))
	must.Fail(l.Verify())(t, ErrUnavailable, "a head that is a device")
}
