package tree

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/must"
)

// mostInputs and inputBytes bound what every run of the tests reads of each target.
const (
	mostInputs = 50
	inputBytes = 1 << 14
)

// TestFuzzedTargetsHaveACorpus: each target of the table of executions is there, and starts from committed inputs, few and small;
// no corpus is left of a target that is gone, which Go would not read.
func TestFuzzedTargetsHaveACorpus(t *testing.T) {
	t.Chdir("../..")
	f := must.Get(os.Open(filepath.FromSlash("bench/results/fuzz-total.csv")))(t)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 40 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		if n, err := strconv.Atoi(row[2]); err != nil || n < 1 {
			t.Errorf("%s of %s: %q executions", row[1], row[0], row[2])
		}
		if !hasTarget(t, row[0], row[1]) {
			t.Errorf("%s has no %s", row[0], row[1])
		}
		if why := corpus(t, row[0], row[1]); why != "" {
			t.Errorf("%s of %s: %s; run .ci/fuzz and .ci/corpus", row[1], row[0], why)
		}
	}
	if corpus(t, "engine", "FuzzNothing") == "" {
		t.Error("a corpus is found that is not there")
	}
	var all []string
	for _, room := range []string{"*/", "*/*/", "*/*/*/"} {
		all = append(all, must.Get(filepath.Glob(filepath.FromSlash(room+"testdata/fuzz/*")))(t)...)
	}
	if len(all) < 40 {
		t.Fatalf("%d folders of inputs", len(all))
	}
	for _, folder := range all {
		at, target, _ := strings.Cut(filepath.ToSlash(folder), "/testdata/fuzz/")
		if !hasTarget(t, at, target) {
			t.Errorf("%s is of no target", folder)
		}
	}
}

// corpus returns what is wrong with the committed inputs of a target.
func corpus(t *testing.T, folder, target string) string {
	t.Helper()
	inputs, err := os.ReadDir(filepath.Join(filepath.FromSlash(folder), "testdata", "fuzz", target))
	switch {
	case err != nil:
		return "it has no corpus"
	case len(inputs) < 1 || len(inputs) > mostInputs:
		return strconv.Itoa(len(inputs)) + " inputs"
	}
	for _, input := range inputs {
		if info, err := input.Info(); err != nil || info.Size() > inputBytes {
			return input.Name() + " is too long"
		}
	}
	return ""
}
