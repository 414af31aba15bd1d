//go:build unix

package command

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dyad/internal/crash"
	"dyad/internal/tasks"
)

// A failure of the program itself, in any goroutine, is exit code 1, never 2, names a run that is charged
// and tells no value.
func TestPanicIsAFailure(t *testing.T) {
	f := newFixture(t)
	panics := func(at string) (e ended) {
		e.Code, e.Stdout, e.Stderr = hooked(context.Background(), reach(at, func() {
			var worker tasks.Group
			secret := []int{48213}
			worker.Go(func() { secret[secret[0]]++ })
			worker.Wait()
		}), f.train()...)
		return e
	}
	for _, at := range []string{"opening ledger", "training"} {
		e := panics(at)
		run, charges, _ := f.attacked(t)
		if e.Code != exitFailure || !strings.Contains(e.Stderr, "internal error") || !strings.Contains(e.Stderr, "panic_test.go:") || strings.Contains(e.Stderr, "48213") || charges == 1 != strings.Contains(e.Stderr, "--resume ") || charges == 1 != (at == "training") {
			t.Errorf("at %q: exit %d, %d charges: %s", at, e.Code, charges, e.Stderr)
		}
		if charges == 1 {
			f.dyad(f.train("--resume", run)...).Want(t, "resume", exitOK, "run "+run)
		}
	}
}

// The second interrupt ends at once what does not look at the first one.
func TestSecondInterruptKills(t *testing.T) {
	f := newFixture(t)
	fifo := filepath.Join(t.TempDir(), "data.csv")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	child := f.start(t, crash.Spec{Args: []string{"data", "inspect", fifo, "--schema", f.in("in/patients.yaml")}, Bare: true})
	done := make(chan ended, 1)
	go func() { done <- child.End() }()
	for { // the child has a minute
		select {
		case e := <-done:
			status, ok := child.ProcessState.Sys().(syscall.WaitStatus)
			if !ok || !status.Signaled() || status.Signal() != os.Interrupt {
				t.Errorf("it ended with %v: %s", child.ProcessState, e.Stderr)
			}
			return
		case <-time.After(5 * time.Millisecond): // an interrupt alone ends it later, after grace
			_ = child.Process.Signal(os.Interrupt)
		}
	}
}
