package command

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	lib "dyad"
	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// sameModel compares two model files but for the time and the run.
func sameModel(t *testing.T, what, a, b string) {
	t.Helper()
	var texts [2]string
	for i, name := range []string{a, b} {
		m := must.Get(readModel(name))(t)
		text := must.Get(os.ReadFile(name))(t)
		created := must.Get(json.Marshal(m.Created))(t)
		texts[i] = strings.NewReplacer(string(created), "CREATED", m.Run, "RUN").Replace(string(text))
		texts[i] = regexp.MustCompile(`"checksum": "sha256:[0-9a-f]{64}"`).ReplaceAllString(texts[i], "CHECKSUM") // of CREATED and RUN, too
		texts[i] = regexp.MustCompile(`  "options": \{[^}]*\},\n`).ReplaceAllString(texts[i], "")                 // the recipe, which a command adds
	}
	if texts[0] != texts[1] || strings.Count(texts[0], "CREATED") != 1 {
		t.Errorf("%s: two models\n%s\n%s", what, texts[0], texts[1])
	}
}

// A program that uses package dyad makes the model that this one makes, byte by byte, charges
// the same to the ledger, and scores records alike.
func TestTheFaceIsThisProgram(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 150)
	t.Chdir(dir)
	seed := func() *privacy.Source { return privacy.NewSeededSource(7) }
	book := must.Get(lib.OpenLedger("ledger.jsonl"))(t)
	run := func(args ...string) string {
		t.Helper()
		return ran(t, dir, args...).exits(exitOK).out
	}
	data := must.Get(lib.Open("patients.csv", "patients.yaml"))(t)
	delta := 1e-6
	hinge := must.Get(lib.NewLoss("huberised-hinge", nil, 0))(t)
	train := strings.Fields("train --data patients.csv --schema patients.yaml --seed 7 --ledger ledger.jsonl --force --out cmd.json")
	for flags, o := range map[string]lib.Options{
		"--epsilon 3":                    {Epsilon: 3},
		"--algorithm dpgdsc --epsilon 2": {Epsilon: 2, Algorithm: algorithms.DPGDSC{}},
		"--delta 1e-6 --loss huberised-hinge --algorithm gradient-perturbation --steps 5": {Epsilon: 1, Delta: &delta, Loss: hinge, Algorithm: algorithms.GradientPerturbation{Steps: 5}},
		"--algorithm moments":                         {Epsilon: 1, Algorithm: algorithms.Moments{}},
		"--task metric --algorithm dpgdc --epsilon 4": {Epsilon: 4, Task: lib.Metric, Algorithm: algorithms.DPGDC{}},
	} {
		run(append(train, strings.Fields(flags)...)...)
		plan := must.Get(lib.Plan(data.Shape(), o))(t, flags)
		m := must.Get(plan.Run(t.Context(), data, lib.Run{Ledger: book, Out: "lib.json", Replace: true, Source: seed()}))(t, flags)
		sameModel(t, flags, "cmd.json", "lib.json")
		more := must.Get(m.Open("patients.csv"))(t)
		var table strings.Builder
		if m.Task == lib.Metric {
			rows, dim := must.Get2(m.Transform(more.Records))(t)
			names := make([]string, dim)
			for i := range names {
				names[i] = fmt.Sprintf("z%d", i+1)
			}
			must.Do(t, numbers{ids: more.IDs, values: rows, names: names}.write(&table))
			run("transform", "cmd.json", "--data", "patients.csv", "--out", "cmd.csv", "--force")
		} else {
			scores := must.Get(m.Score(more.Records))(t)
			must.Do(t, numbers{ids: more.IDs, values: scores, names: []string{"score"}}.write(&table))
			run("predict", "cmd.json", "--data", "patients.csv", "--out", "cmd.csv", "--force")
		}
		if text, err := os.ReadFile("cmd.csv"); err != nil || string(text) != table.String() {
			t.Errorf("%s: scores differ, %v", flags, err)
		}
	}
	sameCharges(t, book, 5)

	// A plan needs no data: this is what "dyad plan" prints.
	plan := must.Get(lib.Plan(data.Shape(), lib.Options{Epsilon: 1, Algorithm: algorithms.DPGDSC{}}))(t)
	if out := run("plan", "-n", "150", "--schema", "patients.yaml", "--algorithm", "dpgdsc"); !strings.HasPrefix(out, plan.Report().Text()) {
		t.Errorf("dyad plan writes\n%s\nwant\n%s", out, plan.Report().Text())
	}

	// Drawn pairs.
	source := lib.PairSource{Density: 2, DegreeCap: 6, Seed: 1}
	among := must.Get(lib.OpenPairs("patients.csv", "patients.yaml", source))(t)
	spec := pairs.Spec{Loss: embedding.Contrastive{Margin: 1}, Budget: privacy.Budget{Epsilon: 2}}
	spec.Budget.Delta = among.Shape().DefaultDelta(spec)
	drawn := must.Get(lib.PlanPairs(among.Shape(), spec))(t)
	must.Get(drawn.Run(t.Context(), among, lib.Run{Ledger: book, Out: "lib.json", Replace: true, Source: seed()}))(t)
	run(strings.Fields("pairs train --data patients.csv --schema patients.yaml --density 2 --degree-cap 6 --epsilon 2 --seed 7 --ledger ledger.jsonl --force --out cmd.json")...)
	sameModel(t, "pairs", "cmd.json", "lib.json")
	sameCharges(t, book, 6)
}

