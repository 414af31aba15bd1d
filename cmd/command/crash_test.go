//go:build unix

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/internal/crash"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/ledger"
)

// cell is one attack on "dyad train" and what must come of it.
type cell struct {
	fault string
	stage string // with #n for its n-th occurrence: #1 is the charge, #2 the release
	code  int    // -1: killed
	want  outcome
	says  string
	short bool // not only at full power
}

const (
	killed   = crash.Killed
	resumeIt = "continues it at no further cost"
)

// crashMatrix is stage x fault. The stages are, in order: opening ledger, locked,
// admitted, line written, line durable, acknowledged, bound, training, trained,
// model created, model synced, model written, kept, again the steps of a change for the
// line that records the release, released, model renamed, reported.
var crashMatrix = []cell{
	{"kill -9", "opening ledger#1", killed, untouched, "", false},
	{"kill -9", "locked#1", killed, untouched, "", false},
	{"kill -9", "admitted#1", killed, untouched, "", true},
	{"kill -9", "line written#1", killed, pending, "", false},
	{"kill -9", "line durable#1", killed, pending, "", true},
	{"kill -9", "acknowledged#1", killed, pending, "", false},
	{"kill -9", "bound#1", killed, pending, "", false},
	{"kill -9", "training#1", killed, pending, "", false},
	{"kill -9", "trained#1", killed, pending, "", true},
	{"kill -9", "model created#1", killed, pending, "", false},
	{"kill -9", "model synced#1", killed, pending, "", false},
	{"kill -9", "model written#1", killed, pending, "", true},
	{"kill -9", "kept#1", killed, pending, "", false},
	{"kill -9", "admitted#2", killed, pending, "", false},
	{"kill -9", "head prepared#2", killed, pending, "", false},
	{"kill -9", "line written#2", killed, unnamed, "", false},
	{"kill -9", "line durable#2", killed, unnamed, "", true},
	{"kill -9", "head renamed#2", killed, unnamed, "", false},
	{"kill -9", "acknowledged#2", killed, unnamed, "", false},
	{"kill -9", "released#1", killed, unnamed, "", true},
	{"kill -9", "model renamed#1", killed, done, "", false},
	{"kill -9", "reported#1", killed, done, "differentially private", false},

	{"interrupt", "opening ledger#1", exitCancelled, untouched, "cancelled", false},
	{"interrupt", "locked#1", exitCancelled, pending, resumeIt, false},
	{"interrupt", "admitted#1", exitCancelled, pending, resumeIt, false},
	{"interrupt", "line durable#1", exitCancelled, pending, resumeIt, false},
	{"interrupt", "acknowledged#1", exitCancelled, pending, resumeIt, false},
	{"interrupt", "bound#1", exitCancelled, pending, resumeIt, false},
	{"interrupt", "training#1", exitCancelled, pending, "cancelled", true},
	{"interrupt", "trained#1", exitCancelled, pending, resumeIt, false},
	{"interrupt", "line durable#2", exitOK, done, "charged to", true},
	{"interrupt", "released#1", exitOK, done, "charged to", false},
	{"interrupt", "model created#1", exitCancelled, pending, resumeIt, false},
	{"interrupt", "model written#1", exitCancelled, pending, resumeIt, false},
	{"interrupt", "kept#1", exitCancelled, pending, resumeIt, false},
	{"interrupt", "model renamed#1", exitOK, done, "charged to", false},
	{"interrupt", "reported#1", exitOK, done, "charged to", false},

	{"disk full", "opening ledger#1", exitResource, untouched, "no result was released", false},
	{"disk full", "locked#1", exitResource, untouched, "space and", false},
	{"disk full", "admitted#1", exitResource, untouched, "space and", true},
	{"disk full", "line durable#1", exitResource, pending, resumeIt, false},
	{"disk full", "bound#1", exitResource, pending, resumeIt, false},
	{"disk full", "training#1", exitResource, pending, resumeIt, false},
	{"disk full", "trained#1", exitResource, pending, "cannot be stored in any folder", true},
	{"disk full", "model created#1", exitResource, pending, "cannot be stored in any folder", false},
	{"disk full", "model synced#1", exitResource, pending, "space and", false},
	{"disk full", "kept#1", exitResource, pending, "space and", true},
	{"disk full", "line durable#2", exitOK, done, "charged to", true},
	{"disk full", "released#1", exitOK, done, "charged to", false},
	{"disk full within a line", "admitted#1", exitResource, untouched, "check the disk space", false},
	{"disk full within a line", "kept#1", exitResource, pending, "check the disk space", false},

	{"ledger folder read-only", "opening ledger#1", exitResource, untouched, "space and the permissions", false},
	{"ledger folder read-only", "admitted#1", exitResource, untouched, "space and the permissions", false},
	{"ledger folder read-only", "line durable#1", exitResource, pending, "the line is written and counts", true},
	{"ledger folder read-only", "bound#1", exitResource, pending, resumeIt, false},
	{"ledger folder read-only", "trained#1", exitResource, pending, resumeIt, false},
	{"ledger folder read-only", "kept#1", exitResource, pending, resumeIt, false},
	{"ledger folder read-only", "line durable#2", exitResource, unnamed, "its result is kept as", true},
	{"ledger folder read-only", "released#1", exitOK, done, "charged to", false},
	{"model folder read-only", "start", exitInput, untouched, "cannot write to the folder", false},
	{"model folder read-only", "bound#1", exitElsewhere, unnamed, "was saved under another name, ", false},
	{"model folder read-only", "kept#1", exitElsewhere, unnamed, "was saved under another name, ", false},
	{"model folder read-only", "released#1", exitElsewhere, unnamed, "was saved under another name, ", true},
	{"model and ledger folder read-only", "trained#1", exitResource, pending, "space and", false},

	{"other run", "opening ledger#1", exitOK, done, "charged to", false},
	{"other run", "locked#1", exitOK, done, "charged to", false},
	{"other run", "line durable#1", exitOK, done, "charged to", false},
	{"other run", "bound#1", exitOK, done, "charged to", false},
	{"other run", "training#1", exitOK, done, "charged to", false},
	{"other run", "line durable#2", exitOK, done, "charged to", false},
	{"other run", "model written#1", exitOK, done, "charged to", false},
	{"other run", "kept#1", exitOK, done, "charged to", true},
	{"same run", "line durable#1", exitOK, done, "charged to", false},
	{"same run", "bound#1", exitInput, overtaken, "cannot be resumed", false},
	{"same run", "training#1", exitInput, overtaken, "was released on", true},
	{"same run", "trained#1", exitInput, overtaken, "was released on", false},
	{"same run", "kept#1", exitInput, overtaken, "was released on", true},
	{"same run", "admitted#2", exitOK, done, "charged to", false},
	{"same run", "released#1", exitOK, done, "charged to", true},

	{"clock in 1990", "opening ledger#1", exitOK, done, "3 runs", false},
	{"clock in 1990", "trained#1", exitOK, done, "3 runs", false},
	{"clock in 2190", "opening ledger#1", exitOK, done, "3 runs", false},
	{"clock in 2190", "trained#1", exitOK, done, "3 runs", false},

	{"line lost", "opening ledger#1", exitResource, untouched, "lost lines", false},
	{"line lost", "training#1", exitResource, pending, "lost lines", true},
	{"line lost", "released#1", exitOK, done, "because the ledger cannot be read back", false},
	{"line cut", "opening ledger#1", exitResource, untouched, "lost lines", false},
	{"line cut", "training#1", exitResource, pending, "lost lines", false},
	{"line edited", "opening ledger#1", exitResource, untouched, "line 2 is not valid", false},
	{"line edited", "training#1", exitResource, pending, "line 2 is not valid", false},
	{"line edited", "released#1", exitOK, done, "line 2 is not valid", false},
	{"head deleted", "opening ledger#1", exitResource, untouched, ".head) is missing", false},
	{"head deleted", "training#1", exitResource, pending, ".head) is missing", true},
	{"head deleted", "kept#1", exitResource, pending, ".head) is missing", false},
	{"head deleted", "released#1", exitOK, done, ".head) is missing", true},

	{"model cut short", "reported#1", exitOK, done, "charged to", true},
}

