package bench_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dyad"
	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/engine/metrics"
	"dyad/internal/must"
	"dyad/privacy"
)

const (
	localNetworksFile = "local-networks.csv"
	localRuns         = 10   // with other records, noise and start each
	localTest         = 4000 // records that a model is judged by
	localBatch        = 500
)

// localSetting is a line of local-networks.csv.
type localSetting struct {
	data    string
	users   int
	model   string // linear or network
	method  local.Method
	epochs  int
	epsilon float64 // of a user in all; 0 without privacy
	// threshold is that of the first epoch in the curriculum: 1.5 is the default; 0 without a curriculum.
	threshold float64
}

func (s localSetting) key() string {
	threshold := "none"
	if s.threshold != 0 {
		threshold = fmt.Sprint(s.threshold)
	}
	return fmt.Sprintf("%s,%d,%s,%v,%d,%g,%s", s.data, s.users, s.model, s.method, s.epochs, s.epsilon, threshold)
}

// localSettings are the lines: networks of 8 hidden units and linear models at equal epsilon and as many users, the
// curriculum against none over four epochs, and both models without privacy.
func localSettings() (all []localSetting) {
	for _, data := range []string{"xor", "rings", "linear"} {
		for _, users := range []int{1000, 10_000, 100_000} {
			for _, model := range []string{"linear", "network"} {
				all = append(all,
					localSetting{data, users, model, local.DJW, 1, 2, 0},
					localSetting{data, users, model, local.DJW, 4, 2, 0},
					localSetting{data, users, model, local.Prestige, 4, 2, 1.5},
					localSetting{data, users, model, local.Prestige, 4, 2, -2},
					localSetting{data, users, model, local.SGD, 1, 0, 0})
			}
		}
	}
	return all
}

// TestLocalNetworks compares networks and linear models at the users (docs/local-networks.md): mean AUC and its
// standard error, of the average of the iterates and of the last one, with the rule on the number of users.
func TestLocalNetworks(t *testing.T) {
	c := claim{
		file: localNetworksFile, keys: 7,
		comments: fmt.Sprintf("# %d runs a line, each with records, noise and start of its own; batches of %d, AUC on %d other records; epsilon of a user in all, 0 without privacy\n", localRuns, localBatch, localTest),
		columns:  "data,users,model,method,epochs,epsilon,threshold,parameters,smallest_users,enough_users,auc_average,se_average,auc_last,se_last",
	}
	for _, s := range localSettings() {
		c.lines = append(c.lines, claimed{s.key(), s.users == 1000 && s.method == local.DJW, s.measure})
	}
	c.check(t, 1e-3, 1e-3)
}

// measure is the line of a setting.
func (s localSetting) measure(t *testing.T) []float64 {
	t.Helper()
	definition, ok := engine.LibraryByName("logistic")
	if !ok {
		t.Fatal("no logistic loss")
	}
	phi := must.Get(definition.Expression(engine.ExpressionOptions{}))(t)
	var auc [2][]float64
	var plan *local.Plan
	for run := range uint64(localRuns) {
		train, test := localRecords(t, s.data, s.users, 2*run), localRecords(t, s.data, localTest, 2*run+1)
		p := local.Protocol{
			Method: s.method, Loss: phi, Dim: train.Dim(), FeatureNorm: 1, Users: s.users, Epochs: s.epochs, Epsilon: s.epsilon / float64(s.epochs), Batch: localBatch, Threshold: s.threshold,
		}
		if s.model == "network" {
			p.Network = &local.Network{Hidden: 8, Seed: run}
		} else {
			p.Radius, p.L2 = 5, 0.1
		}
		plan = must.Get(p.Plan())(t)
		st := must.Get(local.Simulate(context.Background(), plan, train, privacy.NewSeededSource(run), nil))(t)
		for i, w := range [][]float64{st.Average(), st.W} {
			m := &dyad.Model{Task: dyad.AUC, Weights: w}
			if n := plan.Network; n != nil {
				m.Network = &dyad.Network{Kind: "mlp", Features: plan.Dim, Hidden: []int{n.Hidden}, Dim: 1, Activation: "tanh", Clip: n.Clip, Gain: n.Gain}
			}
			scores := must.Get(m.Score(test))(t)
			a := must.Get(metrics.AUC(scores, test.Labels()))(t)
			auc[i] = append(auc[i], a)
		}
	}
	line := []float64{float64(plan.Parameters), plan.SmallestUsers(), plan.EnoughUsers()}
	for _, a := range auc {
		mean, square := 0.0, 0.0
		for _, v := range a {
			mean += v / localRuns
		}
		for _, v := range a {
			square += (v - mean) * (v - mean)
		}
		line = append(line, mean, math.Sqrt(square/(localRuns-1)/localRuns))
	}
	return line
}

// localRecords are n public records: xor and rings in two features, which no linear score tells apart, and linear,
// whose classes are two normal laws in ten features that differ in the mean of the first.
func localRecords(t *testing.T, data string, n int, seed uint64) *engine.Records {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 27))
	d := 2
	if data == "linear" {
		d = 10
	}
	x, y := make([]float64, d*n), make([]float64, n)
	for i := range y {
		row := x[i*d:][:d]
		switch y[i] = float64(2*rng.IntN(2) - 1); data {
		case "xor":
			a := float64(2*rng.IntN(2) - 1)
			row[0], row[1] = 0.45*a+0.2*rng.NormFloat64(), 0.45*a*y[i]+0.2*rng.NormFloat64()
		case "rings":
			radius, angle := 0.5-0.15*y[i]+0.08*rng.NormFloat64(), 2*math.Pi*rng.Float64()
			row[0], row[1] = radius*math.Cos(angle), radius*math.Sin(angle)
		default:
			for k := range row {
				row[k] = 0.25 * rng.NormFloat64()
			}
			row[0] += 0.25 * y[i]
		}
	}
	return must.Get(engine.NewRecords(x, y, d, engine.UnitBounds()))(t)
}

