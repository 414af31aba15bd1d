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
	"dyad/internal/files"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy/ledger"
)

// unnamedCommand is a charged command without --out: its result has a default name, out/FILE.
type unnamedCommand struct {
	file string
	args func(f *fixture) []string
	runs int // that it charges
}

// figuresOf is the file of the second run of train --holdout-epsilon.
const figuresOf = "tested.figures.json"

var unnamedCommands = map[string]unnamedCommand{
	"evaluate": {"evaluation.json", func(f *fixture) []string {
		return []string{"evaluate", f.in("out/model.json"), "--data", f.in("in/patients.csv"), "--epsilon", "1"}
	}, 1},
	"threshold": {"threshold.json", func(f *fixture) []string {
		return []string{"threshold", f.in("out/model.json"), "--data", f.in("in/patients.csv"), "--epsilon", "1"}
	}, 1},
	"local simulate": {"local.json", func(f *fixture) []string {
		return []string{"local", "simulate", "--data", f.in("in/patients.csv"), "--schema", f.in("in/patients.yaml"),
			"--epsilon", "1", "--epochs", "1"}
	}, 1},
	"cluster": {"clusters.json", func(f *fixture) []string {
		return []string{"cluster", "-k", "2", "--data", f.in("in/patients.csv"), "--schema", f.in("in/patients.yaml")}
	}, 1},
	"search --models": {"winner.json", func(f *fixture) []string {
		return []string{"search", "--models", f.in("out/model.json") + "," + f.in("in/second.json"), "--data",
			f.in("in/patients.csv"), "--schema", f.in("in/patients.yaml"), "--epsilon", "0.5"}
	}, 1},
	"train --holdout-epsilon": {"tested.json", func(f *fixture) []string {
		return []string{"train", "--data", f.in("in/patients.csv"), "--schema", f.in("in/patients.yaml"), "--epsilon", "1",
			"--holdout", "0.3", "--holdout-epsilon", "0.5", "--out", "tested.json"}
	}, 2},
}

// unnamedFixture is a fixture, and the command line of a command on it.
func unnamedFixture(t *testing.T, c unnamedCommand) (*fixture, []string) {
	f := newFixture(t)
	f.put(t, map[string]string{"in/second.json": f.get(t, "out/model.json")})
	return f, append(c.args(f), "--ledger", f.in("ledger/ledger.jsonl"))
}

// within starts a child in the folder out, with its standard output as a shell redirects it.
func (f *fixture) within(t *testing.T, redirect string, s crash.Spec) *crash.Child {
	t.Helper()
	if s.Stage == "" {
		s.Stage = "start"
	}
	s.Launch = []string{"bash", "-c", `cd "$0" && ` + redirect, f.in("out")}
	return f.start(t, s)
}

const asItIs = `exec "$@"`

// book reads the ledger: the runs of the attacked command, in order, and the digests of those that are released.
func (f *fixture) book(t testing.TB) (runs []string, digests map[string]string) {
	t.Helper()
	l := must.Get(ledger.Open(f.in("ledger/ledger.jsonl")))(t)
	entries := must.Get(l.Entries())(t)
	digests = map[string]string{}
	for _, e := range entries {
		switch {
		case slices.Contains(f.known, e.Run):
		case e.Charge != nil:
			runs = append(runs, e.Run)
		case e.Type == "finish":
			if digests[e.Run] != "" || e.Status != ledger.StatusReleased {
				t.Errorf("run %s ended as %q, and before by %q", e.Run, e.Status, digests[e.Run])
			}
			digests[e.Run] = e.Kept.Digest
		}
	}
	return runs, digests
}

// holding are the files of the folders that have a digest, but for the fixture's model, which a search copies.
func (f *fixture) holding(t testing.TB, digest string) (names []string) {
	t.Helper()
	for _, folder := range []string{"out", "ledger", "tmp"} {
		list := must.Get(os.ReadDir(f.in(folder)))(t)
		for _, file := range list {
			if name := folder + "/" + file.Name(); name != "out/model.json" && files.Digest([]byte(f.get(t, name))) == digest {
				names = append(names, name)
			}
		}
	}
	return names
}

