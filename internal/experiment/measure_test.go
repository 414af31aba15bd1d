package experiment

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
)

func runPlan(t *testing.T, text string, o Options) (*Plan, []Row) {
	t.Helper()
	p := must.Get(Parse("test", ".", []byte(text)))(t)
	path := filepath.Join(t.TempDir(), "test.csv")
	must.Do(t, p.Run(context.Background(), path, o))
	rows := must.Get(p.Rows(path))(t)
	return p, rows
}

// TestMeasures: the model 0 has the objective log 2, the optimum without privacy has no excess and less
// objective than others, and a stream has a regret.
func TestMeasures(t *testing.T) {
	const data = `
data: [{name: s, synthetic: scores, records: 400, features: 3, seed: 1, n: [100]}]
epsilon: [2]
delta_rule: 1/n
splits: 2
`
	_, rows := runPlan(t, data+`
measure: objective
objective_l2: 0.01
baselines: [zero]
algorithms:
  - {name: projected-gradient, options: {l2: 0.01, radius: 1}}
  - {name: offpairstrc, options: {l2: 0.01, radius: 1}}
  - {name: offpairstrc, options: {l2: 0.01, mode: paper, paper_unsound: true}}
  - {name: offpairstrc, options: {l2: 0.01, mode: paper}}
  - {name: onpairstrc, options: {l2: 0.01}}
`, Options{})
	best := map[int]float64{}
	for _, r := range rows {
		switch {
		case r.Algorithm == "offpairstrc" && r.Options == "l2=0.01 mode=paper":
			must.Contain(t, r.Status, "never takes a step")
			continue
		case r.Status != statusOK:
			t.Errorf("%s %s: %s", r.Algorithm, r.Options, r.Status)
		case r.Algorithm == zero && math.Abs(r.Value-math.Ln2) > 1e-6:
			t.Errorf("the model 0 has the objective %v, want log 2", r.Value)
		case r.Algorithm == "projected-gradient":
			best[r.Split] = r.Value
		case r.Value < best[r.Split]-1e-6:
			t.Errorf("%s has the objective %v, below the optimum %v", r.Algorithm, r.Value, best[r.Split])
		}
		if !math.IsInf(r.Epsilon, 1) && r.Delta != 0.01 {
			t.Errorf("delta is %v, want 1/n", r.Delta)
		}
	}

	_, rows = runPlan(t, strings.Replace(data, "n: [100]", "n: [390]", 1)+`
measure: excess
baselines: [zero]
algorithms: [{name: projected-gradient, options: {l2: 0, radius: 1}}, {name: dpgdc2, options: {steps: 5, radius: 1}}]
`, Options{Splits: 1})
	if len(rows) != 3 {
		t.Fatalf("%d rows of the first of two splits, want 3", len(rows))
	}
	for _, r := range rows {
		if !(r.Value >= -1e-9) || r.Status != statusOK {
			t.Errorf("%s has the excess %v, %s", r.Algorithm, r.Value, r.Status)
		}
	}

	_, rows = runPlan(t, data+`
measure: regret
algorithms: [{name: onpairc}, {name: ongiga}, {name: dpgdsc}]
`, Options{})
	for _, r := range rows {
		must.Equal(t, strings.Contains(r.Status, "not an online algorithm"), r.Algorithm == "dpgdsc", "%s: %s",
			r.Algorithm, r.Status)
		if r.Algorithm == "ongiga" && !(r.Value > 0 && r.Value < 0.5) {
			t.Errorf("ongiga has the mean regret %v", r.Value)
		}
	}
}

// TestGives: what the noise of paper mode proves differs from what was asked for, and what has no plan says why.
func TestGives(t *testing.T) {
	p := must.Get(Parse("test", ".", []byte(`
data: [{name: s, synthetic: scores, records: 400, features: 3, seed: 1, n: [100]}]
epsilon: [1]
delta: 1e-5
splits: 1
algorithms:
  - {name: dpgdsc, options: {mode: [certified, paper]}}
  - {name: offpairc, options: {mode: paper}}
  - {name: offpairc, options: {mode: paper, paper_unsound: true}}
  - {name: onpairc, options: {mode: paper}}
`)))(t)
	path := filepath.Join(t.TempDir(), "gives.csv")
	must.Do(t, WriteGives(path, p.Gives(map[string]int{"s": 3})))
	all, err := ReadGives(path)
	if err != nil || len(all) != 5 {
		t.Fatalf("%d lines, %v", len(all), err)
	}
	if g := all[0]; math.Abs(g.Gives-1) > 1e-3 || g.Sigma <= 0 || g.Steps == 0 {
		t.Errorf("certified: %+v", g)
	}
	if g := all[1]; !(g.Gives < 0.5) || g.Refused != "" {
		t.Errorf("paper: %+v, want much less than was asked for", g)
	}
	for _, k := range []int{2, 4} {
		must.Contain(t, all[k].Refused, "never takes a step")
	}
	if g := all[3]; g.Refused != "" || g.Steps != 98 {
		t.Errorf("paper-unsound: %+v, want 98 steps", g)
	}
}

// TestWrongMeasures: a plan says what is wrong with a measure, with its line.
func TestWrongMeasures(t *testing.T) {
	const base = "data: [{name: s, synthetic: scores, records: 40, features: 3, n: [20]}]\nepsilon: [1]\nsplits: " +
		"1\nalgorithms: [{name: dpgdsc}]\n"
	for text, want := range map[string]string{
		"measure: loss\n":                           "measure \"loss\" is unknown",
		"objective_l2: 0.1\n":                       "above 0 it needs the key measure",
		"delta: 0\ndelta_rule: 1/n\n":               "the only rule is 1/n",
		"delta_rule: 1/d\n":                         "the only rule is 1/n",
		"baselines: [zero]\n":                       "zero needs the measure objective",
		"baselines: [majority]\n":                   "majority for task metric",
		"measure: excess\nbaselines: [class-means]": "zero needs the measure objective",
		"paper: {name: huai}\n":                     "want name and item",
		"paper: {name: huai, item: f, axis: m}\n":   "axis \"m\" is unknown",
		"paper: {name: huai, item: f, command: x}":  `the key "command" needs a "table" with`,
	} {
		if _, err := Parse("test", ".", []byte(base+text)); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v, want %q and a line", text, err, want)
		}
	}
}
