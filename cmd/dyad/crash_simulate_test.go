//go:build unix

package main

import (
	"os"
	"testing"
)

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
