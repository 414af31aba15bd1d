package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
)

// inParts cuts a CSV file with a header into files of k rows.
func inParts(t *testing.T, dir, name string, k int) (parts []string) {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	for at := 1; at < len(lines); at += k {
		part := "part-" + string(rune('a'+len(parts))) + ".csv"
		write(t, dir, part, lines[0]+strings.Join(lines[at:min(at+k, len(lines))], ""))
		parts = append(parts, part)
	}
	return parts
}

// Every command with --data takes several files as one: what it computes is to the bit what it
// computes of one file with all rows.
func TestCommandsReadSeveralFiles(t *testing.T) {
	dir := clinic(t, 300)
	inParts(t, dir, "patients.csv", 120)
	for _, args := range [][]string{
		{"train", "--schema", "patients.yaml", "--epsilon", "1", "--seed", "7", "--public-data", "--out", "m.json"},
		{"train", "--schema", "patients.yaml", "--epsilon", "1", "--algorithm", "moments", "--seed", "7", "--public-data",
			"--out", "moments.json"},
		{"train", "--schema", "patients.yaml", "--epsilon", "1", "--task", "metric", "--seed", "7", "--public-data", "--out",
			"metric.json"},
		{"evaluate", "m.json", "--public-data"},
		{"evaluate", "metric.json", "--public-data", "--neighbours", "patients.csv"},
		{"predict", "m.json", "--out", "scores.csv"},
		{"transform", "metric.json", "--out", "mapped.csv"},
		{"lab", "influence", "m.json", "--public-data", "--out", "influence.csv"},
		{"lab", "curve", "--schema", "patients.yaml", "--public-data", "--epsilon", "1", "--splits", "1",
			"--out", "curve.csv"},
		{"local", "simulate", "--schema", "patients.yaml", "--method", "djw", "--public-data", "--seed", "1",
			"--out", "local.json"},
		{"data", "inspect", "--schema", "patients.yaml"},
	} {
		var outs [2]string
		for i, data := range []string{"patients.csv", "part-*.csv"} {
			more := []string{"--data", data, "--force", "--json"}
			switch {
			case args[0] == "data":
				more = []string{data, "--json"}
			case args[0] == "evaluate":
				more = []string{"--data", data, "--json"}
				if len(args) > 3 {
					args[4] = data
				}
			case args[1] == "curve":
				more = []string{"--data", data, "--json"}
				old, _ := filepath.Glob(filepath.Join(dir, "curve*"))
				for _, f := range old {
					_ = os.Remove(f)
				}
			}
			out := mustRun(t, dir, append(append([]string{}, args...), more...)...)
			outs[i] = out
			for _, name := range []string{"m.json", "moments.json", "metric.json", "scores.csv", "mapped.csv", "influence.csv",
				"local.json"} {
				if args[len(args)-1] == name {
					text := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
					outs[i] = string(text)
					var m map[string]any
					if json.Unmarshal(text, &m) == nil {
						b, _ := json.Marshal([]any{m["weights"], m["guarantee"], m["features"]})
						outs[i] = string(b)
					}
				}
			}
		}
		strip := func(s string) string {
			s = strings.NewReplacer("part-*.csv", "F", "patients.csv", "F", `"part-a"`, `"patients"`).Replace(s)
			lines := strings.Split(s, "\n")
			for i, l := range lines {
				if strings.Contains(l, "seconds") || strings.Contains(l, "may_name_persons") {
					lines[i] = ""
				}
			}
			return strings.Join(lines, "\n")
		}
		if args[1] != "curve" && args[0] != "data" && (len(outs[0]) < 20 || strip(outs[0]) != strip(outs[1])) {
			t.Errorf("dyad %v: of one file %.300s\nof three %.300s", args, outs[0], outs[1])
		}
	}
	// Converting puts them into one file again.
	mustRun(t, dir, "data", "convert", "part-*.csv", "again.csv", "--schema", "patients.yaml")
	mustRun(t, dir, "data", "convert", "patients.csv", "direct.csv", "--schema", "patients.yaml")
	again, _ := os.ReadFile(filepath.Join(dir, "again.csv"))
	if direct, _ := os.ReadFile(filepath.Join(dir, "direct.csv")); len(again) < 1000 || string(again) != string(direct) {
		t.Error("converting three files gives other rows than converting one")
	}
}

// The ledger knows a list by the contents of its files in their order: names do not matter, another order and
// one more file are other data of the same people, and rows that moved to another file are, too. A run
// is resumed on the same list only.
func TestLedgerKnowsAListByContentsAndOrder(t *testing.T) {
	dir := clinic(t, 300)
	inParts(t, dir, "patients.csv", 100)
	train := func(flags ...string) string {
		t.Helper()
		out, errs := ran(t, dir, append([]string{"train", "--verbose", "--schema", "patients.yaml", "--epsilon", "0.1",
			"--force"}, flags...)...).exits(exitOK).texts()
		return out + errs
	}
	const other = "differ from the data of run"
	if errs := train("--data", "part-*.csv"); strings.Contains(errs, other) {
		t.Errorf("first run: %s", errs)
	}
	for from, to := range map[string]string{"part-a.csv": "x1.csv", "part-b.csv": "x2.csv", "part-c.csv": "x3.csv"} {
		must.Do(t, os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)))
	}
	if errs := train("--data", "x1.csv", "--data", "x[23].csv"); strings.Contains(errs, other) {
		t.Errorf("other names, the same contents: %s", errs)
	}
	for what, flags := range map[string][]string{
		"another order": {"--data", "x2.csv", "--data", "x1.csv", "--data", "x3.csv"},
		"a file less":   {"--data", "x1.csv", "--data", "x2.csv"},
		"one file":      {"--data", "patients.csv"},
	} {
		if errs := train(flags...); !strings.Contains(errs, other) {
			t.Errorf("%s is taken for the same data: %q", what, errs)
		}
	}
	ends(t, dir, exitInput, "twice", "train", "--force", "--schema", "patients.yaml", "--data", "x1.csv",
		"--data", "x?.csv")
	ends(t, dir, exitInput, "quote a pattern (--data 'part-", "train", "--schema", "patients.yaml", "--data",
		"x1.csv", "x2.csv")
	ran(t, dir, "predict", "model.json", "--data", "x*.csv", "--out", "x2.csv", "--force").exits(exitInput)
}
