//go:build unix

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/crash"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/ledger"
)

// checkpointCell is an attack on a training that keeps a checkpoint after every step.
type checkpointCell struct {
	fault string
	stage string
	code  int
	want  outcome
	from  int // step after which the resumed run continues
	says  string
	short bool
}

// checkpointSteps is the number of steps of the attacked training, each with a release.
// Half of them are done at the stage "training".
const checkpointSteps = 20

var checkpointMatrix = []checkpointCell{
	{"kill -9", "bound#1", killed, pending, 0, "", false},
	{"kill -9", "checkpoint written#1", killed, pending, 0, "", true},
	{"kill -9", "checkpoint saved#1", killed, pending, 1, "", false},
	{"kill -9", "checkpoint written#7", killed, pending, 6, "", false},
	{"kill -9", "checkpoint saved#7", killed, pending, 7, "", true},
	{"kill -9", "training#1", killed, pending, 10, "", false},
	{"kill -9", "checkpoint saved#20", killed, pending, 20, "", false},
	{"kill -9", "trained#1", killed, pending, 20, "", false},
	{"kill -9", "admitted#2", killed, pending, 20, "", false},
	{"kill -9", "kept#1", killed, pending, 20, "", false},
	{"kill -9", "line durable#2", killed, unnamed, 0, "", false},
	{"kill -9", "released#1", killed, unnamed, 0, "", false},
	{"interrupt", "checkpoint saved#7", exitCancelled, pending, 7, resumeIt, false},
	{"interrupt", "training#1", exitCancelled, pending, 10, resumeIt, false},

	{"disk full", "checkpoint saved#7", exitResource, pending, 7, "no checkpoint was written after step 8", true},
	{"disk full", "checkpoint written#7", exitResource, pending, 7, "no checkpoint was written after step 8", false},
	{"disk full", "bound#1", exitResource, pending, 0, "no checkpoint was written after step 1", false},
	{"ledger folder read-only", "checkpoint saved#7", exitResource, pending, 7, "no checkpoint was written after step 8", false},
	{"ledger folder read-only", "checkpoint written#7", exitResource, pending, 6, "no checkpoint was written after step 7", false},

	{"same run", "checkpoint saved#7", exitInput, overtaken, 7, "was released on", true},
	{"same run", "training#1", exitInput, overtaken, 10, "was released on", false},
	{"other run", "checkpoint saved#7", exitOK, done, 0, "charged to", false},

	{"checkpoint cut short", "training#1", killed, pending, 0, "", true},
	{"checkpoint edited", "training#1", killed, pending, 0, "", false},
	{"checkpoint of another run", "training#1", killed, pending, 0, "", false},
	{"checkpoint of other records", "training#1", killed, pending, 10, "", false},
	{"checkpoint of another plan", "training#1", killed, pending, 10, "", false},
	{"checkpoint of before", "training#1", killed, pending, 3, "", false},
	{"checkpoint lost", "training#1", killed, pending, 0, "", false},
}

// checkpointed is the command line of the attacked training.
func (f *fixture) checkpointed(more ...string) []string {
	return f.train(append([]string{"--algorithm", "gradient-perturbation", "--steps", strconv.Itoa(checkpointSteps),
		"--checkpoint-every", "1ns", "--holdout", "0.2"}, more...)...)
}

// checkpoints are the names of all checkpoints.
func (f *fixture) checkpoints(t testing.TB) []string {
	t.Helper()
	return must.Get(filepath.Glob(f.in("ledger/*.checkpoint*")))(t)
}

func TestCheckpointCrashMatrix(t *testing.T) {
	for _, c := range checkpointMatrix {
		if !sizes.Full() && !c.short {
			continue
		}
		t.Run(c.fault+" at "+c.stage, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			e := f.attackCheckpoint(t, c)
			f.writable()
			e.Want(t, "attacked run", c.code, c.says)
			f.checkCheckpoint(t, c, e)
		})
	}
}

