//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A failure of the program itself is exit code 1, never 2, and names a run that is charged.
func TestPanicIsAFailure(t *testing.T) {
	f := newFixture(t)
	panics := func(at string) ended {
		var out, errs bytes.Buffer
		code := runHooked(context.Background(), f.train(), strings.NewReader(""), &out, &errs, hooks{stage: func(stage string) {
			if stage == at {
				panic("out of range")
			}
		}})
		return ended{code, out.String(), errs.String()}
	}
	for _, at := range []string{"opening ledger", "training"} {
		e := panics(at)
		run, charges, _ := f.attacked(t)
		if e.code != exitFailure || !strings.Contains(e.stderr, "internal error") || charges == 1 != strings.Contains(e.stderr, "--resume ") || charges == 1 != (at == "training") {
			t.Errorf("at %q: exit %d, %d charges: %s", at, e.code, charges, e.stderr)
		}
		if charges == 1 {
			f.dyad(f.train("--resume", run)...).want(t, "resume", exitOK, "run "+run)
		}
	}
}

// The second interrupt ends what does not look at the first one.
func TestSecondInterruptKills(t *testing.T) {
	f := newFixture(t)
	fifo := filepath.Join(t.TempDir(), "data.csv")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	child := f.start(t, childSpec{Args: []string{"data", "inspect", fifo, "--schema", f.in("in/patients.yaml")}, Main: true})
	done := make(chan ended, 1)
	go func() { done <- child.end() }()
	for range 100 {
		select {
		case e := <-done:
			status, ok := child.cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !ok || !status.Signaled() || status.Signal() != os.Interrupt {
				t.Errorf("it ended with %v: %s", child.cmd.ProcessState, e.stderr)
			}
			return
		case <-time.After(100 * time.Millisecond):
			_ = child.cmd.Process.Signal(os.Interrupt)
		}
	}
	t.Error("ten seconds of interrupts did not end it")
	_ = child.cmd.Process.Kill()
	<-done
}
