package command

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	lib "dyad"
	"dyad/algorithms/local"
	"dyad/algorithms/local/serve"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// A network of a local protocol is the network of a model file: the same start, and the function that predict
// computes is the one that users differentiate.
func TestLocalNetworkIsTheOneOfModels(t *testing.T) {
	for _, n := range []local.Network{{Hidden: 1}, {Hidden: 5, Gain: 0.7, Seed: 9, Clip: 3}} {
		p := must.Get(local.Protocol{
			Method: local.SGD, Loss: engine.Logistic{}, Dim: 3, FeatureNorm: 1, Users: 10, Network: &n,
		}.Plan())(t)
		network := (&lib.Study{Plan: p}).Network()
		of := must.Get(network.PairLoss(lib.AUC, 3, lib.Loss{}))(t)
		start := p.Start().W
		if want := of.Domain(3, of.Radius()).Start(); !slices.Equal(start, want) {
			t.Errorf("%+v: the start is %v, that of models %v", n, start, want)
		}
		far := slices.Clone(start)
		for i := range far {
			far[i] *= 100
		}
		p.Project(far)
		if again := slices.Clone(far); of.Domain(3, of.Radius()).Project(again, math.Inf(1)) != nil ||
			!slices.Equal(far, again) {
			t.Errorf("%+v: the balls of the layers are others than those of models", n)
		}
		r := must.Get(engine.NewRecords([]float64{0.3, -0.5, 0.2, 0, 0, 0.9}, []float64{1, -1}, 3, engine.UnitBounds()))(t)
		scores := must.Get((&lib.Model{Task: lib.AUC, Network: network, Weights: far}).Score(r))(t)
		x := make([]float64, 3)
		for i, got := range scores {
			r.Row(i, x)
			want, h := 0.0, p.Network.Hidden
			for k := range h {
				row := far[4*k:]
				want += far[4*h+k] * math.Tanh(row[0]*x[0]+row[1]*x[1]+row[2]*x[2]+row[3])
			}
			if math.Abs(got-want) > 1e-12 {
				t.Errorf("%+v, record %d: score %v, want %v", n, i, got, want)
			}
		}
	}
}

// Plan, simulation, server, clients and model with a network; what the number of users does not allow is refused,
// and nothing is charged for it.
func TestLocalNetworkCommands(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 300)
	says := func(code int, want string, args ...string) string {
		t.Helper()
		return ran(t, dir, args...).exits(code).says(want).out
	}
	mlp := []string{"--schema", "patients.yaml", "--model", "mlp", "--hidden", "2", "--epochs", "2", "--epsilon", "4"}
	with := func(command string, more ...string) []string {
		return append(append(strings.Fields(command), mlp...), more...)
	}
	var planned localPlan
	if err := json.Unmarshal([]byte(says(exitOK, "", with("--json local plan -n 300")...)), &planned); err != nil ||
		planned.Version != 4 || planned.SmallestUsers < 1 || planned.EnoughUsers <= 300 || planned.Parameters < 6 {
		t.Errorf("the plan says %+v, %v", planned, err)
	}
	says(exitOK, "users needed", with("local plan -n 300")...)
	says(exitOK, "users are few", with("local plan -n 300")...)
	says(exitInput, fmt.Sprintf("at least %.0f users", planned.SmallestUsers), with("local plan -n 2")...)
	says(exitInput, "--radius", with("local plan -n 300", "--radius", "5")...)
	says(exitInput, "has only linear models", with("local plan -n 300", "--method", "prestige-printed")...)
	says(exitInput, "--model mlp", "local", "plan", "-n", "300", "-d", "3", "--hidden", "4")
	says(exitInput, "no L2 weight", with("local simulate --data patients.csv", "--l2-grid", "0.1,1", "--folds", "3")...)
	says(exitInput, "too few", with("local simulate --data patients.csv", "--epsilon", "0.01")...)

	// A private simulation is charged for the messages of a user, and its model scores records.
	r := says(exitOK, `"parameters"`, with("--json local simulate --data patients.csv", "--out", "m.json")...)
	var simulated localResult
	if err := json.Unmarshal([]byte(r), &simulated); err != nil || simulated.Visits != 600 ||
		len(simulated.Weights) != simulated.Parameters {
		t.Errorf("%+v, %v", simulated, err)
	}
	m, err := readModel(filepath.Join(dir, "m.json"))
	if err != nil || m.Format != "dyad-model/2" || m.Network == nil || !slices.Equal(m.Weights, simulated.Weights) ||
		m.Guarantee.Epsilon != 8 {
		t.Fatalf("the model is %+v, %v", m, err)
	}
	l := must.Get(ledger.Open(filepath.Join(dir, "state", "dyad", "ledger.jsonl")))(t)
	if spent, err := l.Summary(m.DataID, 1e-9); err != nil || spent.Runs != 1 || spent.Pure < 8-1e-9 ||
		spent.Pure > 8.001 {
		t.Errorf("the ledger has %v (%v), want one run of pure epsilon 8", spent, err)
	}
	says(exitOK, "", "predict", "m.json", "--data", "patients.csv", "--out", "s.csv")
	says(exitOK, "AUC", "evaluate", "m.json", "--data", "patients.csv", "--exact-figures")

	says(exitOK, "", with("local server --dir other --check -n 300", "--method", "djw", "--batch", "10")...)

	// Served: clients draw, the server applies, and the model is the published one.
	address, stop := localServer(t, dir, append([]string{"--dir", "study", "-n", "30"}, mlp...)...)
	defer stop()
	for u := range 3 {
		user := fmt.Sprint("u", u)
		answerAs(t, dir, address, user, "--row", fmt.Sprint(u+1), "--max-epsilon", "8").exits(exitOK)
	}
	st, err := serve.Remote{URL: address}.State(context.Background())
	if err != nil || st.Visits != 3 {
		t.Fatalf("state %+v, %v", st, err)
	}
	says(exitOK, "", "local", "model", "--server", address, "--schema", "patients.yaml", "--iterate", "last",
		"--out", "study.json")
	if m, err := readModel(filepath.Join(dir, "study.json")); err != nil || !slices.Equal(m.Weights, st.Model) ||
		m.Network == nil || m.Guarantee.Kind != privacy.LocalDP {
		t.Errorf("the saved model is %+v, %v", m, err)
	}
	says(exitOK, "", "predict", "study.json", "--data", "patients.csv", "--out", "t.csv")

	says(exitOK, "would detect a leak of twice the claim", "local", "audit", "prestige", "--model", "mlp", "--hidden", "4",
		"--runs", "4000")
	says(exitInput, "--radius", "local", "audit", "prestige", "--model", "mlp", "--radius", "3")
}
