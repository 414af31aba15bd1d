package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
)

// A run that commit 37eed79 was stopped in, with its ledger, its checkpoint and the model of another run of the same training: the
// checkpoint is refused with its cure, and the run goes on at no cost without it; the models are never refused.
func TestGenuineOldRunsAreNeverRefused(t *testing.T) {
	const id = "GUOZPFZQLGYUNII65ZB3ATREK7"
	dir := t.TempDir()
	must.Do(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "formats", "37eed79-stopped"))))
	for _, end := range []string{"", ".head", "." + id + ".checkpoint"} {
		must.Do(t, os.Rename(filepath.Join(dir, "ledger.jsonl"+end), filepath.Join(dir, "l.jsonl"+end)))
	}
	args := strings.Fields("train --data patients.csv --schema patients.yaml --epsilon 1 --algorithm " +
		"gradient-perturbation --radius 1 --step-size 0.001 --steps 20000 --ledger l.jsonl --out run.json --resume " + id)
	ends(t, dir, exitInput, "remove the file to start the run from step 1, at no further cost", args...)
	must.Do(t, os.Remove(filepath.Join(dir, "l.jsonl."+id+".checkpoint")))
	mustRun(t, dir, args...)
	if text, err := os.ReadFile(filepath.Join(dir, "l.jsonl")); err != nil ||
		strings.Count(string(text), `"type":"charge"`) != 2 {
		t.Errorf("want the two charges that were there: %v\n%s", err, text)
	}
	for _, stage := range []string{"as it is", "compacted"} {
		for _, name := range []string{"run.json", "steps.json"} {
			trusted(t, dir, name, written{args: "of 37eed79", model: true, export: "--python"}, stage)
		}
		mustRun(t, dir, "ledger", "compact", "--ledger", "l.jsonl")
	}
}
