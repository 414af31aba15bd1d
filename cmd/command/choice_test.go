package command

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/docs/checker"
	"dyad/internal/must"
)

// A pair is chosen in private on the way that users take: the plan is known without data, the ledger has the choice, the model file names the
// pair among the interactions of its schema and is verified from itself alone, it scores rows, and its page shows the pair. For records and
// for persons. What a forger changes of the choice is refused.
func TestPairsAreChosenThroughTheProgram(t *testing.T) {
	dir := t.TempDir()
	rng, rows := rand.New(rand.NewPCG(40, 4)), "who,a,b,c,d,y\n"
	for i := range 6000 {
		a, b, y := rng.Float64(), rng.IntN(3), 0
		if (a-0.5)*float64(b-1)+0.2*rng.NormFloat64() > 0 { // neither column says anything alone
			y = 1
		}
		rows += fmt.Sprintf("p%d,%.4f,k%d,%.4f,%d,%d\n", i/2, a, b, rng.Float64(), rng.IntN(2), y)
	}
	write(t, dir, "rows.csv", rows)
	schema := "choose_interactions: 1\nbasis: curve:3\ndata_id: %s\n%sformat: csv\ncsv: {header: true}\ncolumns:\n  - " +
		"{name: who, role: %s}\n  - {name: a, range: [0, 1]}\n  - {name: b, categories: [k0, k1, k2]}\n" +
		"  - {name: c, range: [0, 1]}\n  - {name: d, categories: [\"0\", \"1\"]}\n  - {name: y, role: label, " +
		"positive: \"1\"}\n"
	write(t, dir, "records.yaml", fmt.Sprintf(schema, "records", "", "ignore"))
	write(t, dir, "persons.yaml", fmt.Sprintf(schema, "persons", "persons: 3000\nmax_rows_per_person: 4\n", "person"))
	for unit, n := range map[string]int{"records": 6000, "persons": 3000} {
		ends(t, dir, exitOK, "1 of 6 column pairs are chosen privately", "plan", "--schema", unit+".yaml", "-n",
			fmt.Sprint(n), "--epsilon", "16")
		model := unit + ".json"
		ends(t, dir, exitOK, "a * b, chosen in private", "train", "--data", "rows.csv", "--schema", unit+".yaml", "--epsilon",
			"16", "--yes", "--ledger", "l.jsonl", "--out", model, "--report", unit+".html")
		text := must.Get(os.ReadFile(filepath.Join(dir, model)))(t)
		m, err := readModel(filepath.Join(dir, model))
		if err != nil || len(m.Encoder.Interactions()) != 1 || m.Encoder.Schema().ChooseInteractions != 0 {
			t.Fatalf("%s: the model's schema has %v, %v", unit, m.Encoder.Schema().Interactions, err)
		}
		if surfaces, err := m.Surfaces(); err != nil || len(surfaces) != 1 {
			t.Errorf("%s: %d surfaces, %v", unit, len(surfaces), err)
		}
		if v := checker.Check(text); v.Verdict != checker.Verified || v.Unit != "one "+strings.TrimSuffix(unit, "s") {
			t.Fatalf("%s: %+v", unit, v)
		}
		for _, args := range [][]string{{"predict", model, "--data", "rows.csv", "-o", unit + ".csv"},
			{"evaluate", "exact", model, "--data", "rows.csv", "--exact-figures"}, {"export", model, "-o", unit + ".sql"}, {"verify", model, "--ledger", "l.jsonl"}} {
			mustRun(t, dir, args...)
		}
		for name, want := range map[string]string{"l.jsonl": `"kind":"bounded-range"`, unit + ".html": "a and b"} {
			if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s does not have %q, %v", name, want, err)
			}
		}
		forged(t, text)
	}
	for want, args := range map[string][]string{
		"another algorithm or": {"--algorithm", "dpgdsc"}, "choose_interactions": {"--algorithm", "moments-descent"},
		"delta > 0":                  {"--delta", "0", "--algorithm", "moments"},
		"--holdout-epsilon does not": {"--holdout", "0.2", "--holdout-epsilon", "1"},
	} {
		r := ran(t, dir, append([]string{"train", "--data", "rows.csv", "--schema", "records.yaml", "--epsilon", "16", "--yes",
			"--ledger", "l2.jsonl", "--out", "no.json"}, args...)...).exits(exitInput)
		r.want(strings.Contains(r.errs, want) || strings.Contains(r.errs, "choose_interactions"), "%q", want)
	}
}

// ofChoices are the reasons of the checker to refuse a choice.
var ofChoices = []string{"the sensitivity or the event kind of a choice: it has ",
	"a plan may choose pairs of columns only once, 1 to 8 of them, " +
		"between two noisy releases", "a choice has epsilon "}

// forged changes what a model file says of its choice, and what follows from it.
func forged(t *testing.T, text []byte) {
	t.Helper()
	for what, c := range map[string]struct {
		why    string
		change func(row, event map[string]any)
	}{
		"half of the epsilon":   {"", func(_, e map[string]any) { e["epsilon"] = e["epsilon"].(float64) / 2 }},
		"more draws":            {"", func(_, e map[string]any) { e["count"] = 2. }},
		"no certificate":        {"", func(r, _ map[string]any) { delete(r, "certificate") }},
		"another kind of event": {ofChoices[0], func(_, e map[string]any) { e["kind"] = "pure" }},
		"half of the sensitivity": {ofChoices[0], func(r, _ map[string]any) {
			c := r["certificate"].(map[string]any)
			c["sensitivity"] = c["sensitivity"].(float64) / 2
		}},
		"no draws":   {ofChoices[1], func(_, e map[string]any) { e["count"] = 0. }},
		"1.5 draws":  {ofChoices[1], func(_, e map[string]any) { e["count"] = 1.5 }},
		"nine draws": {ofChoices[1], func(_, e map[string]any) { e["count"] = 9. }},
		"epsilon 0":  {ofChoices[2], func(_, e map[string]any) { e["epsilon"] = 0. }},
	} {
		var m map[string]any
		must.Do(t, json.Unmarshal(text, &m))
		for _, r := range m["plan"].(map[string]any)["releases"].([]any) {
			if row := r.(map[string]any); row["name"] == "choice of pairs" {
				c.change(row, row["event"].(map[string]any))
			}
		}
		if v := checker.Check(sealed(t, m)); v.Verdict == checker.Verified || !strings.Contains(v.Why, c.why) {
			t.Errorf("%s of the choice: %+v", what, v)
		}
	}
}
