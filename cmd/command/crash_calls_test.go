//go:build linux && (amd64 || arm64)

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/crash"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/ledger"
)

// callFaults are what a broken disk, a full one and a network folder answer.
var callFaults = []struct{ calls, errno string }{
	{"fsync", "EIO"}, {"fsync", "ENOSPC"}, {"rename", "EIO"}, {"rename", "EROFS"}, {"rename", "ENOSPC"}, {"flock", "ENOLCK"}, {"chmod", "EIO"}, {"unlink", "EIO"},
}

// callStages are the stages of a private run from which system calls fail.
var callStages = []string{"opening ledger#1", "admitted#1", "line durable#1", "trained#1", "model written#1", "kept#1", "admitted#2", "line durable#2", "head renamed#2", "released#1", "model renamed#1"}

// callRuns are the runs that are attacked. Checkpoints are written after each step.
var callRuns = []string{"train", "checkpoints", "local simulate"}

// TestFailingCallsMatrix: whatever system calls fail from whichever stage on, a run is charged at most once, and if
// it was released its model is there, by its name or kept for --resume. The outcome is read from the ledger, and the exit code must agree with it.
// Ordinarily each stage of each kind of run has one of the faults, and each fault has its turn.
func TestFailingCallsMatrix(t *testing.T) {
	for r, run := range callRuns {
		for i, fault := range callFaults {
			for j, at := range callStages {
				if !sizes.Full() && i != (j+3*r)%len(callFaults) || testing.Short() && run != "train" {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s %s at %s", run, fault.calls, fault.errno, at), func(t *testing.T) {
					t.Parallel()
					f := newFixture(t)
					f.local = run == "local simulate"
					if run == "checkpoints" {
						f.extra = []string{"--algorithm", "gradient-perturbation", "--steps", "8", "--checkpoint-every", "1ns"}
					}
					e := f.start(t, crash.Spec{Args: f.train(), Stage: at, Fault: "calls", Calls: fault.calls, Errno: fault.errno}).End()
					if e.Code == 99 {
						t.Skipf("this machine has no seccomp filters: %s", e.Stderr)
					}
					f.checkAny(t, e)
				})
			}
		}
	}
}

// checkAny is check for the outcome that the ledger has.
func (f *fixture) checkAny(t testing.TB, e ended) {
	t.Helper()
	e.Want(t, "attacked run", e.Code, "")
	for _, folder := range []string{"out", "tmp", "ledger"} { // an empty file that could not be removed: the next command does
		left, _ := filepath.Glob(f.in(folder + "/.dyad-tmp-*"))
		for _, name := range left {
			if info, err := os.Stat(name); err == nil && info.Size() == 0 {
				_ = os.Remove(name)
			}
		}
	}
	run, charges, finished := f.attacked(t)
	named, _, kept := f.models(t, run, e.Stdout)
	want := done
	switch {
	case charges == 0:
		want = untouched
	case len(finished) == 0:
		want = pending
	case len(finished) == 1 && finished[0] == ledger.StatusReleased && named == 0:
		want = unnamed
	}
	if named+kept == 0 && len(finished) > 0 {
		t.Errorf("lost: run %s was released and its model is nowhere", run)
	}
	switch {
	case e.Code == exitOK && want != done, e.Code == exitInput && charges > 0, e.Code == exitElsewhere && want != unnamed && want != done,
		e.Code == exitFailure && want == unnamed, e.Code != exitOK && e.Code != exitFailure && e.Code != exitInput && e.Code != exitResource && e.Code != exitElsewhere:
		t.Errorf("exit code %d for: %s\n%s", e.Code, want, e.Stderr)
	}
	f.check(t, want, e)
}

// TestCompactFailingCallsMatrix: whatever fails while a ledger is compacted, it is whole, has the total of before, and goes on.
func TestCompactFailingCallsMatrix(t *testing.T) {
	for i, fault := range callFaults {
		for j, stage := range []string{"locked", "archive saved", "compact written", "both admitted", "compacted"} {
			if !sizes.Full() && (i+j)%5 > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s %s at %s", fault.calls, fault.errno, stage), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				path := f.in("ledger/ledger.jsonl")
				e := f.start(t, crash.Spec{Args: []string{"ledger", "compact", "--ledger", path}, Stage: stage, Fault: "calls", Calls: fault.calls, Errno: fault.errno}).End()
				if e.Code == 99 {
					t.Skipf("this machine has no seccomp filters: %s", e.Stderr)
				}
				if e.Code != exitOK && e.Code != exitResource {
					t.Errorf("exit %d: %s", e.Code, e.Stderr)
				}
				f.dyad("ledger", "verify", "--ledger", path).Want(t, "verify", exitOK, "is intact")
				show := f.dyad("ledger", "show", "--ledger", path)
				show.Want(t, "show", exitOK, "1 run,")
				if archived := strings.Contains(show.Stdout, "in the archive: 1 of the runs"); e.Code == exitOK && !archived {
					t.Errorf("exit 0 and nothing is archived: %s", show.Stdout)
				}
				f.dyad(f.train()...).Want(t, "train", exitOK, "charged to")
				f.dyad("ledger", "compact", "--ledger", path).Want(t, "again", exitOK, "totals are unchanged")
				f.dyad("ledger", "verify", "--ledger", path).Want(t, "verify again", exitOK, "is intact")
				l := must.Get(ledger.Open(path))(t)
				tmpl := must.Get(crashTemplate())(t)
				m := must.Get(readModel(f.in("out/model.json")))(t)
				if s, err := l.Summary(m.DataID, crashDelta); err != nil || s.Runs != 2 || s.Epsilon != tmpl.epsilon {
					t.Errorf("%v, %v; want 2 runs and epsilon %v", s, err, tmpl.epsilon)
				}
			})
		}
	}
}
