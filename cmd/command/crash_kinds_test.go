//go:build unix

package command

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/internal/crash"
	"dyad/internal/sizes"
	"dyad/privacy/ledger"
)

// killable is a command that charges once and keeps no checkpoint.
type killable struct {
	command string
	file    string   // of its result
	tells   string   // what it prints at its end
	middle  string   // a stage within its work
	others  []string // options that make it another run
	holds   string   // what its file has, as a regular expression
	verdict int      // the exit code of dyad verify
}

const searchLine = "search --candidates in/settings.yaml --schema in/patients.yaml --road random-stopping --out out/best.json"

var killables = map[string]killable{
	"cluster":  {"cluster -k 2 --schema in/patients.yaml --out out/clusters.json", "out/clusters.json", "clusters", "training#1", []string{"--rounds 9", "--start-seed 9"}, `"centres": \[(\s*\[[^\]]+\],?){2}\s*\]`, exitOK},
	"evaluate": {"evaluate out/model.json --epsilon 1 --out out/figures.json", "out/figures.json", "AUC", "trained#1", []string{"--threshold 0.1", "--epsilon 2"}, `"auc": \{\s*"value": [0-9]`, exitOK},
	"search":   {searchLine, "out/best.json", "winner", "trained#1", []string{"--runs 9", "--epsilon 2"}, `"weights": \[\s*-?[0-9]`, exitFailure},
	"persons":  {searchLine, "out/best.json", "for one person", "trained#1", []string{"--holdout 0.2"}, `"weights": \[\s*-?[0-9]`, exitFailure},
	"lab curve": {"lab curve --epsilon 1 --splits 1 --algorithm moments --holdout-epsilon 1 --yes --schema in/patients.yaml --out out/curve", "out/curve.json", "AUC", "trained#1",
		[]string{"--epsilon 2"}, `"auc": [\[{]?\s*("value": )?[0-9]`, exitFailure},
}

// line is a command line on the records and the ledger of the fixture.
func (f *fixture) line(command, more string) []string {
	args := words(command + " --data in/patients.csv --ledger ledger/ledger.jsonl " + more)
	for i, a := range args {
		if folder, _, _ := strings.Cut(a, "/"); slices.Contains([]string{"in", "out", "ledger"}, folder) && folder != a {
			args[i] = f.in(a)
		}
	}
	return args
}

// ofPersons gives the records of the fixture 50 persons.
func (f *fixture) ofPersons(t *testing.T) {
	var rows strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(f.get(t, "in/patients.csv")), "\n") {
		if i == 0 {
			rows.WriteString("patient," + line + "\n")
		} else {
			fmt.Fprintf(&rows, "p%d,%s\n", i%50, line)
		}
	}
	schema := strings.Replace(f.get(t, "in/patients.yaml"), "columns:\n", "persons: 50\ncolumns:\n  - {name: patient, role: person}\n", 1)
	f.put(t, map[string]string{"in/patients.csv": rows.String(), "in/patients.yaml": schema})
}

// A run that is killed at any stage is charged at most once, keeps no checkpoint, and before its release tells nothing. --resume begins it
// again at no cost, or gives its file the name, and refuses other options.
func TestKilledRunsAreResumed(t *testing.T) {
	for name, k := range killables {
		stages := map[string]string{"admitted#1": "", "line durable#1": "pending", k.middle: "pending", "trained#1": "pending", "model written#1": "pending", "kept#1": "pending",
			"line durable#2": "kept", "released#1": "kept", "model renamed#1": "done"}
		if !sizes.Full() {
			stages = map[string]string{k.middle: "pending", "released#1": "kept"}
		}
		for at, want := range stages {
			t.Run(name+" at "+at, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				f.put(t, map[string]string{"in/settings.yaml": searchSettings})
				if name == "persons" {
					f.ofPersons(t)
				}
				e := f.start(t, crash.Spec{Args: f.line(k.command, ""), Stage: at, Fault: "kill"}).End()
				if e.Code != killed || strings.Contains(e.Stdout, k.tells) {
					t.Fatalf("exit %d, it prints %s", e.Code, e.Stdout)
				}
				run, charges, finished := f.attacked(t)
				if (charges == 1) != (want != "") || (len(finished) == 1) != (want == "kept" || want == "done") || exists(f.in(k.file)) != (want == "done") {
					t.Fatalf("%d charges, finish lines %q, file: %v; want %q", charges, finished, exists(f.in(k.file)), want)
				}
				if left := f.checkpoints(t); len(left) > 0 {
					t.Fatalf("checkpoints: %v", left)
				}
				switch want {
				case "":
					f.dyad(f.line(k.command, "")...).Want(t, "again", exitOK, k.tells)
					return
				case "pending":
					for _, other := range k.others {
						name := words(other)[0] + " "
						f.dyad(f.line(strings.ReplaceAll(k.command, name+"1 ", ""), other+" --resume "+run)...).Want(t, other, exitInput, "the run cannot continue")
					}
				}
				if want != "done" {
					says := map[string]string{"pending": k.tells}[want]
					f.dyad(f.line(k.command, "--resume "+run)...).Want(t, "resume", exitOK, says)
				}
				if again, charges, finished := f.attacked(t); again != run || charges != 1 || !slices.Equal(finished, []string{ledger.StatusReleased}) {
					t.Errorf("after --resume: %d charges, finish lines %q", charges, finished)
				}
				if text := f.get(t, k.file); !strings.Contains(text, run) || !regexp.MustCompile(k.holds).MatchString(text) {
					t.Errorf("the file of run %s, want %s: %s", run, k.holds, text)
				}
				f.dyad("verify", f.in(k.file), "--ledger", f.in("ledger/ledger.jsonl")).Want(t, "verify", k.verdict, "one charge of this plan and one release of this file")
				f.wantClean(t)
			})
		}
	}
}

// An interrupt before the release withholds the figures, and the run can be continued.
func TestInterruptedEvaluationIsPending(t *testing.T) {
	sizes.NotShort(t, "slow")
	f := newFixture(t)
	e := f.start(t, crash.Spec{Args: f.line(killables["evaluate"].command, ""), Stage: "kept", Fault: "interrupt"}).End()
	if e.Code != exitCancelled || strings.Contains(e.Stdout, "AUC") || !strings.Contains(e.Stderr, resumeIt) {
		t.Errorf("exit %d: %s%s", e.Code, e.Stdout, e.Stderr)
	}
	if _, charges, finished := f.attacked(t); charges != 1 || len(finished) != 0 {
		t.Errorf("%d charges, finish lines %q", charges, finished)
	}
}
