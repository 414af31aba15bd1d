package command

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/must"
)

func readChosen(t *testing.T, dir, name string) *privateResult {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
	r := &privateResult{}
	must.Do(t, json.Unmarshal(text, r))
	return r
}

// TestThresholdIsAFunctionOfTheRelease: the threshold that a charged run chose is the one that its released figures
// give where no records are; the charge is that of the figures alone.
func TestThresholdIsAFunctionOfTheRelease(t *testing.T) {
	dir := clinic(t, 200)
	mustRun(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--epsilon", "4", "--out", "m.json")
	plan := mustRun(t, dir, "evaluate", "m.json", "--plan", "-n", "200", "--epsilon", "2", "--json")
	for i, args := range [][]string{nil, {"--aim", "accuracy"}, {"--aim", "sensitivity", "--at-least", "0.7"},
		{"--delta", "0", "--roc-thresholds=-0.1,0.05,0.2"}} {
		name := "t" + strconv.Itoa(i) + ".json"
		out := mustRun(t, dir, append([]string{"threshold", "m.json", "--data", "patients.csv", "--epsilon", "2", "--out",
			name}, args...)...)
		r := readChosen(t, dir, name)
		if r.Chosen == nil || r.Run == "" || !strings.HasPrefix(out, "threshold ") ||
			len(strings.Split(strings.TrimSpace(out), "\n")) > 5 {
			t.Fatalf("%v: %s", args, out)
		}
		if i < 3 && !strings.Contains(plan, strconv.FormatFloat(r.Guarantee.Epsilon, 'g', -1, 64)) {
			t.Errorf("epsilon %v is not that of the plan of the figures", r.Guarantee.Epsilon)
		}
		elsewhere := t.TempDir() // no records, no ledger
		for _, file := range []string{"m.json", name} {
			text := must.Get(os.ReadFile(filepath.Join(dir, file)))(t)
			write(t, elsewhere, file, string(text))
		}
		var aim []string
		if i == 1 || i == 2 {
			aim = args
		}
		mustRun(t, elsewhere, append([]string{"threshold", "m.json", "--figures", name, "--out", "again.json"}, aim...)...)
		if again := readChosen(t, elsewhere, "again.json"); !reflect.DeepEqual(again.Chosen, r.Chosen) ||
			!reflect.DeepEqual(again.Figures, r.Figures) {
			t.Errorf("%v: %+v from the release, %+v from the run", args, again.Chosen, r.Chosen)
		}
		if exists(filepath.Join(elsewhere, "state")) {
			t.Error("a choice among released figures made a ledger")
		}
	}
}

// TestPredictPrintsClasses: those of the scores, in every format, by a number or a file.
func TestPredictPrintsClasses(t *testing.T) {
	dir := clinic(t, 200)
	data := []string{"--data", "patients.csv", "--schema", "patients.yaml"}
	mustRun(t, dir, append([]string{"train", "--out", "m.json"}, data...)...)
	mustRun(t, dir, append([]string{"train", "--out", "other.json"}, data...)...)
	mustRun(t, dir, append([]string{"train", "--task", "metric", "--out", "metric.json"}, data...)...)
	mustRun(t, dir, "evaluate", "m.json", "--data", "patients.csv", "--epsilon", "1", "--out", "f.json")
	mustRun(t, dir, "threshold", "m.json", "--figures", "f.json", "--out", "t.json")
	ran(t, dir, "verify", "t.json").exits(exitFailure).prints("dyad threshold --figures")
	chosen := readChosen(t, dir, "t.json").Chosen.Threshold
	mustRun(t, dir, "predict", "m.json", "--data", "patients.csv", "--threshold", "t.json", "--out", "classes.csv")
	file := must.Get(os.ReadFile(filepath.Join(dir, "classes.csv")))(t)
	for threshold, text := range map[float64]string{chosen: string(file),
		0.01: mustRun(t, dir, "predict", "m.json", "--data", "patients.csv", "--threshold", "0.01"), -100: mustRun(t, dir, "predict", "m.json", "--data", "patients.csv", "--threshold=-100")} {
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || len(rows) != 201 || len(rows[0]) != 3 || rows[0][2] != "class" {
			t.Fatalf("%v: %d rows: %v", threshold, len(rows), err)
		}
		for _, row := range rows[1:] {
			score, err := strconv.ParseFloat(row[1], 64)
			if want := map[bool]string{true: "1", false: "0"}[score >= threshold]; err != nil || row[2] != want {
				t.Errorf("score %s at %v: class %q, want %q", row[1], threshold, row[2], want)
			}
		}
	}
	r := decoded[predictResult](t, dir, "predict", "m.json", "--data", "patients.csv", "--threshold", "0", "--json")
	if len(r.Classes) != 200 || r.Threshold == nil {
		t.Errorf("JSON: %+v", r.Threshold)
	}
	before := must.Get(os.ReadFile(filepath.Join(dir, "state", "dyad", "ledger.jsonl")))(t)
	for want, args := range map[string][]string{
		"ends in .csv":            {"predict", "m.json", "--data", "patients.csv", "--threshold", "0", "--out", "s.npy"},
		"belong to another model": {"predict", "other.json", "--data", "patients.csv", "--threshold", "t.json"},
		"no threshold":            {"predict", "m.json", "--data", "patients.csv", "--threshold", "f.json"},
		"want a score such as":    {"predict", "m.json", "--data", "patients.csv", "--threshold", "much"},
		"finite":                  {"predict", "m.json", "--data", "patients.csv", "--threshold", "inf"},
		"it has no threshold": {"threshold", "metric.json", "--data", "patients.csv", "--epsilon", "1",
			"--out", "x.json"},
		"set it with --aim": {"threshold", "m.json", "--data", "patients.csv", "--epsilon", "1", "--aim",
			"sensitivity", "--out", "x.json"},
		"takes no lower limit":    {"threshold", "m.json", "--figures", "f.json", "--at-least", "0.5", "--out", "x.json"},
		"--data is for --epsilon": {"threshold", "m.json", "--data", "patients.csv", "--out", "x.json"},
		"--data and --figures": {"threshold", "m.json", "--data", "patients.csv", "--figures", "f.json",
			"--out", "x.json"},
		"belong to another": {"threshold", "other.json", "--figures", "f.json", "--out", "x.json"},
		"exists":            {"threshold", "m.json", "--data", "patients.csv", "--epsilon", "1", "--out", "t.json"},
		"want above 0 and below 1": {"threshold", "m.json", "--data", "patients.csv", "--epsilon", "1", "--confidence", "2",
			"--out", "x.json"},
		"": {"threshold", "m.json", "--data", "absent.csv", "--epsilon", "1", "--out", "x.json"},
	} {
		ran(t, dir, args...).exits(exitInput).warns(want).printsOnly("")
	}
	if after, err := os.ReadFile(filepath.Join(dir, "state", "dyad", "ledger.jsonl")); err != nil ||
		string(after) != string(before) || exists(filepath.Join(dir, "x.json")) {
		t.Errorf("something was charged or written: %v", err)
	}
}
