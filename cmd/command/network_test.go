package command

import (
	"testing"
)

// A private network is trained, starts another, scores, embeds and is evaluated, all charged; what it
// cannot do is refused before a charge.
func TestNetworkCommands(t *testing.T) {
	dir := clinic(t, 200)
	private := []string{"--data", "patients.csv", "--schema", "patients.yaml", "--model", "mlp", "--hidden", "4", "--steps", "3"}
	run := func(want string, args ...string) {
		t.Helper()
		ran(t, dir, args...).exits(0).says(want)
	}
	train := func(more ...string) []string {
		return append(append([]string{"train", "--verbose"}, private...), more...)
	}
	run("mlp 12-4-1 tanh", train("--out", "score.json")...)
	run("the start is a model of data", train("--init", "score.json", "--out", "second.json")...)
	run("the start is a model of data", append(append([]string{"train"}, private...), "--init", "score.json", "--out", "third.json")...)
	run("contrastive", train("--task", "metric", "--dim", "2", "--similarity", "contrastive", "--out", "metric.json")...)
	run("row,score", "predict", "score.json", "--data", "patients.csv")
	run("mapped to 2 dimensions", "transform", "metric.json", "--data", "patients.csv", "--out", "mapped.csv")
	run("AUC", "evaluate", "score.json", "--data", "patients.csv", "--epsilon", "1")
	run("3-NN", "evaluate", "metric.json", "--data", "patients.csv", "--neighbours", "patients.csv", "--exact-figures")
	run("audited", "lab", "audit", "gradient-perturbation", "--model", "mlp", "--hidden", "2", "-n", "8", "--steps", "2", "--step-size", "0.1", "--runs", "100")
	for want, args := range map[string][]string{
		"is for --model mlp":       {"train", "--data", "patients.csv", "--schema", "patients.yaml", "--hidden", "4"},
		"is for linear models":     train("--holdout", "0.3", "--holdout-epsilon", "1"),
		"does not train networks":  train("--algorithm", "dpgdsc"),
		"does not take --momentum": train("--algorithm", "dpgdc2", "--momentum", "0.5"),
	} {
		ends(t, dir, exitInput, want, args...)
	}
}
