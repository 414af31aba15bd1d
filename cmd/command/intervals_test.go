package command

import (
	"path/filepath"
	"testing"

	"dyad/internal/must"
)

// TestTrainIntervals: a model file keeps standard errors, which cost nothing and move no weight, and
// what has no intervals says so.
func TestTrainIntervals(t *testing.T) {
	dir := clinic(t, 1500)
	args := []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--algorithm", "moments", "--epsilon",
		"2", "--seed", "4"}
	var r trainResult
	for _, more := range [][]string{{"--out", "plain.json"}, {"--out", "with.json", "--intervals"}} {
		r = decoded[trainResult](t, dir, append(append(args, "--json"), more...)...)
	}
	plain := must.Get(readModel(filepath.Join(dir, "plain.json")))(t)
	with := must.Get(readModel(filepath.Join(dir, "with.json")))(t)
	if len(with.WeightErrors) != len(with.Weights) || plain.WeightErrors != nil || len(r.Weights) != len(with.Weights) ||
		with.Guarantee.Mu != plain.Guarantee.Mu {
		t.Errorf("%+v", r)
	}
	for k, w := range with.Weights {
		if w != plain.Weights[k] || !(r.Weights[k].Low < w && w < r.Weights[k].High) {
			t.Errorf("weight %d: %g with and %g without intervals, %+v", k, w, plain.Weights[k], r.Weights[k])
		}
	}
	ran(t, dir, append(args, "--out", "text.json", "--intervals")...).exits(exitOK).prints(
		"an interval with * does not contain 0", "minimise the released objective on the whole population")
	mustRun(t, dir, "predict", "with.json", "--data", "patients.csv")
	damage(t, dir, "with.json", func(raw map[string]any) { raw["weight_standard_errors"] = []float64{1} })
	ends(t, dir, exitInput, "standard errors", "predict", "damaged.json", "--data", "patients.csv")
	for want, more := range map[string][]string{"does not take --intervals": {"--algorithm", "dpgdsc"},
		"not available with logistic steps": {"--algorithm", "moments", "--steps", "2"}, "second moments": {"--algorithm", "moments", "--second-moments", "none"}} {
		refused := append([]string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--intervals", "--out",
			"no.json"}, more...)
		ends(t, dir, exitInput, want, refused...)
	}
}
