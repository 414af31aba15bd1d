package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
)

// Models of every version of the format are read and score as they did when they were
// written (docs/formats.md). Add a file for a new version; never change an old one.
func TestOldModelsAreRead(t *testing.T) {
	want := map[string]string{
		"model-1-plan.json":   "row,score\n1,-0.0509996399956012\n2,0\n3,0.0509996399956012\n",   // with a checksum and a plan
		"model-1-plan-2.json": "row,score\n1,-0.09889559471602896\n2,0\n3,0.09889559471602896\n", // with the rows of its plan
		"model-1.json":        "row,score\n1,-0.011540068895556008\n2,0\n3,0.011540068895556008\n",
		"model-2.json":        "row,score\n1,-1.6700871108806912\n2,-1.3828502275934644\n3,2.3069555859181157\n", // a network
	}
	names, err := filepath.Glob(filepath.FromSlash("testdata/formats/model-*.json"))
	if err != nil || len(names) != len(want) {
		t.Fatalf("models %q, %v: want %d", names, err, len(want))
	}
	for _, format := range []string{"dyad-model/1", "dyad-model/2"} {
		if current := "model-" + strings.TrimPrefix(format, "dyad-model/") + ".json"; want[current] == "" {
			t.Errorf("no model of the current format: %s", current)
		}
	}
	dir := t.TempDir()
	for _, name := range names {
		text := must.Get(os.ReadFile(name))(t)
		write(t, dir, filepath.Base(name), string(text))
	}
	write(t, dir, "new.csv", "age,dose,out\n20,1,no\n50,5,yes\n80,9,yes\n")
	for name, scores := range want {
		ran(t, dir, "predict", name, "--data", "new.csv").exits(exitOK).printsOnly(scores)
	}
}
