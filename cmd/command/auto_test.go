package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// What auto chooses is said in the plan, the report, the JSON output and the model file, and
// a flag that the choice does not have is refused with its name and a remedy.
func TestAutoOnTheCommandLine(t *testing.T) {
	dir := clinic(t, 300)
	var outputs [2]string
	for i, more := range [][]string{nil, {"--algorithm", "auto"}} {
		outputs[i] = ran(t, dir, append([]string{"plan", "-n", "300", "--schema", "patients.yaml"}, more...)...).exits(exitOK).prints(
			"algorithm   moments", "chosen by auto: no loss was given", "least squares").out
	}
	if outputs[0] != outputs[1] {
		t.Errorf("auto is not the default:\n%s\n%s", outputs[0], outputs[1])
	}
	for algorithm, flags := range map[string][]string{"moments": nil, "moments-descent": {"--loss", "hinge"}} {
		r := decoded[trainResult](t, dir, append([]string{"train", "--data", "patients.csv", "--schema", "patients.yaml",
			"--json", "--force"}, flags...)...)
		if r.Report.Word("algorithm") != algorithm || r.Report.Word("choice") == "" {
			t.Errorf("train %v: %s", flags, r.Report.Text())
		}
		m, err := readModel(filepath.Join(dir, "model.json"))
		if err != nil || m.Report.Word("algorithm") != algorithm || m.Report.Word("choice") == "" ||
			flags != nil && m.Loss.Name != flags[1] {
			t.Errorf("the model of train %v: %v, %+v", flags, err, m)
		}
		// The length of such a model is not that of a minimiser: there is no mean loss.
		ran(t, dir, "evaluate", "model.json", "--data", "patients.csv",
			"--exact-figures").exits(exitOK).prints("AUC").lacks("objective")
	}
	// The reason is about the steps that are made.
	for args, says := range map[string]string{
		"--second-moments none": "the flags change the number of steps to 0",
		"--steps 5":             "the flags change the number of steps to 5",
		"--steps 2":             "so moments with two logistic steps are best\n",
		"--class-balance 0.3":   "so moments with two logistic steps are best\n",
	} {
		ends(t, dir, exitOK, says, append([]string{"plan", "-n", "50000", "-d", "4"}, strings.Fields(args)...)...)
	}
	for args, says := range map[string]string{
		"--step-size 0.1":                "moments was chosen by auto",
		"--total-step 3":                 "moments was chosen by auto",
		"--batch-records 5":              "moments was chosen by auto",
		"--loss hinge --total-step 3":    "moments-descent was chosen by auto",
		"--loss exp(exp(-u))":            "moments-descent was chosen by auto",
		"--task metric --ridge 2":        "moment-metric was chosen by auto",
		"--ridge 2 --clip-radius 0.3":    "",
		"--loss hinge --steps 3":         "",
		"--task metric --steps 3":        "moment-metric was chosen by auto",
		"--radius 2":                     "",
		"--loss exp(exp(-u)) --radius 1": "",
		"--l2 0.1":                       "",
		"--loss square":                  "",
		"--group-sizes 100,200 --l2 0":   "",
	} {
		code, out, errs := dyad(t, dir, append([]string{"plan", "-n", "300", "-d", "4"}, strings.Fields(args)...)...)
		if says == "" && code == exitOK && strings.Contains(out, "chosen by auto") {
			continue
		}
		if says == "" || code != exitInput || out != "" || !strings.Contains(errs, says) ||
			!strings.Contains(errs, "--algorithm") {
			t.Errorf("plan %s: exit %d, want 64 and %q\n%s", args, code, says, out+errs)
		}
	}
}

// Warnings come before the charge: a run that is interrupted while it opens the ledger has told
// them.
func TestWarningsComeBeforeTheCharge(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 40)
	t.Chdir(dir)
	for args, says := range map[string]string{
		"--epsilon 0.01": "noise drowns the signal",
		"--epsilon 30":   "epsilon = 30 protects little",
	} {
		ledger := filepath.Join(dir, strings.ReplaceAll(args, " ", "")+".jsonl")
		var told strings.Builder
		a := &app{ctx: t.Context(), stdout: &told, stderr: &told}
		charged := false
		a.hooks.stage = func(name string) {
			if name == "charged" {
				charged = true
				must.Contain(t, told.String(), says)
			}
		}
		parser := must.Get(newParser(&cli{}, &told, &told))(t)
		command := must.Get(parser.Parse(append([]string{"train", "--data", "patients.csv", "--schema", "patients.yaml",
			"--ledger", ledger, "--force"}, strings.Fields(args)...)))(t)
		if err := command.Run(a); err != nil || !charged {
			t.Errorf("train %s: %v, charged: %v", args, err, charged)
		}
		text, err := os.ReadFile(ledger)
		if err != nil || len(text) == 0 {
			t.Errorf("no budget was charged: %v", err)
		}
	}
	// A long run says so.
	ends(t, dir, exitOK, "hours on one core", "plan", "-n", "1000000", "-d", "20", "--algorithm", "offpairc")
}
