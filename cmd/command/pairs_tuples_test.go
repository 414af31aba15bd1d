package command

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

func tuplesTrain(more ...string) []string {
	return append([]string{"pairs", "train", "--data", "patients.csv", "--schema", "patients.yaml"}, more...)
}

// tuplesPlanned trains m.json, which is charged once, and compares its report with the plan of these flags.
func tuplesPlanned(t *testing.T, dir string, flags []string) pairsTrainResult {
	t.Helper()
	train := decoded[pairsTrainResult](t, dir, append(tuplesTrain(flags...), "--json", "--out", "m.json")...)
	if train.Run == "" || train.Spent.Runs != 1 {
		t.Errorf("%v: %+v", flags, train)
	}
	plan := decoded[algorithms.Report](t, dir, append([]string{"--json", "pairs", "plan", "-n", "200", "--schema",
		"patients.yaml"}, flags...)...)
	train.Report.Guarantee.Warnings, plan.Guarantee.Warnings = nil, nil
	must.Equal(t, withoutRecipe(t, train.Report), withoutRecipe(t, plan), "%v: train says", flags)
	return train
}

// The plan needs no data and is the report of the run, which is charged once; the model
// serves transform and evaluate.
func TestTuplesRoad(t *testing.T) {
	sizes.NotShort(t, "slow")
	for name, flags := range map[string][]string{
		"triplet":     {"--tuple", "4", "--loss", "triplet", "--epsilon", "2"},
		"npair":       {"--tuple", "6", "--loss", "npair", "--delta", "0"},
		"contrastive": {"--tuple", "2", "--batch", "20"},
		"all pairs":   {"--all-pairs", "--epochs", "3"},
		"mlp": {"--tuple", "4", "--loss", "npair", "--model", "mlp", "--hidden", "4", "--rows", "3",
			"--epochs", "10"},
		"mlp, linear": {"--tuple", "4", "--loss", "triplet", "--model", "mlp", "--hidden", "0", "--similarity", "distance",
			"--epochs", "10", "--delta", "0"},
	} {
		dir := clinic(t, 200)
		train := tuplesPlanned(t, dir, flags)
		if train.Seconds != 0 || train.Guarantee.Unit != "one record" {
			t.Errorf("%s: %+v", name, train)
		}
		// The unit is that of dyad train: both runs have one total.
		ends(t, dir, exitOK, "2 runs", "train", "--data", "patients.csv", "--schema", "patients.yaml")
		mustRun(t, dir, "transform", "m.json", "--data", "patients.csv", "--out", "z.csv")
		r := ran(t, dir, "evaluate", "m.json", "--verbose", "--data", "patients.csv", "--neighbours", "patients.csv",
			"--exact-figures").exits(exitOK).prints("5-NN")
		word, _, _ := strings.Cut(name, " ")
		if word == "all" {
			word = "contrastive"
		}
		network := strings.HasPrefix(name, "mlp") // judged by neighbours alone
		r.contains(r.out, !network, []string{"mean " + word + " loss of"})
	}
}

// The objective of a metric from pairs is its own loss, and not the logistic one: here
// the contrastive loss over all pairs, from the distances of the mapped records.
func TestEvaluatePrintsTheLossOfTheModel(t *testing.T) {
	dir := clinic(t, 120)
	mustRun(t, dir, tuplesTrain("--density", "2", "--degree-cap", "6", "--margin", "0.7", "--mode", "nonprivate",
		"--public-data", "--out", "m.json")...)
	m := must.Get(readModel(filepath.Join(dir, "m.json")))(t)
	data := must.Get(dataset.Load(filepath.Join(dir, "patients.csv"), m.Encoder.Schema(), dataset.Options{}))(t)
	evaluated := func() evaluation {
		e := decoded[evaluation](t, dir, "--json", "evaluate", "m.json", "--data", "patients.csv", "--neighbours",
			"patients.csv", "--exact-figures")
		return e
	}
	e := evaluated()
	if e.Objective == nil || !strings.Contains(e.ObjectiveOf, "contrastive") {
		t.Fatalf("evaluation %+v", e)
	}
	if want := contrastiveOfAll(t, m, data.Records, 0.7); math.Abs(*e.Objective-want) > 1e-9*want {
		t.Errorf("the objective is %v, want %v", *e.Objective, want)
	}
	if logistic := contrastiveOfAll(t, m, data.Records, 0.8); math.Abs(*e.Objective-logistic) < 1e-6 {
		t.Error("another margin gives the same objective: the test sees nothing")
	}
	// A file that does not name its loss has the figures of neighbours only.
	m.PairLoss = nil
	text := must.Get(m.Text())(t)
	write(t, dir, "m.json", string(text))
	if e := evaluated(); e.Objective != nil || len(e.KNN) == 0 {
		t.Errorf("evaluation of a model without its loss: %+v", e)
	}
}

