package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
)

// A schema with basis: auto, or without the key, is decided by public numbers: the plan and the training say which basis and why, in a line,
// the model has it, and everything that reads data for the model works. Without the key there is no line where the rule says none.
func TestBasisAuto(t *testing.T) {
	dir := clinic(t, 400)
	text := must.Get(os.ReadFile(filepath.Join(dir, "patients.yaml")))(t)
	write(t, dir, "auto.yaml", "basis: auto\n"+string(text))
	for _, c := range []struct{ epsilon, basis, says string }{
		{"1", "none", "want at least 350"}, {"1000", "spike:6", "this basis needs 350"},
	} {
		args := []string{"train", "--data", "patients.csv", "--schema", "auto.yaml", "--holdout", "0.25", "--epsilon",
			c.epsilon, "--delta", "1e-5", "--force", "--yes"}
		ran(t, dir, args...).exits(exitOK).prints(c.says).counts(1, "basis       "+c.basis)
		m := must.Get(readModel(filepath.Join(dir, "model.json")))(t)
		basis := m.Encoder.Schema().Basis
		if !strings.HasPrefix(basis, c.basis) || len(m.Weights) != m.Encoder.Dim() ||
			(basis == "none") != (m.Encoder.Dim() == 12) {
			t.Errorf("epsilon %s: the model has basis %q and %d weights", c.epsilon, basis, len(m.Weights))
		}
		// n of the plan are the records to train with: 300 of 400.
		ran(t, dir, "plan", "-n", "300", "--schema", "auto.yaml", "--epsilon", c.epsilon, "--delta",
			"1e-5").exits(exitOK).warns("dyad: basis " + basis + ", chosen by auto")
		for _, command := range [][]string{
			{"predict", "model.json", "--data", "patients.csv", "--out", "scores.csv", "--force"},
			{"evaluate", "model.json", "--data", "patients.csv", "--holdout", "0.25", "--exact-figures"},
			{"data", "check", "auto.yaml"}, {"data", "inspect", "patients.csv", "--schema", "auto.yaml"},
		} {
			mustRun(t, dir, command...)
		}
	}
	r := decoded[trainResult](t, dir, "train", "--data", "patients.csv", "--schema", "auto.yaml", "--task", "metric",
		"--force", "--yes", "--json")
	must.Contain(t, r.Basis, "none, chosen by auto: only the algorithm moments")
	// Without the key a line is printed where it matters; basis: none, and files that are encoded already or cannot be read twice, have no basis.
	write(t, dir, "none.yaml", "basis: none\n"+string(text))
	mustRun(t, dir, "data", "pack", "patients.csv", "--schema", "patients.yaml", "-o", "patients.dyadpack")
	for _, c := range []struct{ data, schema, epsilon, basis string }{
		{"patients.csv", "patients", "1", ""}, {"patients.csv", "patients", "1000", "spike:6"},
		{"patients.csv", "none", "1000", ""}, {"patients.dyadpack", "patients", "1000", ""},
	} {
		r := decoded[trainResult](t, dir, "train", "--data", c.data, "--schema", c.schema+".yaml", "--epsilon", c.epsilon,
			"--delta", "1e-5", "--force", "--yes", "--json")
		m := must.Get(readModel(filepath.Join(dir, "model.json")))(t)
		if named, _, _ := strings.Cut(r.Basis, ","); named != c.basis || (m.Encoder.Dim() > 12) != (c.basis != "") {
			t.Errorf("%v: %q, and %d features", c, r.Basis, m.Encoder.Dim())
		}
	}
	// Training within the groups of --group-column gets no basis, and neither does its plan, whose schema names no group.
	ends(t, dir, exitOK, "d = 12 features", "plan", "-n", "400", "--schema", "patients.yaml", "--group-sizes", "200,200",
		"--epsilon", "1000", "--delta", "1e-5")
	// All records of the file are encoded, also those that are held out: too many of them have no basis.
	ran(t, dir, "plan", "-n", "100000000", "--holdout", "0.99", "--schema",
		"auto.yaml").exits(exitOK).warns("basis none, chosen by auto: spike:6 needs 5.3e+09 numbers")
	// Whoever does not know n and the budget asks for a name.
	ends(t, dir, exitInput, "name a basis here", "data", "pack", "patients.csv", "--schema", "auto.yaml",
		"-o", "p.dyadpack")
}
