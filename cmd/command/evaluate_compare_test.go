package command

import (
	"math"
	"testing"
)

// TestCompareTwoModels: the private difference is charged, agrees with the exact one within its
// interval, and a model does not differ from itself.
func TestCompareTwoModels(t *testing.T) {
	dir := clinic(t, 2500)
	from := []string{"--data", "patients.csv", "--schema", "patients.yaml", "--quiet"}
	for name, more := range map[string][]string{"a.json": {"--epsilon", "4"},
		"b.json": {"--epsilon", "0.3", "--algorithm", "dpgdsc"}, "metric.json": {"--task", "metric", "--algorithm", "moment-metric"}} {
		mustRun(t, dir, append(append([]string{"train", "--out", name}, from...), more...)...)
	}
	compare := []string{"evaluate", "compare", "a.json", "--with", "b.json", "--data", "patients.csv"}
	exact := decoded[differenceResult](t, dir, append(compare, "--exact-figures", "--json")...)
	if exact.Low == nil || *exact.Low > exact.Difference || exact.Records != 2500 {
		t.Fatalf("%+v", exact)
	}
	private := decoded[privateResult](t, dir, append(compare, "--epsilon", "8", "--seed", "1", "--json")...)
	if private.Figures.Difference == nil {
		t.Fatalf("%+v", private)
	}
	f := private.Figures
	if math.Abs(f.Difference.Value-exact.Difference) > 5*f.DifferenceNoise || f.DifferenceNoise <= 0 || f.AUC != nil ||
		private.Guarantee.Epsilon > 8 || private.Guarantee.Epsilon < 7.9 {
		t.Errorf("private %+v, exact %+v", f.Difference, exact)
	}
	ends(t, dir, exitOK, "minus AUC of the other:", append(compare, "--epsilon", "8", "--seed", "1")...)
	ends(t, dir, exitOK, "+0.000000", "evaluate", "compare", "a.json", "--with", "a.json", "--data", "patients.csv",
		"--exact-figures")
	ends(t, dir, exitOK, "no budget was charged", "evaluate", "compare", "a.json", "--with", "b.json", "--plan", "-n",
		"1000", "--epsilon", "1")
	for want, args := range map[string][]string{
		"a metric has no scores": {"evaluate", "compare", "a.json", "--with", "metric.json", "--data",
			"patients.csv", "--epsilon", "1"},
		"dyad evaluate private has it":     append(compare, "--epsilon", "1", "--mean-loss"),
		"exclude each other":               append(compare, "--epsilon", "1", "--exact-figures"),
		"takes no --report and no --track": append(compare, "--public-data", "--report", "p.html"),
		"missing flags: --with":            {"evaluate", "compare", "a.json", "--data", "patients.csv"},
		"cannot read": {"evaluate", "compare", "a.json", "--with", "none.json", "--data", "patients.csv",
			"--epsilon", "1"},
	} {
		ends(t, dir, exitInput, want, args...)
	}
}