func TestCrashMatrix(t *testing.T) {
	attackAll(t, false)
}

// The same for "dyad local simulate", which keeps no checkpoint and has no stage within its
// training.
func TestLocalSimulateCrashMatrix(t *testing.T) {
	attackAll(t, true)
}

func attackAll(t *testing.T, local bool) {
	for _, c := range crashMatrix {
		if !sizes.Full() && !c.short || local && c.stage == "training#1" {
			continue
		}
		if local {
			c.stage = strings.Replace(c.stage, "bound", "charged", 1)
		}
		t.Run(c.fault+" at "+c.stage, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.local = local
			e := f.attack(t, c)
			f.writable()
			e.Want(t, "attacked run", c.code, c.says)
			f.check(t, c.want, e)
		})
	}
}

// attack runs the program with the fault of a cell.
func (f *fixture) attack(t *testing.T, c cell) ended {
	t.Helper()
	spec := crash.Spec{Args: f.train(), Stage: c.stage}
	var pause func(*testing.T, string)
	switch c.fault {
	case "disk full within a line":
		c.fault, spec.Limit = "disk full", uint64(len(f.ledger)+20)
		if c.stage == "kept#1" { // the charge is in the file by then
			spec.Limit = uint64(2*len(f.ledger) - 400)
		}
	case "other run":
		pause = f.otherRun
	case "same run":
		pause = f.sameRun
	case "clock in 1990", "clock in 2190":
		pause = func(t *testing.T, _ string) { f.chargeAt(t, strings.TrimPrefix(c.fault, "clock in ")) }
	case "line lost", "line cut", "line edited", "head deleted":
		return f.damaged(t, spec, c)
	case "model cut short":
		pause = f.cutModel
	}
	if pause == nil {
		return f.start(t, spec.With(c.fault, f.dir)).End()
	}
	return f.start(t, spec.With("pause", "")).While(t, func() { pause(t, c.stage) })
}

