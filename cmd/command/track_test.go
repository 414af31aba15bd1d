package command

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// tracked is every file below a folder of runs, with its path and text; paths of the machine are masked.
func tracked(t *testing.T, dir, root string) string {
	t.Helper()
	var b strings.Builder
	must.Do(t, filepath.WalkDir(filepath.Join(dir, root), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		b.WriteString("--- " + path + "\n" + string(text) + "\n")
		return err
	}))
	return strings.NewReplacer(filepath.ToSlash(dir), "DIR", dir, "DIR", "/"+root, "/ROOT").Replace(b.String())
}

// The run folder of a private run is a function of what it released and of public numbers: made again from the
// released files alone it has the same bytes. So it has on a neighbour with the same release.
func TestRunFoldersOfNeighboursWithOneRelease(t *testing.T) {
	sizes.NotShort(t, "slow")
	data := []string{"--data", "patients.csv", "--schema", "patients.yaml"}
	for name, args := range map[string][]string{
		"train":  append([]string{"train", "--out", "m.json", "--track", "runs", "--holdout", "0.3"}, data...),
		"metric": append([]string{"train", "--out", "m.json", "--track", "runs", "--task", "metric"}, data...),
		"pairs": append([]string{"pairs", "train", "--density", "2", "--degree-cap", "6", "--epochs", "1", "--out",
			"m.json", "--track", "runs"}, data...),
		"evaluate": {"evaluate", "m.json", "--data", "patients.csv", "--epsilon", "2", "--out", "f.json", "--track", "runs"},
	} {
		a, b := neighbouringClinics(t, 64)
		again := []string{"report", "m.json", "--out", "again.html", "--force", "--track", "again"}
		if name == "evaluate" {
			again = append(again, "--figures", "f.json")
			for _, dir := range []string{a, b} {
				mustRun(t, dir, append([]string{"train", "--out", "m.json"}, data...)...)
			}
		}
		for _, dir := range []string{a, b} {
			mustRun(t, dir, args...)
			mustRun(t, dir, again...)
			if x, y := tracked(t, dir, "runs"), tracked(t, dir, "again"); x != y || strings.Count(x, "--- ") < 20 {
				t.Errorf("%s: the folder has more than what was released:\n%s", name, firstDifference(x, y))
			}
			must.Do(t, os.RemoveAll(filepath.Join(dir, "again")))
		}
		if tracked(t, a, "runs") == tracked(t, b, "runs") {
			t.Errorf("%s: the folders of two releases are equal, so that they show none", name)
		}
		for _, file := range []string{"m.json", "f.json", filepath.Join("state", "dyad", "ledger.jsonl"),
			filepath.Join("state", "dyad", "ledger.jsonl.head")} {
			if text, err := os.ReadFile(filepath.Join(a, file)); err == nil {
				write(t, b, file, string(text))
			}
		}
		mustRun(t, b, again...)
		if x, y := tracked(t, a, "runs"), tracked(t, b, "again"); x != y {
			t.Errorf("%s: a record shows in the folder:\n%s", name, firstDifference(x, y))
		}
	}
	// The comparison sees an exact figure: of public data the folder has some.
	a, _ := neighbouringClinics(t, 64)
	mustRun(t, a, append([]string{"train", "--out", "m.json", "--track", "runs", "--holdout", "0.5", "--public-data"},
		data...)...)
	mustRun(t, a, "report", "m.json", "--track", "again")
	if x := tracked(t, a, "runs"); x == tracked(t, a, "again") || !strings.Contains(x, "/metrics/auc\n") {
		t.Error("exact figures of public records were not noticed")
	}
}

// A training and an evaluation of its model are one run, with the guarantee of each; what is wrong with the folder is
// found before anything is charged.
func TestRunFolder(t *testing.T) {
	dir := clinic(t, 64)
	data := []string{"--data", "patients.csv", "--schema", "patients.yaml"}
	mustRun(t, dir, append([]string{"train", "--out", "m.json", "--track", "runs", "--epsilon", "2"}, data...)...)
	mustRun(t, dir, "evaluate", "m.json", "--data", "patients.csv", "--epsilon", "1", "--track", "runs")
	found, err := filepath.Glob(filepath.Join(dir, "runs", "*", "*", "artifacts", "metrics.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d runs, %v", len(found), err)
	}
	text := must.Get(os.ReadFile(found[0]))(t)
	var metrics map[string]float64
	if err := json.Unmarshal(text, &metrics); err != nil || metrics["epsilon"] > 2 || metrics["epsilon"] < 1.9 ||
		metrics["evaluation_epsilon"] > 1 || metrics["auc_high"] <= metrics["auc_low"] {
		t.Errorf("%v: %s", err, text)
	}
	run := filepath.Dir(filepath.Dir(found[0]))
	for name, want := range map[string]string{"params/task": "auc", "params/unit": "one record",
		"tags/mlflow.source.type": "LOCAL"} {
		if text, err := os.ReadFile(filepath.Join(run, name)); err != nil || string(text) != want {
			t.Errorf("%s is %q, want %q: %v", name, text, want, err)
		}
	}
	model, err := os.ReadFile(filepath.Join(dir, "m.json"))
	if copied, e := os.ReadFile(filepath.Join(run, "artifacts", "model.json")); err != nil || e != nil ||
		string(copied) != string(model) {
		t.Errorf("the model is not an artifact: %v, %v", err, e)
	}
	ledger := filepath.Join(dir, "state", "dyad", "ledger.jsonl")
	before := must.Get(os.ReadFile(ledger))(t)
	write(t, dir, "taken", "mine")
	for want, args := range map[string][]string{
		"cannot be made": append([]string{"train", "--out", "n.json", "--track", "taken"}, data...),
		"--track cannot be made": append([]string{"pairs", "train", "--density", "2", "--degree-cap", "6", "--out",
			"n.json", "--track", "taken"}, data...),
		"the folder of --track cannot": {"evaluate", "m.json", "--data", "patients.csv", "--epsilon", "1",
			"--track", "taken"},
		"exact private figures": append([]string{"train", "--out", "n.json", "--holdout", "0.3", "--exact-figures",
			"--track", "runs"}, data...),
		"--exact-figures and --track exclude each other": {"evaluate", "m.json", "--data", "patients.csv", "--exact-figures",
			"--track", "runs"},
		"--plan and --track exclude": {"evaluate", "m.json", "--plan", "-n", "64", "--epsilon", "1", "--track", "runs"},
	} {
		ends(t, dir, exitInput, want, args...)
	}
	if after, err := os.ReadFile(ledger); err != nil || string(after) != string(before) ||
		exists(filepath.Join(dir, "n.json")) {
		t.Errorf("something was charged or written: %v", err)
	}
}