func (f *fixture) attackCheckpoint(t *testing.T, c checkpointCell) ended {
	t.Helper()
	spec := crash.Spec{Args: f.checkpointed(), Stage: c.stage}
	switch c.fault {
	case "other run":
		return f.start(t, spec.With("pause", "")).While(t, func() { f.otherRun(t, c.stage) })
	case "same run":
		return f.start(t, spec.With("pause", "")).While(t, func() {
			run, _, _ := f.attacked(t)
			e := f.start(t, crash.Spec{Args: f.checkpointed("--out", f.in("out/other.json"), "--resume", run)}).End()
			e.Want(t, "the second process", exitOK, fmt.Sprintf("run %s continued after step %d of %d", run, c.from,
				checkpointSteps))
		})
	}
	if strings.HasPrefix(c.fault, "checkpoint ") {
		return f.damageCheckpoint(t, c, spec)
	}
	return f.start(t, spec.With(c.fault, f.dir)).End()
}

// damageCheckpoint kills the program, breaks its checkpoint and checks that it is
// refused with nothing written to the ledger.
func (f *fixture) damageCheckpoint(t *testing.T, c checkpointCell, spec crash.Spec) ended {
	t.Helper()
	spec.Fault = "pause"
	if c.fault == "checkpoint of before" {
		spec.Stage = fmt.Sprint("checkpoint saved#", c.from)
	}
	child := f.start(t, spec)
	child.Paused(t)
	run, _, _ := f.attacked(t)
	name := "ledger/ledger.jsonl." + run + ".checkpoint"
	whole := f.get(t, name)
	if c.fault == "checkpoint of before" { // the copy is of an earlier step than the one at the death
		must.Do(t, child.Process.Kill())
		e := child.End()
		f.start(t, crash.Spec{Args: f.checkpointed("--resume", run), Stage: "checkpoint saved#8", Fault: "kill"}).End()
		if f.get(t, name) == whole {
			t.Fatal("the second attempt kept no checkpoint")
		}
		f.put(t, map[string]string{name: whole})
		return e
	}
	must.Do(t, child.Process.Kill())
	e := child.End()
	before := f.get(t, "ledger/ledger.jsonl")
	refused := func(text, says string, more ...string) {
		t.Helper()
		f.put(t, map[string]string{name: text})
		e := f.dyad(f.checkpointed(append([]string{"--resume", run}, more...)...)...)
		e.Want(t, c.fault, exitInput, says)
		if says != "was charged for" && says != "another plan" && says != "other records" {
			e.Want(t, c.fault, exitInput, "remove the file to start the run from step 1, at no further cost")
		}
		if f.get(t, "ledger/ledger.jsonl") != before || strings.Contains(e.Stdout, "weights") {
			t.Error("a refused checkpoint changed the ledger or printed something")
		}
	}
	switch c.fault {
	case "checkpoint cut short":
		for _, size := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
			refused(whole[:size], "cut short")
		}
	case "checkpoint edited":
		for _, edit := range [][2]string{{`"steps_done":10`, `"steps_done":9`}, {`"releases":[10]`, `"releases":[9]`},
			{`"vectors":[[`, `"vectors":[[1`}} {
			if !strings.Contains(whole, edit[0]) {
				t.Fatalf("no %s", edit[0])
			}
			refused(strings.Replace(whole, edit[0], edit[1], 1), "edited")
		}
	case "checkpoint of another run":
		f.start(t, crash.Spec{Args: f.checkpointed("--out", f.in("out/third.json")), Stage: "training", Fault: "kill"}).End()
		before = f.get(t, "ledger/ledger.jsonl")
		third, _, _ := f.attacked(t)
		refused(f.get(t, "ledger/ledger.jsonl."+third+".checkpoint"), "it is of run")
		// That run is ended, and forgotten by the checks.
		f.dyad(f.checkpointed("--out", f.in("out/third.json"), "--resume", third)...).Want(t, "the third run", exitOK,
			"continued after step 10")
		f.known = append(f.known, third)
	case "checkpoint of other records": // as many as before, of the same file
		refused(whole, "other records", "--split-seed", "2")
	case "checkpoint of another plan":
		refused(whole, "another plan", "--step-size", "0.01")
	}
	if c.from == 0 {
		must.Do(t, os.Remove(f.in(name)))
	}
	return e
}

