//go:build unix

package command

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"dyad/internal/crash"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/ledger"
)

// search is the command line of a search on the fixture's data.
func (f *fixture) search(more ...string) []string {
	return append([]string{"search", "--candidates", f.in("in/settings.yaml"), "--data", f.in("in/patients.csv"), "--schema", f.in("in/patients.yaml"),
		"--out", f.in("out/best.json"), "--ledger", f.in("ledger/ledger.jsonl"), "--road", "random-stopping"}, more...)
}

// A search that is killed at any stage is charged at most once, keeps no checkpoint, and before its release
// tells nothing. --resume begins it again at no cost, or gives its model the name, and refuses other settings.
func TestKilledSearchesAreResumed(t *testing.T) {
	stages := map[string]string{"admitted#1": "", "line durable#1": "pending", "trained#1": "pending", "kept#1": "pending", "released#1": "kept", "model renamed#1": "done"}
	if !sizes.Full() {
		stages = map[string]string{"trained#1": "pending", "released#1": "kept"}
	}
	for at, want := range stages {
		t.Run(at, func(t *testing.T) {
			f := newFixture(t)
			f.put(t, map[string]string{"in/settings.yaml": searchSettings})
			stage, nth, _ := strings.Cut(at, "#")
			e := f.start(t, crash.Spec{Args: f.search(), Stage: stage, Nth: int(nth[0] - '0'), Fault: "kill"}).End()
			if strings.Contains(e.Stdout, "winner") {
				t.Fatalf("a winner was printed: %s", e.Stdout)
			}
			run, charges, finished := f.attacked(t)
			_, err := os.Stat(f.in("out/best.json"))
			if (charges == 1) != (want != "") || (len(finished) == 1) != (want == "kept" || want == "done") || (err == nil) != (want == "done") {
				t.Fatalf("%d charges, finish lines %q, model %v; want %q", charges, finished, err, want)
			}
			if left := f.checkpoints(t); len(left) > 0 {
				t.Fatalf("checkpoints of a search: %v", left)
			}
			switch want {
			case "":
				f.dyad(f.search()...).Want(t, "again", exitOK, "winner")
				return
			case "done":
				return
			case "pending":
				f.dyad(f.search("--resume", run, "--runs", "9")...).Want(t, "another number of runs", exitInput, "")
				f.dyad(f.search("--resume", run, "--epsilon", "2")...).Want(t, "another epsilon", exitInput, "")
			}
			f.dyad(f.search("--resume", run)...).Want(t, "resume", exitOK, "")
			again, charges, finished := f.attacked(t)
			if again != run || charges != 1 || len(finished) != 1 || finished[0] != ledger.StatusReleased {
				t.Errorf("after --resume: %d charges, finish lines %q", charges, finished)
			}
			if m, err := readModel(f.in("out/best.json")); err != nil || m.Run != run {
				t.Errorf("the model of run %s: %v", run, err)
			}
		})
	}
}

// A killed search of persons is resumed like that of records.
func TestKilledSearchOfPersonsIsResumed(t *testing.T) {
	f := newFixture(t)
	read := func(name string) string {
		text := must.Get(os.ReadFile(f.in(name)))(t)
		return string(text)
	}
	var rows strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(read("in/patients.csv")), "\n") {
		if i == 0 {
			rows.WriteString("patient," + line + "\n")
		} else {
			fmt.Fprintf(&rows, "p%d,%s\n", i%50, line)
		}
	}
	schema := strings.Replace(read("in/patients.yaml"), "columns:\n", "persons: 50\ncolumns:\n  - {name: patient, role: person}\n", 1)
	f.put(t, map[string]string{"in/settings.yaml": searchSettings, "in/patients.csv": rows.String(), "in/patients.yaml": schema})
	f.start(t, crash.Spec{Args: f.search(), Stage: "trained", Nth: 1, Fault: "kill"}).End()
	run, charges, finished := f.attacked(t)
	if charges != 1 || len(finished) != 0 || len(f.checkpoints(t)) != 0 {
		t.Fatalf("%d charges, finish lines %q, checkpoints %v", charges, finished, f.checkpoints(t))
	}
	f.dyad(f.search("--resume", run, "--holdout", "0.2")...).Want(t, "fewer persons", exitInput, "")
	f.dyad(f.search("--resume", run)...).Want(t, "resume", exitOK, "for one person")
	if again, charges, finished := f.attacked(t); again != run || charges != 1 || len(finished) != 1 || finished[0] != ledger.StatusReleased {
		t.Errorf("after --resume: %d charges, finish lines %q", charges, finished)
	}
}
