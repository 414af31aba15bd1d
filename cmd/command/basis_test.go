package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A schema with basis: auto is decided by public numbers: the plan and the training say which basis and why, in a line, the model
// has it, and everything that reads data for the model works. Where the rule says none the model is one of a schema without the key.
func TestBasisAuto(t *testing.T) {
	dir := clinic(t, 400)
	text, err := os.ReadFile(filepath.Join(dir, "patients.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "auto.yaml", "basis: auto\n"+string(text))
	for _, c := range []struct{ epsilon, basis, says string }{{"1", "none", "would pay for them"}, {"1000", "cosine:6", "is at least"}} {
		args := []string{"train", "--data", "patients.csv", "--schema", "auto.yaml", "--holdout", "0.25", "--epsilon", c.epsilon, "--delta", "1e-5", "--force", "--yes"}
		code, out, errs := dyad(t, dir, args...)
		if code != exitOK || strings.Count(out, "basis       "+c.basis) != 1 || !strings.Contains(out, c.says) {
			t.Fatalf("train: exit %d\n%s", code, out+errs)
		}
		m, err := readModel(filepath.Join(dir, "model.json"))
		if err != nil {
			t.Fatal(err)
		}
		basis := m.Encoder.Schema().Basis
		if !strings.HasPrefix(basis, c.basis) || len(m.Weights) != m.Encoder.Dim() || (basis == "none") != (m.Encoder.Dim() == 12) {
			t.Errorf("epsilon %s: the model has basis %q and %d weights", c.epsilon, basis, len(m.Weights))
		}
		// n of the plan are the records to train with: 300 of 400.
		if code, out, errs := dyad(t, dir, "plan", "-n", "300", "--schema", "auto.yaml", "--epsilon", c.epsilon, "--delta", "1e-5"); code != exitOK || !strings.Contains(errs, "dyad: basis "+basis+", chosen by auto") {
			t.Errorf("plan: exit %d\n%s", code, out+errs)
		}
		for _, command := range [][]string{
			{"predict", "model.json", "--data", "patients.csv", "--out", "scores.csv", "--force"},
			{"evaluate", "model.json", "--data", "patients.csv", "--holdout", "0.25", "--exact-figures"},
			{"data", "check", "auto.yaml"}, {"data", "inspect", "patients.csv", "--schema", "auto.yaml"},
		} {
			if code, out, errs := dyad(t, dir, command...); code != exitOK {
				t.Errorf("%v: exit %d\n%s", command, code, out+errs)
			}
		}
	}
	var r trainResult
	if code, out, errs := dyad(t, dir, "train", "--data", "patients.csv", "--schema", "auto.yaml", "--task", "metric", "--force", "--yes", "--json"); code != exitOK || json.Unmarshal([]byte(out), &r) != nil || !strings.HasPrefix(r.Basis, "none, chosen by auto: the rule for bases is for scores") {
		t.Errorf("a metric: exit %d, %q\n%s", code, r.Basis, errs)
	}
	// Whoever does not know n and the budget asks for a name.
	if code, out, errs := dyad(t, dir, "data", "pack", "patients.csv", "--schema", "auto.yaml", "-o", "p.dyadpack"); code != exitInput || !strings.Contains(errs, "name a basis here") {
		t.Errorf("pack: exit %d\n%s", code, out+errs)
	}
}
