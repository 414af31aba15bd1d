package command

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
)

// A result has no fact about records without noise, so it does not tell whether its records are the records of an earlier
// run. In a released file, "differ" would tell that one record is another, with certainty, to somebody who knows all
// records of the earlier run. Only standard error tells.
func TestResultsDoNotCompareRecords(t *testing.T) {
	dir := clinic(t, 60)
	rows := strings.SplitAfter(must.Get(readText(filepath.Join(dir, "patients.csv")))(t), "\n")
	rows[5] = rows[6]
	write(t, dir, "neighbour.csv", strings.Join(rows, ""))
	ran(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "first.json").exits(exitOK)
	const changed, alias = "differ from the data of run", "were already charged under id"
	for _, c := range []struct {
		says string
		args []string
	}{
		{changed, []string{"train", "--data", "neighbour.csv", "--schema", "patients.yaml", "--report", "page.html",
			"--track", "runs", "--holdout", "0.3", "--holdout-epsilon", "1"}},
		{alias, []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--data-id", "renamed"}},
		{changed, []string{"evaluate", "first.json", "--data", "neighbour.csv", "--epsilon", "1"}},
		{changed, []string{"cluster", "-k", "2", "--data", "neighbour.csv", "--schema", "patients.yaml"}},
	} {
		out := filepath.Join(dir, "out")
		must.Do(t, os.Mkdir(out, 0o700))
		for _, flag := range []string{"--json", "--verbose"} {
			stdout, stderr := ran(t, dir, append(c.args, "--out", "out/result.json", "--force", flag)...).exits(exitOK).texts()
			if strings.Contains(stdout, changed) || strings.Contains(stdout, alias) {
				t.Errorf("%q tells on standard output whether records are the same", c.args)
			}
			if !strings.Contains(stderr, c.says) {
				t.Errorf("%q does not tell the owner: %s", c.args, stderr)
			}
		}
		must.Do(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			if text, err := readText(name); err != nil || strings.Contains(text, changed) || strings.Contains(text, alias) {
				t.Errorf("%q: %s tells whether records are the same, %v", c.args, name, err)
			}
			return nil
		}))
		must.Do(t, os.RemoveAll(out))
	}
}

func readText(name string) (string, error) {
	text, err := os.ReadFile(name)
	return string(text), err
}