// contrastiveOfAll is the definition.
func contrastiveOfAll(t *testing.T, m *model, r *engine.Records, margin float64) float64 {
	t.Helper()
	z, dim := must.Get2(m.Transform(r))(t)
	sum := 0.0
	for i := range r.Len() {
		for j := range i {
			q := 0.0
			for k := range dim {
				q += math.Pow(z[i*dim+k]-z[j*dim+k], 2)
			}
			d := math.Sqrt(q)
			if r.Label(i) != r.Label(j) {
				d = max(0, margin-d)
			}
			sum += d * d / 2
		}
	}
	return sum / float64(r.Len()*(r.Len()-1)/2)
}

// What does not go with tuples is refused with a remedy, and nothing is charged.
func TestTupleFlagsAreRefused(t *testing.T) {
	dir := clinic(t, 60)
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--tuple", "4", "--kappa", "2"}, "--kappa is for listed or drawn pairs"},
		{[]string{"--tuple", "4", "--density", "2"}, "--density is for listed or drawn pairs"},
		{[]string{"--tuple", "4", "--unit", "individual"}, "--unit is for listed or drawn pairs"},
		{[]string{"--tuple", "4", "--shrink"}, "--shrink is for listed or drawn pairs"},
		{[]string{"--tuple", "4", "--pairs", "patients.csv"}, "--pairs is for listed or drawn pairs"},
		{[]string{"--tuple", "4", "--loss", "bradley-terry"}, "contrastive, triplet or npair"},
		{[]string{"--tuple", "4", "--mode", "paper"}, "certified"},
		{[]string{"--tuple", "61"}, "is 61, and there are 60"},
		{[]string{"--tuple", "1"}, "size of a tuple is 1"},
		{[]string{"--tuple", "4", "--all-pairs"}, "one batch"},
		{[]string{"--all-pairs", "--loss", "triplet"}, "contrastive loss"},
		{[]string{"--all-pairs", "--noise", "laplace"}, "K-norm"},
		{[]string{"--loss", "triplet"}, "--tuple 4"},
		{[]string{"--loss", "npair", "--density", "2", "--degree-cap", "4"}, "--tuple 4"},
		{nil, "--tuple or --all-pairs"},
		{[]string{"--tuple", "4", "--noise", "knorm", "--delta", "1e-5"}, "pure epsilon"},
	} {
		ends(t, dir, exitInput, c.want, tuplesTrain(c.flags...)...)
	}
	if exists(filepath.Join(dir, "state")) || exists(filepath.Join(dir, "pairs.json")) {
		t.Error("refused runs left a ledger or a model")
	}
	ran(t, dir, tuplesTrain("--tuple", "4")...).exits(exitOK) // the control
}

// What a network of tuples does not do is refused before anything is charged, with what to do; a model may start
// another one of its shape.
func TestNetworksOfTuples(t *testing.T) {
	dir := clinic(t, 60)
	network := []string{"--tuple", "4", "--loss", "npair", "--model", "mlp", "--hidden", "3", "--rows", "2",
		"--epochs", "2"}
	mustRun(t, dir, tuplesTrain(append(network, "--out", "m.json")...)...)
	m, err := readModel(filepath.Join(dir, "m.json"))
	if err != nil || m.Network == nil || m.Format != "dyad-model/2" || m.Network.Dim != 2 || m.Network.Clip != 0 ||
		m.PairLoss.Name != lossNPair {
		t.Fatalf("%v: %+v", err, m)
	}
	for says, args := range map[string][]string{
		"use --tuple or --loss infonce, or": {"--density", "1", "--degree-cap", "4", "--model", "mlp"},
		"--task metric":                     {"--all-pairs", "--model", "mlp"},
		"for --model mlp":                   {"--tuple", "4", "--loss", "triplet", "--hidden", "3"},
		"at most 64":                        {"--tuple", "65", "--model", "mlp"},
		"a network with the same features": {"--tuple", "4", "--model", "mlp", "--hidden", "5", "--rows", "2",
			"--init", "m.json"},
	} {
		n := 60
		if says == "at most 64" {
			n = 80
		}
		at := clinic(t, n)
		text := must.Get(m.Text())(t)
		write(t, at, "m.json", string(text))
		ends(t, at, exitInput, says, tuplesTrain(append(args, "--out", "r.json")...)...)
		if code, out, _ := dyad(t, at, "ledger", "show"); code == exitOK && strings.Contains(out, "1 run") {
			t.Errorf("%v: charged: %s", args, out)
		}
	}
	ends(t, dir, exitOK, "with their own guarantee",
		tuplesTrain(append(network, "--init", "m.json", "--verbose", "--out", "more.json")...)...)
}
