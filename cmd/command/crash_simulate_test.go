//go:build unix

package command

import (
	"os"
	"testing"

	"dyad/internal/crash"
	"dyad/internal/must"
)

// A simulation whose folder is gone ends with its model in another one.
func TestSimulationSavedElsewhere(t *testing.T) {
	f := newFixture(t)
	must.Do(t, os.Mkdir(f.in("gone"), 0o700))
	args := []string{"local", "simulate", "--data", f.in("in/patients.csv"), "--schema", f.in("in/patients.yaml"), "--ledger", f.in("ledger/ledger.jsonl"), "--out", f.in("gone/local.json")}
	child := f.start(t, crash.Spec{Args: args, Stage: "charged", Fault: "pause"})
	child.Paused(t)
	must.Do(t, os.Remove(f.in("gone")))
	child.End().Want(t, "folder gone", exitElsewhere, "saved under another name, ")
	run, _, _ := f.attacked(t)
	must.Do(t, os.Mkdir(f.in("gone"), 0o700))
	f.saveKept(t, run, args)
}
