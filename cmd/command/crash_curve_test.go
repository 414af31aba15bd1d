//go:build unix

package command

import (
	"os"
	"strings"
	"testing"

	"dyad/internal/crash"
	"dyad/internal/sizes"
	"dyad/privacy/ledger"
)

// A curve of private data that is killed is charged at most once and before its release tells nothing. --resume begins it again at no cost, or
// gives its file the name, and refuses other epsilons.
func TestKilledCurvesAreResumed(t *testing.T) {
	stages := map[string]string{"admitted": "", "line durable": "pending", "trained": "pending", "kept": "pending", "released": "kept"}
	if !sizes.Full() {
		stages = map[string]string{"trained": "pending", "released": "kept"}
	}
	for stage, want := range stages {
		t.Run(stage, func(t *testing.T) {
			f := newFixture(t)
			curve := func(epsilons string, more ...string) []string {
				return append([]string{"lab", "curve", "--epsilon", epsilons, "--splits", "1", "--algorithm", "moments", "--holdout-epsilon", "1", "--yes", "--data", f.in("in/patients.csv"),
					"--schema", f.in("in/patients.yaml"), "--out", f.in("out/curve"), "--ledger", f.in("ledger/ledger.jsonl")}, more...)
			}
			e := f.start(t, crash.Spec{Args: curve("1"), Stage: stage, Nth: 1, Fault: "kill"}).End()
			if e.Code != crash.Killed || strings.Contains(e.Stdout, "AUC") {
				t.Fatalf("exit %d: %s%s", e.Code, e.Stdout, e.Stderr)
			}
			run, charges, finished := f.attacked(t)
			if _, err := os.Stat(f.in("out/curve.json")); err == nil || (charges == 1) != (want != "") || (len(finished) == 1) != (want == "kept") {
				t.Fatalf("%d charges, finish lines %q, file: %v; want %q", charges, finished, err, want)
			}
			switch want {
			case "":
				f.dyad(curve("1")...).Want(t, "again", exitOK, "AUC")
				return
			case "pending":
				f.dyad(curve("2", "--resume", run)...).Want(t, "another epsilon", exitInput, "")
			}
			f.dyad(curve("1", "--resume", run)...).Want(t, "resume", exitOK, "")
			if again, charges, finished := f.attacked(t); again != run || charges != 1 || len(finished) != 1 || finished[0] != ledger.StatusReleased {
				t.Errorf("after --resume: %d charges, finish lines %q", charges, finished)
			}
			f.dyad("verify", f.in("out/curve.json"), "--ledger", f.in("ledger/ledger.jsonl")).Want(t, "verify", exitFailure, "one charge of this plan and one release, of this file")
		})
	}
}
