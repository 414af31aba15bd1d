//go:build unix

package main

import (
	"os"
	"testing"
)

// A simulation on private data keeps its model before the ledger has it as released, so
// that a kill afterwards loses nothing, and one before shows nothing.
func TestSimulationKeepsItsModel(t *testing.T) {
	for stage, paid := range map[string]bool{"charged": false, "model written": false, "line durable#2": true, "released": true, "model renamed": true} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			name, nth := stage, 1
			if stage == "line durable#2" {
				name, nth = "line durable", 2
			}
			out := f.in("out/local.json")
			args := []string{"local", "simulate", "--data", f.in("in/patients.csv"), "--schema", f.in("in/patients.yaml"), "--ledger", f.in("ledger/ledger.jsonl"), "--out", out}
			if e := f.start(t, childSpec{Args: args, Stage: name, Nth: nth, Fault: "kill"}).end(); e.code != killed {
				t.Fatalf("exit code %d: %s", e.code, e.stderr)
			}
			run, charges, finished := f.attacked(t)
			if charges != 1 || (len(finished) == 1) != paid {
				t.Fatalf("%d charges, %q", charges, finished)
			}
			resume := append(args, "--resume", run)
			switch {
			case !paid:
				f.dyad(resume...).want(t, "nothing was released", exitInput, "no model of run")
			case stage == "model renamed":
			default:
				f.saveKept(t, run, args)
			}
			if exists(out) != paid {
				t.Fatalf("the model is there: %v", exists(out))
			}
			if !paid {
				return
			}
			if m, err := readModel(out); err != nil || m.Run != run {
				t.Errorf("%v", err)
			}
			f.dyad(append(resume, "--force")...).want(t, "saved before", exitInput, "no model of run")
		})
	}
}

// A simulation whose folder is gone ends with its model in another one.
func TestSimulationSavedElsewhere(t *testing.T) {
	f := newFixture(t)
	if err := os.Mkdir(f.in("gone"), 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{"local", "simulate", "--data", f.in("in/patients.csv"), "--schema", f.in("in/patients.yaml"), "--ledger", f.in("ledger/ledger.jsonl"), "--out", f.in("gone/local.json")}
	child := f.start(t, childSpec{Args: args, Stage: "charged", Nth: 1, Fault: "pause"})
	child.paused(t)
	if err := os.Remove(f.in("gone")); err != nil {
		t.Fatal(err)
	}
	child.end().want(t, "folder gone", exitElsewhere, "saved elsewhere, as")
	run, _, _ := f.attacked(t)
	if err := os.Mkdir(f.in("gone"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.saveKept(t, run, args)
}