// check verifies the files after an attack, and that the user can go on.
func (f *fixture) check(t testing.TB, want outcome, e ended) {
	t.Helper()
	if now := f.get(t, "ledger/ledger.jsonl"); !strings.HasPrefix(now, f.ledger) {
		t.Error("the ledger lost lines")
	}
	f.dyad("ledger", "verify", "--ledger", f.in("ledger/ledger.jsonl")).Want(t, "verify", exitOK, "is intact")
	run, charges, finished := f.attacked(t)
	named, all, kept := f.models(t, run, e.Stdout)
	wantCharges, wantFinished, wantNamed, wantAll, wantKept := 1, []string{ledger.StatusReleased}, 0, 1, 0
	switch want {
	case untouched:
		wantCharges, wantFinished, wantAll = 0, nil, 0
	case pending:
		wantFinished, wantAll = nil, 0
	case unnamed:
		wantAll, wantKept = 0, 1
	case done:
		wantNamed = 1
	}
	if charges != wantCharges || !slices.Equal(finished, wantFinished) || named != wantNamed || all != wantAll || kept != wantKept {
		t.Errorf("want %s; got %d charges, finish lines %q, %d models by its name, %d by any, %d kept", want, charges, finished, named, all, kept)
	}
	must.Check(readModel(f.in("out/model.json")))(t, "neither the old nor the new model is there")
	switch want {
	case untouched:
		f.dyad(f.train()...).Want(t, "again", exitOK, "charged to")
	case pending:
		f.dyad("ledger", "show", "--ledger", f.in("ledger/ledger.jsonl")).Want(t, "show", exitOK, "--resume "+run)
		f.dyad(f.train("--resume", run)...).Want(t, "resume", exitOK, "run "+run)
		if e.Code != killed && !strings.Contains(e.Stderr, "--resume "+run) {
			t.Errorf("the message does not say how to resume: %s", e.Stderr)
		}
	case unnamed:
		if e.Code != killed && !strings.Contains(e.Stderr, "--resume "+run) {
			t.Errorf("the message does not say how to save the model: %s", e.Stderr)
		}
		f.saveKept(t, run, f.train())
	}
	f.wantClean(t)
	resumed, charges, finished := f.attacked(t)
	if want != untouched && resumed != run || charges != 1 || len(finished) != 1 {
		t.Errorf("afterwards: %d charges of run %s (before: %q), finish lines %q; want one of each", charges, resumed, run, finished)
	}
	if named, all, kept := f.models(t, resumed, e.Stdout); want != overtaken && named != 1 || all != 1 || kept != 0 {
		t.Errorf("in the end there are %d models by the name, %d by any, %d kept", named, all, kept)
	}
	// What is released is never released again, and costs no more.
	f.dyad(f.train("--resume", resumed)...).Want(t, "resume after the release", exitInput, "was released on")
	l := must.Get(ledger.Open(f.in("ledger/ledger.jsonl")))(t)
	tmpl := must.Get(crashTemplate())(t)
	m := must.Get(readModel(f.in("out/model.json")))(t)
	s, err := l.Summary(m.DataID, crashDelta)
	if err != nil || s.Runs != 1+len(f.known) || len(f.known) == 1 && !f.local && f.extra == nil && s.Epsilon != tmpl.epsilon {
		t.Errorf("spent in the end: %v, %v; want %d runs, for two runs epsilon %v", s, err, 1+len(f.known), tmpl.epsilon)
	}
	if left, err := os.ReadDir(f.in("ledger")); err != nil || len(left) != 3 {
		t.Errorf("the ledger's folder has %d files, want 3 (%v)", len(left), err)
	}
}