// complete checks that every run of a command is charged and released once, and that its results have their names.
func (f *fixture) complete(t testing.TB, c unnamedCommand) {
	t.Helper()
	runs, digests := f.book(t)
	if len(runs) != c.runs || len(digests) != c.runs {
		t.Errorf("charged %q, released %v; want %d", runs, digests, c.runs)
	}
	for i, run := range runs {
		want := "out/" + c.file
		if i == 1 {
			want = "out/" + figuresOf
		}
		if got := f.holding(t, digests[run]); !slices.Equal(got, []string{want}) {
			t.Errorf("the result of run %s is in %v, want %s", run, got, want)
		}
	}
	f.wantClean(t)
}

// wantNothingLost checks that what is released is in a file.
func (f *fixture) wantNothingLost(t testing.TB) (runs []string, digests map[string]string) {
	t.Helper()
	runs, digests = f.book(t)
	for run, digest := range digests {
		if got := f.holding(t, digest); len(got) != 1 {
			t.Errorf("lost: run %s is released, and its result is in %v", run, got)
		}
	}
	return runs, digests
}

// Whenever a charged command is killed, what it was charged for is released in a file or goes on at no cost: the same
// command with --resume ends with every result under its name.
func TestKilledWithoutOut(t *testing.T) {
	stages := []string{"line durable#1", "trained#1", "kept#1", "line durable#2", "head renamed#2", "released#1"}
	// of a second run
	more := []string{"line durable#3", "trained#2", "kept#2", "line durable#4", "released#2", "model renamed#1"}
	for name, c := range unnamedCommands {
		at := stages
		if c.runs == 2 {
			at = append(more, stages...)
		}
		for i, stage := range at {
			if !sizes.Full() && i != 0 && stage != "released#1" {
				continue
			}
			t.Run(name+", "+stage, func(t *testing.T) {
				t.Parallel()
				f, args := unnamedFixture(t, c)
				f.within(t, asItIs, crash.Spec{Args: args, Stage: stage, Fault: "kill"}).End().Want(t, "attacked run", killed, "")
				runs, _ := f.wantNothingLost(t)
				if len(runs) == 0 {
					t.Fatal("no budget was charged")
				}
				f.within(t, asItIs, crash.Spec{Args: append(args, "--resume", runs[0])}).End().Want(t, "resume", exitOK, "")
				f.complete(t, c)
			})
		}
	}
}

// Standard output is a view of a file: whatever becomes of it, the result has its name, and the exit code is true.
func TestStandardOutputFails(t *testing.T) {
	for name, c := range unnamedCommands {
		for what, out := range map[string]struct {
			redirect string
			code     int
			says     string
		}{
			"full":   {`exec "$@" >/dev/full`, exitFailure, "is complete, and its whole result is in " + c.file},
			"pipe":   {`set -o pipefail; "$@" | true`, 128 + 13, ""},
			"closed": {`exec "$@" >&-`, exitOK, ""},
		} {
			if testing.Short() && what != "full" {
				continue
			}
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				f, args := unnamedFixture(t, c)
				f.within(t, out.redirect, crash.Spec{Args: args}).End().Want(t, what, out.code, out.says)
				f.complete(t, c)
			})
		}
	}
}

// A command that is complete ends with exit code 0 and a warning if the ledger cannot be read back for the total.
func TestReadBackFails(t *testing.T) {
	for name, c := range unnamedCommands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, args := unnamedFixture(t, c)
			child := f.within(t, asItIs, crash.Spec{Args: args, Stage: fmt.Sprint("model renamed#", c.runs), Fault: "pause"})
			child.Paused(t)
			head := f.in("ledger/ledger.jsonl.head")
			must.Do(t, os.Rename(head, f.in("in/head")))
			child.End().Want(t, "head away", exitOK, "because the ledger cannot be read back")
			must.Do(t, os.Rename(f.in("in/head"), head))
			f.complete(t, c)
		})
	}
}