// checkCheckpoint verifies the files after an attack, resumes and verifies that the run
// continues where it should, at no cost, and leaves no checkpoint.
func (f *fixture) checkCheckpoint(t testing.TB, c checkpointCell, e ended) {
	t.Helper()
	f.dyad("ledger", "verify", "--ledger", f.in("ledger/ledger.jsonl")).Want(t, "verify", exitOK, "is intact")
	run, charges, finished := f.attacked(t)
	wantFinished := []string{ledger.StatusReleased}
	if c.want == pending {
		wantFinished = nil
	}
	if charges != 1 || !slices.Equal(finished, wantFinished) {
		t.Errorf("want %s; got %d charges, finish lines %q", c.want, charges, finished)
	}
	for _, name := range f.checkpoints(t) {
		if info, err := os.Stat(name); err != nil ||
			info.Mode().Perm()&0o077 != 0 && !strings.HasPrefix(c.fault, "checkpoint of") {
			t.Errorf("%s can be read by others: %v, %v", filepath.Base(name), info.Mode(), err)
		}
	}
	if c.want == unnamed {
		f.saveKept(t, run, f.checkpointed())
	}
	if c.want == pending {
		if _, all, _ := f.models(t, run, e.Stdout); all != 0 {
			t.Errorf("%d models before the release", all)
		}
		next := f.dyad(f.checkpointed("--resume", run)...)
		next.Want(t, "resume", exitOK, "run "+run)
		if says := fmt.Sprintf("continued after step %d of %d,", c.from, checkpointSteps); strings.Contains(next.Stderr,
			says) != (c.from > 0) || c.from == 0 && strings.Contains(next.Stderr, "continued after") {
			t.Errorf("want a run that continues after step %d: %s", c.from, next.Stderr)
		}
	}
	again, charges, finished := f.attacked(t)
	if again != run || charges != 1 || !slices.Equal(finished, []string{ledger.StatusReleased}) {
		t.Errorf("afterwards: %d charges, finish lines %q; want one of each", charges, finished)
	}
	if _, all, kept := f.models(t, run, e.Stdout); all != 1 || kept != 0 {
		t.Errorf("%d models in the end, %d kept", all, kept)
	}
	f.dyad(f.checkpointed("--resume", run)...).Want(t, "resume after the release", exitInput, "was released on")
	// The next run removes what a kill left.
	f.dyad(f.checkpointed("--out", f.in("out/next.json"))...).Want(t, "next run", exitOK, "charged to")
	if left := f.checkpoints(t); len(left) > 0 {
		t.Errorf("checkpoints are left: %q", left)
	}
	f.wantClean(t)
}

// Control: the check notices a run that starts again, one that was charged twice, and a
// checkpoint that others may read.
func TestCheckpointCrashCheckNotices(t *testing.T) {
	sizes.NotShort(t, "slow")
	c := checkpointCell{"kill -9", "training#1", killed, pending, 10, "", true}
	for text, spoil := range map[string]func(f *fixture, run string) error{
		"want a run that continues after step 10": func(f *fixture, run string) error {
			return os.Remove(f.in("ledger/ledger.jsonl." + run + ".checkpoint"))
		},
		"can be read by others": func(f *fixture, run string) error {
			return os.Chmod(f.in("ledger/ledger.jsonl."+run+".checkpoint"), 0o644)
		},
		"got 2 charges": func(f *fixture, _ string) error {
			f.dyad(f.checkpointed("--out", f.in("out/again.json"))...)
			return nil
		},
	} {
		f := newFixture(t)
		e := f.attackCheckpoint(t, c)
		run, _, _ := f.attacked(t)
		must.Do(t, spoil(f, run))
		r := &recorder{TB: t}
		f.checkCheckpoint(r, c, e)
		must.Contain(t, r.said, text)
	}
}
