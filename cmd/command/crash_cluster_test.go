//go:build unix

package command

import (
	"fmt"
	"os"
	"strings"
	"testing"

	lib "dyad"
	"dyad/internal/crash"
	"dyad/internal/sizes"
	"dyad/privacy/ledger"
)

// clusters is the command line of a clustering of the fixture's data.
func (f *fixture) clusters(more ...string) []string {
	return append([]string{"cluster", "-k", "2", "--data", f.in("in/patients.csv"), "--schema", f.in("in/patients.yaml"),
		"--out", f.in("out/clusters.json"), "--ledger", f.in("ledger/ledger.jsonl")}, more...)
}

// A clustering that is killed at any stage is charged at most once and before its release tells nothing. --resume begins it
// again at no cost, or gives its file the name, and refuses other settings.
func TestKilledClusteringsAreResumed(t *testing.T) {
	stages := map[string]string{"admitted#1": "", "line durable#1": "pending", "training#1": "pending", "trained#1": "pending", "model written#1": "pending", "kept#1": "pending",
		"line durable#2": "kept", "released#1": "kept", "model renamed#1": "done"}
	if !sizes.Full() {
		stages = map[string]string{"training#1": "pending", "released#1": "kept"}
	}
	for at, want := range stages {
		t.Run(at, func(t *testing.T) {
			f := newFixture(t)
			stage, nth, _ := strings.Cut(at, "#")
			e := f.start(t, crash.Spec{Args: f.clusters(), Stage: stage, Nth: int(nth[0] - '0'), Fault: "kill"}).End()
			if strings.Contains(e.Stdout, "clusters") {
				t.Fatalf("clusters were printed: %s", e.Stdout)
			}
			run, charges, finished := f.attacked(t)
			_, err := os.Stat(f.in("out/clusters.json"))
			if (charges == 1) != (want != "") || (len(finished) == 1) != (want == "kept" || want == "done") || (err == nil) != (want == "done") {
				t.Fatalf("%d charges, finish lines %q, file %v; want %q", charges, finished, err, want)
			}
			switch want {
			case "":
				f.dyad(f.clusters()...).Want(t, "again", exitOK, "clusters")
				return
			case "done":
				return
			case "pending":
				f.dyad(f.clusters("--resume", run, "--rounds", "9")...).Want(t, "another number of rounds", exitInput, "")
				f.dyad(f.clusters("--resume", run, "--start-seed", "9")...).Want(t, "another seed", exitInput, "")
			}
			f.dyad(f.clusters("--resume", run)...).Want(t, "resume", exitOK, "clusters")
			again, charges, finished := f.attacked(t)
			if again != run || charges != 1 || len(finished) != 1 || finished[0] != ledger.StatusReleased {
				t.Errorf("after --resume: %d charges, finish lines %q", charges, finished)
			}
			if c, err := lib.LoadClusters(f.in("out/clusters.json")); err != nil || c.Run != run || len(c.Centres) != 2 {
				t.Errorf("the clusters of run %s: %v", run, fmt.Sprint(c, err))
			}
		})
	}
}