// A default name that is taken is no error: the result gets one with the id of its run, and the command is as long as ever.
func TestTakenDefaultNames(t *testing.T) {
	for _, name := range []string{"evaluate", "local simulate", "search --models"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := unnamedCommands[name]
			f, args := unnamedFixture(t, c)
			for range 2 {
				f.within(t, asItIs, crash.Spec{Args: args}).End().Want(t, name, exitOK, "")
			}
			runs, digests := f.book(t)
			if len(runs) != 2 {
				t.Fatalf("charged %q", runs)
			}
			for i, want := range []string{c.file, files.WithRun(c.file, runs[1])} {
				if got := f.holding(t, digests[runs[i]]); !slices.Contains(got, "out/"+want) {
					t.Errorf("run %d is in %v, want %s", i, got, want)
				}
			}
			f.wantClean(t)
		})
	}
}

// A training whose private figures are missing saves its model, does not exit with 0, and prints a command that gets them
// without a third charge.
func TestHeldOutFiguresAreNotLost(t *testing.T) {
	for _, fault := range []struct {
		spec crash.Spec
		code int
		same bool
	}{
		{crash.Spec{Stage: "line durable#3", Fault: "read-only"}, exitResource, false}, // their charge
		{crash.Spec{Stage: "line durable#3", Fault: "read-only"}, exitResource, true},
		{crash.Spec{Stage: "trained#2", Fault: "read-only"}, exitResource, false},
		{crash.Spec{Stage: "trained#2", Fault: "read-only"}, exitResource, true},
		{crash.Spec{Stage: "line durable#4", Fault: "read-only"}, exitResource, false}, // their release
		{crash.Spec{Stage: "line durable#4", Fault: "read-only"}, exitResource, true},
		{crash.Spec{Stage: "trained#2", Fault: "interrupt"}, exitCancelled, false},
	} {
		t.Run(fmt.Sprintf("%s at %s, same command %v", fault.spec.Fault, fault.spec.Stage, fault.same), func(t *testing.T) {
			t.Parallel()
			c := unnamedCommands["train --holdout-epsilon"]
			f, args := unnamedFixture(t, c)
			if fault.spec.Fault == "read-only" {
				fault.spec.Folder, fault.spec.Nobody = f.in("ledger"), true
			}
			fault.spec.Args = args
			e := f.within(t, asItIs, fault.spec).End()
			f.writable()
			e.Want(t, "attacked run", fault.code,
				"is complete, and its model is tested.json; the private held-out figures are missing")
			runs, digests := f.wantNothingLost(t)
			if len(runs) != 2 || len(f.holding(t, digests[runs[0]])) != 1 {
				t.Fatalf("charged %q, released %v", runs, digests)
			}
			_, command, _ := strings.Cut(e.Stderr, "dyad: for them: dyad ")
			command, _, _ = strings.Cut(command, "\n")
			if !strings.HasSuffix(command, " --resume "+runs[1]) {
				t.Fatalf("the command would charge again: %s", command)
			}
			if fault.same { // the command of the training, with its run
				command = strings.Join(append(args, "--resume", runs[0]), " ")
				f.within(t, asItIs, crash.Spec{Args: append(args, "--resume", runs[0])}).End().Want(t, command, exitOK, "")
			} else {
				f.within(t, asItIs, crash.Spec{Args: append(strings.Fields(command), "--out", figuresOf)}).End().Want(t,
					command, exitOK, "")
			}
			f.complete(t, c)
			if m, err := readModel(f.in("out/" + c.file)); err != nil {
				t.Error(err)
			} else if _, err := readFigures(filepath.Join(f.in("out"), figuresOf), m); err != nil {
				t.Error(err)
			}
		})
	}
}
