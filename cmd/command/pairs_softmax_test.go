package command

import (
	"path/filepath"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// The plan of a batch softmax needs no data and is the report of the run, which is charged once; the model serves transform and
// evaluate.
func TestSoftmaxRoad(t *testing.T) {
	sizes.NotShort(t, "slow")
	for name, flags := range map[string][]string{
		"linear": {"--loss", "infonce", "--rows", "3", "--epsilon", "4"},
		"mlp": {"--loss", "ntxent", "--temperature", "2", "--model", "mlp", "--hidden", "4", "--rows", "3",
			"--init-seed", "5"},
		"listed": {"--loss", "infonce", "--sampling", "poisson", "--batch", "60", "--unit", "group", "--kappa", "2"},
	} {
		dir := clinic(t, 200)
		drawn := append([]string{"--density", "1", "--degree-cap", "4"}, flags...)
		must.Contain(t, tuplesPlanned(t, dir, drawn).Report.Guarantee.Derivation, "batch-softmax")
		m, err := readModel(filepath.Join(dir, "m.json"))
		if err != nil || m.Network == nil || m.Format != "dyad-model/2" || m.Network.Compare != "cosine" ||
			m.PairLoss.Name != flags[1] || m.PairLoss.Temperature == 0 || (name == "mlp") != (len(m.Network.Hidden) == 1) {
			t.Errorf("%s: %v: %+v", name, err, m)
		}
		mustRun(t, dir, "transform", "m.json", "--data", "patients.csv", "--out", "z.csv")
		ends(t, dir, exitOK, "3-NN", "evaluate", "m.json", "--data", "patients.csv", "--neighbours", "patients.csv",
			"--exact-figures")
		// The next run starts from this model, by the same flags of a network.
		mustRun(t, dir, tuplesTrain(append(drawn, "--init", "m.json", "--out", "n.json")...)...)
	}
}

// What does not go with a batch softmax is refused with a remedy, and nothing is charged.
func TestSoftmaxFlagsAreRefused(t *testing.T) {
	dir := clinic(t, 60)
	drawn := []string{"--density", "1", "--degree-cap", "4", "--loss", "infonce"}
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{append(drawn, "--sampling", "fixed"), "sampling=poisson"},
		{append(drawn, "--delta", "0"), "delta > 0"},
		{append(drawn, "--mode", "paper"), "certified mode"},
		{append(drawn, "--temperature", "0.001"), "0.02 to 100"},
		{append(drawn, "--similarity", "distance"), "compare cosines"},
		{append(drawn, "--hidden", "4"), "--model mlp"},
		{append(drawn, "--method", "moments"), `loss infonce needs the method "gradients"`},
		{append(drawn, "--method", "labels"), `method "gradients"`},
		{append(drawn, "--shrink"), "without --shrink"},
		{append(drawn, "--device", "gpu"), "auto, cpu or cuda:N"},
		{append(drawn, "--noise", "knorm"), "delta > 0"},
		{[]string{"--tuple", "4", "--loss", "infonce"}, "pairs that are listed or drawn"},
		{[]string{"--all-pairs", "--loss", "ntxent"}, "pairs that are listed or drawn"},
		{[]string{"--density", "1", "--degree-cap", "4", "--model", "mlp"}, "use --tuple or --loss infonce, or"},
	} {
		ends(t, dir, exitInput, c.want, tuplesTrain(c.flags...)...)
	}
	if exists(filepath.Join(dir, "state")) || exists(filepath.Join(dir, "pairs.json")) {
		t.Error("refused runs left a ledger or a model")
	}
	ran(t, dir, tuplesTrain(append(drawn, "--epochs", "1")...)...).exits(exitOK) // the control
}

// An audit attacks a batch softmax by pairs opposite to all others, and does not refute it.
func TestSoftmaxAudit(t *testing.T) {
	dir := t.TempDir()
	for _, loss := range []string{lossInfoNCE, lossNTXent} {
		var r struct {
			Move  float64 `json:"move_to_certificate"`
			Holds bool    `json:"holds"`
		}
		ran(t, dir, "--json", "audit", "pairs", "-n", "16", "-d", "3", "--kappa", "1", "--pairs", "8", "--loss", loss,
			"--rows", "2", "--batch", "8", "--epochs", "1", "--runs", "200").exits(exitOK).decode(&r)
		if !r.Holds || !(r.Move > 0.1 && r.Move <= 1) {
			t.Errorf("%+v", r)
		}
	}
}