// A program that uses package dyad releases the figures that this one releases, in the same file but for the run, at the same
// charge, and is told the same about records that trained the model.
func TestTheFaceEvaluatesAsThisProgram(t *testing.T) {
	dir := clinic(t, 150)
	t.Chdir(dir)
	mustRun(t, dir, strings.Fields("train --data patients.csv --schema patients.yaml --ledger ledger.jsonl --out model.json")...)
	_, _, told := dyad(t, dir, strings.Fields("evaluate model.json --data patients.csv --epsilon 2 --threshold 0.1 --seed 7 --ledger ledger.jsonl --out cmd.json")...)
	book := must.Get(lib.OpenLedger("ledger.jsonl"))(t)
	m := must.Get(lib.Load("model.json"))(t)
	data := must.Get(lib.Open("patients.csv", "patients.yaml"))(t)
	o := lib.FigureOptions{Model: m, Epsilon: 2, Threshold: 0.1}
	o.Names.Data, o.Names.Ledger, o.Names.Model = "patients.csv", "ledger.jsonl", "model.json"
	plan := must.Get(lib.PlanFigures(data.Shape(), o))(t)
	var notes []string
	found := must.Get(plan.Run(t.Context(), lib.FigureData{Data: data}, lib.Run{Ledger: book, DataID: m.DataID, Out: "lib.json", Source: privacy.NewSeededSource(7), Watch: lib.Watch{Note: func(text string) { notes = append(notes, text) }}}))(t)
	want := must.Get(lib.LoadFigures("cmd.json", m))(t, told)
	var texts [2]string
	for i, f := range []*lib.PrivateFigures{want, found} {
		f.Run, f.Out = "", ""
		text := must.Get(json.Marshal(f))(t)
		texts[i] = string(text)
	}
	if texts[0] != texts[1] {
		t.Errorf("two reports\n%s\n%s", texts[0], texts[1])
	}
	if len(notes) != 1 || !strings.Contains(told, notes[0]) || !strings.Contains(notes[0], "trained on records of this file") {
		t.Errorf("told %q, and the program tells %s", notes, told)
	}
	entries := must.Get(book.Entries())(t)
	var charges []ledger.Charge
	for _, e := range entries {
		if e.Charge != nil {
			c := *e.Charge
			c.Run, c.Time = "", time.Time{}
			charges = append(charges, c)
		}
	}
	if len(charges) != 3 || !reflect.DeepEqual(charges[1], charges[2]) {
		t.Errorf("charges %+v", charges)
	}
}

// sameCharges says that a ledger has so many charges, each twice but for the run and the time.
func sameCharges(t *testing.T, book *lib.Ledger, want int) {
	t.Helper()
	entries := must.Get(book.Entries())(t)
	told := map[string]int{}
	for _, e := range entries {
		if e.Charge != nil {
			c := *e.Charge
			c.Run, c.Time = "", time.Time{}
			told[fmt.Sprintf("%+v", c)]++
		}
	}
	for c, times := range told {
		if times != 2 {
			t.Errorf("charged %d times: %.200s", times, c)
		}
	}
	must.Equal(t, len(told), want, "different charges")
}