// recorder notes errors instead of failing.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.said += fmt.Sprintf(format, args...) + "\n"
}

// Control: the check of the matrix notices what must never happen.
func TestCrashCheckNotices(t *testing.T) {
	sizes.NotShort(t, "slow")
	killed := func(t *testing.T, stage string) (*fixture, ended) {
		f := newFixture(t)
		return f, f.start(t, crash.Spec{Args: f.train(), Stage: stage, Fault: "kill"}).End()
	}
	t.Run("a model without a charge", func(t *testing.T) {
		f, e := killed(t, "admitted")
		model := strings.Replace(f.get(t, "out/model.json"), f.known[0], "GHOST", 1)
		f.put(t, map[string]string{"out/ghost.json": model})
		wantNoticed(t, f, untouched, e, `model of run "GHOST", which the ledger does not have as charged and released`)
	})
	t.Run("a model of a run that is not released", func(t *testing.T) {
		f, e := killed(t, "trained")
		run, _, _ := f.attacked(t)
		f.put(t, map[string]string{"tmp/early.json": strings.Replace(f.get(t, "out/model.json"), f.known[0], run, 1)})
		wantNoticed(t, f, pending, e, "which the ledger does not have as charged and released")
	})
	t.Run("a second charge", func(t *testing.T) {
		f, e := killed(t, "trained")
		f.dyad(f.train("--out", f.in("out/again.json"))...).Want(t, "again", exitOK, "charged to")
		wantNoticed(t, f, pending, e, "got 2 charges")
	})
	t.Run("a charge that vanished", func(t *testing.T) {
		f := newFixture(t)
		before := map[string]string{"ledger/ledger.jsonl": f.ledger, "ledger/ledger.jsonl.head": f.get(t, "ledger/ledger.jsonl.head")}
		e := f.start(t, crash.Spec{Args: f.train(), Stage: "start"}).End()
		f.put(t, before) // a consistent old copy: only the model shows it
		wantNoticed(t, f, done, e, "got 0 charges")
	})
	t.Run("a model that was lost", func(t *testing.T) {
		f, e := killed(t, "released")
		must.Do(t, os.Remove(keptFile(t, f)))
		wantNoticed(t, f, unnamed, e, "0 models by its name, 0 by any, 0 kept")
	})
	t.Run("a kept model that others can read", func(t *testing.T) {
		f, e := killed(t, "released")
		must.Do(t, os.Chmod(keptFile(t, f), 0o644))
		wantNoticed(t, f, unnamed, e, "others can read out/.dyad-")
	})
}

// keptFile is the one model that is kept.
func keptFile(t *testing.T, f *fixture) string {
	t.Helper()
	kept, err := filepath.Glob(f.in("out/.dyad-*"))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	return kept[0]
}

func wantNoticed(t *testing.T, f *fixture, want outcome, e ended, text string) {
	t.Helper()
	r := &recorder{TB: t}
	f.check(r, want, e)
	must.Contain(t, r.said, text)
}