// What docs/local-networks.md says of the table, of the average of the iterates.
func TestLocalNetworkClaims(t *testing.T) {
	rows := rawRows(t, localNetworksFile)
	number := func(row map[string]string, column string) float64 {
		return must.Get(strconv.ParseFloat(row[column], 64))(t)
	}
	of := func(s localSetting) (auc, se float64, row map[string]string) {
		for _, row := range rows {
			if key := row["data"] + "," + row["users"] + "," + row["model"] + "," + row["method"] + "," + row["epochs"] + "," + row["epsilon"] + "," + row["threshold"]; key == s.key() {
				return number(row, "auc_average"), number(row, "se_average"), row
			}
		}
		t.Fatalf("no line %s", s.key())
		return 0, 0, nil
	}
	for _, data := range []string{"xor", "rings"} {
		for _, users := range []int{10_000, 100_000} {
			network, se, row := of(localSetting{data: data, users: users, model: "network", method: local.DJW, epochs: 1, epsilon: 2})
			linear, other, _ := of(localSetting{data: data, users: users, model: "linear", method: local.DJW, epochs: 1, epsilon: 2})
			if network-linear < 4*math.Hypot(se, other) {
				t.Errorf("%s, %d users: %v (%v) against %v (%v)", data, users, network, se, linear, other)
			}
			if number(row, "enough_users") > 10_000 {
				t.Errorf("%s: the rule asks for %v users", data, number(row, "enough_users"))
			}
			gradual, gse, _ := of(localSetting{data: data, users: users, model: "network", method: local.Prestige, epochs: 4, epsilon: 2, threshold: 1.5})
			plain, pse, _ := of(localSetting{data: data, users: users, model: "network", method: local.DJW, epochs: 4, epsilon: 2})
			if plain-gradual < 2*math.Hypot(gse, pse) {
				t.Errorf("%s, %d users: the curriculum has %v (%v), without it %v (%v): the page says that it loses", data, users, gradual, gse, plain, pse)
			}
		}
	}
	for _, s := range localSettings() {
		if s.model != "network" || s.method != local.DJW || s.epochs != 4 {
			continue
		}
		four, se, _ := of(s)
		s.epochs = 1
		one, other, _ := of(s)
		if four-one > 2*math.Hypot(se, other) {
			t.Errorf("%s: four epochs have %v (%v), one has %v (%v): the page says that they are no better", s.key(), four, se, one, other)
		}
		s.epochs, s.method, s.threshold = 4, local.Prestige, -2
		if low, other, _ := of(s); low-four > 2*math.Hypot(se, other) {
			t.Errorf("%s: %v (%v), without a curriculum %v (%v): the page says that it is no better", s.key(), low, other, four, se)
		}
	}
	// The rows of the page's table are those of the file.
	page := must.Get(os.ReadFile(filepath.Join("..", "docs", "local-networks.md")))(t)
	figure := func(model string, s localSetting) string {
		s.model, s.epochs = model, 1
		auc, se, _ := of(s)
		return strings.ReplaceAll(fmt.Sprintf("%.3f (%.3f)", auc, se), "0.", ".")
	}
	for _, s := range []localSetting{
		{"xor", 100_000, "network", local.Prestige, 4, 2, 1.5}, {"rings", 100_000, "network", local.Prestige, 4, 2, 1.5}, {"xor", 100_000, "network", local.DJW, 4, 2, 0},
		{"rings", 100_000, "network", local.DJW, 4, 2, 0}, {"xor", 100_000, "network", local.Prestige, 4, 2, -2}, {"rings", 100_000, "network", local.Prestige, 4, 2, -2},
	} {
		auc, se, _ := of(s)
		if text := strings.ReplaceAll(fmt.Sprintf("%.3f (%.3f)", auc, se), "0.", "."); !strings.Contains(string(page), text) {
			t.Errorf("docs/local-networks.md has no %q of %s", text, s.key())
		}
	}
	for _, s := range localSettings() {
		if s.model != "network" || s.method != local.DJW || s.epochs != 1 {
			continue
		}
		exact := s
		exact.method, exact.epsilon = local.SGD, 0
		row := fmt.Sprintf("| %s | %s | %s |", figure("network", s), figure("linear", s), figure("network", exact))
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/local-networks.md has no row %q of %s", row, s.key())
		}
	}
	for _, users := range []int{10_000, 100_000} {
		network, se, _ := of(localSetting{data: "linear", users: users, model: "network", method: local.DJW, epochs: 1, epsilon: 2})
		linear, other, _ := of(localSetting{data: "linear", users: users, model: "linear", method: local.DJW, epochs: 1, epsilon: 2})
		if linear-network < 2*math.Hypot(se, other) {
			t.Errorf("linear classes, %d users: %v (%v) against %v (%v): the page says that the network loses", users, network, se, linear, other)
		}
	}
}
