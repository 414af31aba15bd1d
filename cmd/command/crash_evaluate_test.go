//go:build unix

package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/crash"
	"dyad/internal/files"
	"dyad/internal/sizes"
	"dyad/privacy/ledger"
)

// evaluation is the command line of a private evaluation of the fixture's model.
func (f *fixture) evaluation(more ...string) []string {
	return append([]string{"evaluate", f.in("out/model.json"), "--data", f.in("in/patients.csv"), "--epsilon", "1",
		"--out", f.in("out/figures.json"), "--ledger", f.in("ledger/ledger.jsonl")}, more...)
}

// A private evaluation that is killed at any stage is charged at most once. Before its release
// it released nothing, and --resume continues it at no cost; after it the report is kept, and
// --resume gives it its name.
func TestKilledEvaluationsAreResumed(t *testing.T) {
	stages := map[string]string{"admitted#1": "", "line durable#1": "pending", "trained#1": "pending", "model written#1": "pending", "kept#1": "pending",
		"line durable#2": "kept", "released#1": "kept", "model renamed#1": "done"}
	if !sizes.Full() {
		stages = map[string]string{"trained#1": "pending", "released#1": "kept"}
	}
	for at, want := range stages {
		t.Run(at, func(t *testing.T) {
			f := newFixture(t)
			stage, nth, _ := strings.Cut(at, "#")
			e := f.start(t, crash.Spec{Args: f.evaluation(), Stage: stage, Nth: int(nth[0] - '0'), Fault: "kill"}).End()
			if strings.Contains(e.Stdout, "AUC") {
				t.Fatalf("figures were printed: %s", e.Stdout)
			}
			run, charges, finished := f.attacked(t)
			report := f.in("out/figures.json")
			switch _, err := os.Stat(report); {
			case (charges == 1) != (want != ""), (len(finished) == 1) != (want == "kept" || want == "done"), (err == nil) != (want == "done"):
				t.Fatalf("%d charges, finish lines %q, report %v; want %q", charges, finished, err, want)
			}
			if want == "" {
				f.dyad(f.evaluation()...).Want(t, "again", exitOK, "AUC")
				return
			}
			if want == "done" {
				return
			}
			// With another model, threshold or epsilon nothing is continued.
			if want == "pending" {
				f.dyad(f.evaluation("--resume", run, "--threshold", "0.1")...).Want(t, "another threshold", exitInput, "")
				f.dyad(f.evaluation("--resume", run, "--epsilon", "2")...).Want(t, "another epsilon", exitInput, "")
			}
			f.dyad(f.evaluation("--resume", run)...).Want(t, "resume", exitOK, "")
			again, charges, finished := f.attacked(t)
			if again != run || charges != 1 || len(finished) != 1 || finished[0] != ledger.StatusReleased {
				t.Errorf("after --resume: %d charges, finish lines %q", charges, finished)
			}
			var r privateResult
			if text, err := os.ReadFile(report); err != nil || json.Unmarshal(text, &r) != nil || r.Run != run || r.Figures == nil || r.Figures.AUC == nil {
				t.Errorf("the report of run %s is of run %q: %v", run, r.Run, err)
			}
			left, err := filepath.Glob(f.in("out/" + files.KeptName(run) + "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("files are left: %v, %v", left, err)
			}
		})
	}
}

// An interrupt before the release withholds the figures, and the run can be continued.
func TestInterruptedEvaluationIsPending(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	f := newFixture(t)
	e := f.start(t, crash.Spec{Args: f.evaluation(), Stage: "kept", Nth: 1, Fault: "interrupt"}).End()
	if e.Code != exitCancelled || strings.Contains(e.Stdout, "AUC") || !strings.Contains(e.Stderr, resumeIt) {
		t.Errorf("exit %d: %s%s", e.Code, e.Stdout, e.Stderr)
	}
	if _, charges, finished := f.attacked(t); charges != 1 || len(finished) != 0 {
		t.Errorf("%d charges, finish lines %q", charges, finished)
	}
}
