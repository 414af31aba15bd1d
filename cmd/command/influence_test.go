package command

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/must"
)

// TestInfluence ranks the records of linear models, metrics and networks, and leaves some out.
func TestInfluence(t *testing.T) {
	dir := clinic(t, 160)
	text := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	lines := strings.SplitAfter(string(text), "\n")
	for name, part := range map[string][]string{"patients.csv": lines[1:61], "others.csv": lines[61:161]} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(lines[0]+strings.Join(part, "")), 0o600))
	}
	run := func(code int, want string, args ...string) string {
		t.Helper()
		return ran(t, dir, args...).exits(code).says(want).out
	}
	models := map[string][]string{
		"linear.json": nil,
		"metric.json": {"--task", "metric"},
		"net.json":    {"--model", "mlp", "--hidden", "3"},
		"hinge.json":  {"--loss", "hinge", "--algorithm", "gradient-perturbation"},
	}
	if testing.Short() { // the others take seconds
		models = map[string][]string{"linear.json": nil, "net.json": models["net.json"]}
	}
	for name, flags := range models {
		run(exitOK, "", append([]string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--public-data", "--epsilon", "1", "--out", name}, flags...)...)
		args := []string{"lab", "influence", name, "--data", "patients.csv", "--on", "others.csv", "--public-data", "--l2", "0.05", "--json", "--check", "6", "--out", name + ".csv", "--force"}
		if name == "hinge.json" {
			run(exitInput, "Moreau envelope", args...)
			args = append(args, "--envelope", "0.5")
		}
		if name == "linear.json" {
			args = append(args, "--stability", "--plot", "linear.svg")
		}
		var r influenceResult
		must.Do(t, json.Unmarshal([]byte(run(exitOK, "", args...)), &r))
		least := 0.95
		if name == "net.json" {
			least = 0.8
		}
		if r.Records != 60 || len(r.Changes) != 60 || len(r.Checked) != 6 || r.Pearson == nil || *r.Pearson < least || *r.Rank < 0.5 {
			t.Errorf("%s: %d checked, correlations %v and %v", name, len(r.Checked), *r.Pearson, *r.Rank)
		}
		if r.PL == nil || *r.PL < 0.05*0.999 && name != "net.json" {
			t.Errorf("%s: the ratio %v is below L2, which it cannot be for a convex loss", name, *r.PL)
		}
		if name == "linear.json" && (r.Uniform == nil || r.UniformBound == nil || !(*r.Uniform <= *r.UniformBound)) {
			t.Errorf("stability %v, bound %v", r.Uniform, r.UniformBound)
		}
		if name == "linear.json" && (r.Expected == nil || !(*r.Expected > 0 && *r.Expected < *r.Uniform)) {
			t.Errorf("expected stability %v of %v", r.Expected, r.Uniform)
		}
		text := must.Get(os.ReadFile(filepath.Join(dir, name+".csv")))(t)
		rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil || len(rows) != 61 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		if v, err := strconv.ParseFloat(rows[1][1], 64); err != nil || v != r.Changes[0] {
			t.Errorf("%s: the table has %v, the result %v", name, rows[1], r.Changes[0])
		}
	}
	must.Check(os.Stat(filepath.Join(dir, "linear.svg")))(t)
	run(exitOK, "without the record the mean loss changes by", "lab", "influence", "linear.json", "--data", "patients.csv", "--exact-figures")
	ran(t, dir, "lab", "influence", "linear.json", "--data", "patients.csv", "--exact-figures", "--stability", "--log-format", "json").warns("--stability takes ", `"message":"stability","done":60,"total":60`)
	run(exitInput, "--exact-figures", "lab", "influence", "linear.json", "--data", "patients.csv")
	run(exitInput, "exists; choose another name", "lab", "influence", "linear.json", "--data", "patients.csv", "--public-data", "--out", "linear.json.csv")
	run(exitInput, "coefficient of an influence is -1", "lab", "influence", "linear.json", "--data", "patients.csv", "--public-data", "--l2=-1")
	run(exitInput, ".svg", "lab", "influence", "linear.json", "--data", "patients.csv", "--public-data", "--plot", "x.txt")
	run(exitInput, "a network has no Moreau envelope; choose a smooth loss", "lab", "influence", "net.json", "--data", "patients.csv", "--public-data", "--envelope", "1")
}
