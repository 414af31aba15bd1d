package command

import (
	"os"
	"path/filepath"
	"testing"

	"dyad/internal/must"
)

// TestTrainingWithoutPrivacyIsAskedFor: on private data it needs --yes where nobody can be asked,
// and without it no data are read and nothing is charged.
func TestTrainingWithoutPrivacyIsAskedFor(t *testing.T) {
	dir := clinic(t, 60)
	must.Do(t, os.Remove(filepath.Join(dir, "patients.csv"))) // whoever reads it fails otherwise
	from := []string{"--data", "patients.csv", "--schema", "patients.yaml", "--mode", "nonprivate"}
	for _, command := range [][]string{
		{"train"}, {"pairs", "train", "--density", "2", "--degree-cap", "6"}, {"online", "--records", "100", "--every", "10", "--state", "s"},
	} {
		args := append(command, from...)
		ran(t, dir, args...).exits(exitInput).warns("no finite epsilon", "--yes").lacks("patients.csv")
		must.Err(os.Stat(filepath.Join(dir, "state")))(t, "%v: a ledger was made", command)
		for _, more := range []string{"--yes", "--public-data"} { // the file is missing: they go on to read it
			ends(t, dir, exitInput, "patients.csv", append(args, more)...)
			_ = os.RemoveAll(filepath.Join(dir, "state"))
			_ = os.Remove(filepath.Join(dir, "s"))
		}
	}
}
