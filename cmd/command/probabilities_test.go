package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
)

// Models of moments have probabilities, at no charge; what has none says why before it reads the data, and damaged log odds are refused.
func TestPredictProbabilities(t *testing.T) {
	dir := clinic(t, 2000)
	args := []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--ledger", "l.jsonl"}
	for _, more := range [][]string{{"--out", "m.json"}, {"--out", "order.json", "--algorithm", "dpgdsc"}} {
		mustRun(t, dir, append(args, more...)...)
	}
	charged := must.Get(os.ReadFile(filepath.Join(dir, "l.jsonl")))(t)
	r := decoded[predictResult](t, dir, "predict", "m.json", "--data", "patients.csv", "--probabilities", "--json")
	if len(r.Probabilities) != 2000 || r.Scores != nil {
		t.Fatalf("%d probabilities and %d scores", len(r.Probabilities), len(r.Scores))
	}
	least, most := 1.0, 0.0
	for _, p := range r.Probabilities {
		least, most = min(least, p), max(most, p)
	}
	if !(0 < least && least < most && most < 1) {
		t.Errorf("probabilities from %g to %g", least, most)
	}
	if _, out, _ := dyad(t, dir, "predict", "m.json", "--data", "patients.csv", "--probabilities"); !strings.HasSuffix(strings.SplitN(out, "\n", 2)[0], ",probability") {
		t.Errorf("%.100s", out)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "l.jsonl")); err != nil || string(after) != string(charged) {
		t.Errorf("probabilities were charged (%v)", err)
	}
	for want, args := range map[string][]string{
		"the model has no probabilities": {"order.json", "--data", "absent.csv"},
		"leave one out":                  {"m.json", "--data", "patients.csv", "--threshold", "0"},
	} {
		ends(t, dir, exitInput, want, append([]string{"predict", "--probabilities"}, args...)...)
	}
	damage(t, dir, "m.json", func(raw map[string]any) { raw["log_odds"].(map[string]any)["slope"] = -1 })
	ends(t, dir, exitInput, "slope of at least 0", "predict", "damaged.json", "--data", "patients.csv")
}

// The log has the place and the rule of an error in a file, for clients that say it in words of their own.
func TestLogsHaveThePlaceOfAnError(t *testing.T) {
	dir := clinic(t, 64)
	text := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	lines := strings.SplitAfter(string(text), "\n")
	lines[3] = "abc" + lines[3][strings.Index(lines[3], ","):]
	write(t, dir, "wrong.csv", strings.Join(lines, ""))
	_, logged, entries := logOf(t, dir, "train", "--data", "wrong.csv", "--schema", "patients.yaml", "--out", "x.json")
	for _, e := range entries {
		if p := e.Place; p != nil && e.Level == levelError {
			if p.Row != 4 || p.Column == "" || !strings.HasPrefix(p.Rule, "the value is not a number") || !strings.Contains(e.Message, p.Rule) {
				t.Errorf("%+v", *p)
			}
			return
		}
	}
	t.Errorf("no place: %s", logged)
}
