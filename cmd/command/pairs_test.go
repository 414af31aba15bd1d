package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/internal/must"
)

// people writes records with ids and no labels, pairs that differ in the first
// feature, and preferences for the larger second one.
func people(t *testing.T, dir string) {
	t.Helper()
	const n = 60
	r := rand.New(rand.NewPCG(1, 1))
	var records, likeness, preferences strings.Builder
	records.WriteString("id,kind,score\n")
	likeness.WriteString("first,second,label\n")
	preferences.WriteString("first,second\n")
	kind, score := make([]int, n), make([]float64, n)
	for i := range n {
		kind[i], score[i] = r.IntN(2), r.Float64()
		fmt.Fprintf(&records, "p%d,%d,%.6f\n", i, kind[i], score[i])
	}
	for i := range n {
		j := (i + 7) % n
		label := "similar"
		if kind[i] != kind[j] {
			label = "dissimilar"
		}
		fmt.Fprintf(&likeness, "p%d,p%d,%s\n", i, j, label)
		a, b := i, j
		if score[b] > score[a] {
			a, b = b, a
		}
		fmt.Fprintf(&preferences, "p%d,p%d\n", a, b)
	}
	write(t, dir, "people.csv", records.String())
	write(t, dir, "pairs.csv", likeness.String())
	write(t, dir, "preferences.csv", preferences.String())
	write(t, dir, "people.yaml",
		"data_id: people\ncsv: {header: true}\ncolumns:\n  - {name: id, role: id}\n  - {name: kind, range: [0, 1]}\n  - "+
			"{name: score, range: [0, 1]}\n  - {name: outcome, role: label, positive: 1}\n")
}

func pairsTrain(source string, more ...string) []string {
	return append([]string{"pairs", "train", "--data", "people.csv", "--schema", "people.yaml", "--pairs", source,
		"--verbose"}, more...)
}

// From a file of preferences to scores that rank as they say, on public data; a private
// run charges the whole plan once.
func TestPreferencesRoad(t *testing.T) {
	dir := t.TempDir()
	people(t, dir)
	ran(t, dir, pairsTrain("preferences.csv", "--loss", "bradley-terry", "--mode", "nonprivate", "--public-data",
		"--step-size", "10", "--epochs", "30", "--out",
		"m.json")...).exits(exitOK).prints("dyad predict m.json").without("state")
	var scores struct {
		IDs    []string
		Scores []float64
	}
	ran(t, dir, "--json", "predict", "m.json", "--data", "people.csv").exits(exitOK).decode(&scores)
	score := map[string]float64{}
	for i, id := range scores.IDs {
		score[id] = scores.Scores[i]
	}
	text := must.Get(os.ReadFile(filepath.Join(dir, "preferences.csv")))(t)
	right, all := 0, 0
	for _, line := range strings.Fields(string(text))[1:] {
		a, b, _ := strings.Cut(line, ",")
		if all++; score[a] > score[b] {
			right++
		}
	}
	if float64(right) < 0.9*float64(all) {
		t.Errorf("only %d of %d preferences are ranked right", right, all)
	}
	r := decoded[pairsTrainResult](t, dir, append([]string{"--json"},
		pairsTrain("preferences.csv", "--loss", "bradley-terry", "--kappa", "2")...)...)
	if r.Run == "" || r.Spent.Runs != 1 || r.Guarantee.Epsilon > 1 || r.Seconds != 0 {
		t.Fatalf("%+v", r)
	}
	m, err := readModel(filepath.Join(dir, "pairs.json"))
	if err != nil || m.Pairs == nil || m.Pairs.Number("kappa") != 2 || m.Guarantee.Epsilon != r.Guarantee.Epsilon {
		t.Errorf("the model lacks its report: %v", err)
	}
}

// One release of moments: its plan is the report of the run, the model is used as that of any
// metric, and what it does not have is refused.
func TestPairMomentsRoad(t *testing.T) {
	dir := clinic(t, 200)
	flags := []string{"--density", "2", "--degree-cap", "6", "--epsilon", "2", "--method", "moments"}
	train := append([]string{"--json", "pairs", "train", "--data", "patients.csv", "--schema", "patients.yaml", "--seed",
		"1"}, flags...)
	trained := decoded[pairsTrainResult](t, dir, train...)
	plan := decoded[algorithms.Report](t, dir, append([]string{"--json", "pairs", "plan", "-n", "200", "--schema",
		"patients.yaml"}, flags...)...)
	trained.Report.Guarantee.Warnings, plan.Guarantee.Warnings = nil, nil
	a := withoutRecipe(t, trained.Report)
	if b := withoutRecipe(t, plan); a != b {
		t.Errorf("train says\n%s\nplan says\n%s", a, b)
	}
	m, err := readModel(filepath.Join(dir, "pairs.json"))
	if err != nil || m.Pairs == nil || m.Pairs.Word("method") != "moments" || m.Task != taskMetric {
		t.Errorf("the model lacks its report: %v", err)
	}
	ends(t, dir, exitOK, "3-NN", "evaluate", "pairs.json", "--data", "patients.csv", "--neighbours", "patients.csv",
		"--exact-figures")
	for _, c := range [][2]string{
		{"--epochs=3", "leave out batches"}, {"--step-size=2", "leave out batches"},
		{"--sampling=poisson", "leave out batches"}, {"--shrink", "leave out batches"},
		{"--device=cuda:0", "moments of pairs on the CPU"}, {"--rows=99", "at most"},
		{"--mode=paper", "no noise for method moments"}, {"--noise=laplace", "K-norm"},
	} {
		args := append(slices.Clone(train), "--out", "other.json", c[0])
		ends(t, dir, exitInput, c[1], args...)
	}
}

// The metric of a model file has the distances of the learned matrix, and its report is
// that of the plan, of drawn pairs as well.
func TestPairsPlanIsTheReportOfTrain(t *testing.T) {
	dir := clinic(t, 200)
	flags := []string{"--density", "2", "--degree-cap", "6", "--epsilon", "2"}
	train := decoded[pairsTrainResult](t, dir, append([]string{"--json", "pairs", "train", "--data", "patients.csv",
		"--schema", "patients.yaml", "--seed", "1"}, flags...)...)
	for _, unit := range []string{"individual", "group"} {
		plan := decoded[algorithms.Report](t, dir, append([]string{"--json", "pairs", "plan", "-n", "200", "--schema",
			"patients.yaml", "--unit", unit}, flags...)...)
		train.Report.Guarantee.Warnings, plan.Guarantee.Warnings = nil, nil
		a := withoutRecipe(t, train.Report)
		b := withoutRecipe(t, plan)
		if (a == b) != (unit == "individual") {
			t.Errorf("unit %s: train says\n%s\nplan says\n%s", unit, a, b)
		}
	}
	mustRun(t, dir, "transform", "pairs.json", "--data", "patients.csv", "--out", "z.csv")
}

// On public data the report says what the run would be on private data, whatever gets noise,
// and nothing of an epsilon of its own; without privacy there is nothing to say.
func TestPairsOnPublicData(t *testing.T) {
	dir := t.TempDir()
	people(t, dir)
	for _, c := range []struct{ flags, want string }{
		{"--kappa 2", "this run would be (1, 1e-05)-differentially private"},
		{"--kappa 2 --sampling poisson --batch 30", "full batches with this noise would have epsilon"},
		{"--kappa 2 --method input", "this run would be 1-locally differentially private"},
		{"--unit pair --method labels", "this run would be 1-locally differentially private"},
		{"--kappa 2 --mode nonprivate", ""},
	} {
		args := append(pairsTrain("pairs.csv", "--public-data", "--force"), strings.Fields(c.flags)...)
		code, out, errs := dyad(t, dir, args...)
		if code != exitOK || !strings.Contains(out, c.want) ||
			(c.want == "") == strings.Contains(out, "On private data this run would be") || strings.Contains(out, "epsilon = 0") {
			t.Errorf("%s: exit %d, want %q: %s%s", c.flags, code, c.want, errs, out)
		}
	}
}

// A schema needs no label column where the pairs have the labels, with header or without,
// and its models work; drawn pairs and training on records need one.
func TestPairsNeedNoLabelColumn(t *testing.T) {
	dir := t.TempDir()
	people(t, dir)
	const columns = "columns:\n  - {name: id, role: id}\n  - {name: kind, range: [0, 1]}\n  - {name: score, " +
		"range: [0, 1]}\n"
	write(t, dir, "plain.yaml", "data_id: people\ncsv: {header: true}\n"+columns)
	write(t, dir, "bare.yaml", "data_id: people\n"+columns)
	text := must.Get(os.ReadFile(filepath.Join(dir, "people.csv")))(t)
	_, bare, _ := strings.Cut(string(text), "\n")
	write(t, dir, "bare.csv", bare)
	var first []byte
	for _, c := range [][2]string{{"people.csv", "people.yaml"}, {"people.csv", "plain.yaml"}, {"bare.csv", "bare.yaml"}} {
		mustRun(t, dir, "pairs", "train", "--data", c[0], "--schema", c[1], "--pairs", "pairs.csv", "--kappa", "2",
			"--public-data", "--seed", "1", "--force", "--out", "m.json")
		m := must.Get(readModel(filepath.Join(dir, "m.json")))(t)
		weights, _ := json.Marshal(m.Weights)
		if first == nil {
			first = weights
		}
		if !bytes.Equal(first, weights) {
			t.Errorf("%v: the label column changes the model", c)
		}
		mustRun(t, dir, "transform", "m.json", "--data", c[0], "--out", c[1]+".csv")
	}
	mustRun(t, dir, "pairs", "plan", "-n", "60", "--schema", "plain.yaml", "--pairs", "60", "--kappa", "2")
	for _, args := range [][]string{
		{"pairs", "train", "--data", "people.csv", "--schema", "plain.yaml", "--density", "1", "--degree-cap", "3"},
		{"train", "--data", "people.csv", "--schema", "plain.yaml"},
		{"evaluate", "m.json", "--data", "bare.csv", "--neighbours", "bare.csv", "--exact-figures"},
	} {
		ends(t, dir, exitInput, "role: label", args...)
	}
}

// Drawn pairs of a schema that leaves rows out by their label say so, for every method, as
// train does; pairs of a file read no labels and need not.
func TestDrawnPairsSayThatRowsWereLeftOut(t *testing.T) {
	dir := t.TempDir()
	people(t, dir)
	var records strings.Builder
	records.WriteString("id,kind,score,outcome\n")
	for i := range 60 {
		fmt.Fprintf(&records, "p%d,%d,0.%d,%d\n", i, i%2, i, i%3)
	}
	write(t, dir, "three.csv", records.String())
	schema := "data_id: people\ncsv: {header: true}\ncolumns:\n  - {name: id, role: id}\n  - {name: kind, range: [0, " +
		"1]}\n  - {name: score, range: [0, 1]}\n  - {name: outcome, role: label, positive: 1, negative: 0, others: drop}\n"
	write(t, dir, "drop.yaml", schema)
	const says = "the others were left out, so a record is replaced by one of these classes"
	for _, args := range [][]string{
		{"train", "--verbose", "--data", "three.csv", "--schema", "drop.yaml", "--out", "t.json"},
		{"pairs", "train", "--data", "three.csv", "--schema", "drop.yaml", "--density", "1", "--degree-cap", "3", "--out",
			"a.json", "--verbose"},
		{"pairs", "train", "--data", "three.csv", "--schema", "drop.yaml", "--density", "1", "--degree-cap", "3", "--method",
			"input", "--out", "b.json", "--verbose"},
		{"pairs", "train", "--data", "three.csv", "--schema", "drop.yaml", "--density", "1", "--degree-cap", "3",
			"--sampling", "poisson", "--batch", "10", "--out", "c.json", "--verbose"},
		{"pairs", "plan", "-n", "40", "--schema", "drop.yaml", "--density", "1", "--degree-cap", "3"},
	} {
		if code, out, errs := dyad(t, dir, args...); code != exitOK ||
			!strings.Contains(strings.Join(strings.Fields(out), " "), says) {
			t.Errorf("%v: exit %d, the report lacks %q: %s%s", args, code, says, out, errs)
		}
	}
	ran(t, dir, "pairs", "train", "--data", "people.csv", "--schema", "drop.yaml", "--pairs", "pairs.csv", "--kappa", "2",
		"--out", "d.json").exits(exitOK).lacks("left out")
}

func TestPairsInspect(t *testing.T) {
	dir := t.TempDir()
	people(t, dir)
	inspect := []string{"pairs", "inspect", "--data", "people.csv", "--schema", "people.yaml", "--pairs", "pairs.csv"}
	code, out, errs := dyad(t, dir, inspect...)
	for _, want := range []string{"60 pairs of 60 individuals", "PRIVATE", "do not set the noise by this kappa",
		"kappa       2; upper bound kappa' = 2"} {
		if code != exitOK || !strings.Contains(out, want) { // i to i + 7 mod 60 is one cycle
			t.Errorf("exit %d: the output lacks %q: %s%s", code, want, out, errs)
		}
	}
	ran(t, dir, append(inspect, "--public-data")...).prints("do not set the noise").lacks("PRIVATE")
}

// Bad pairs give exitInput with file, row and remedy, never a value, and no charge.
func TestBadPairsAreRefusedAndNothingCharged(t *testing.T) {
	dir := t.TempDir()
	people(t, dir)
	const head = "first,second,label\np0,p1,similar\n"
	files := map[string]string{
		"twice.csv": head + "p1,p0,similar\n", "contra.csv": head + "p1,p0,dissimilar\n", "self.csv": head +
			"p5,p5,similar\n",
		"unknown.csv": head + "p0,s3cret,similar\n", "label.csv": head + "p3,p4,s3cret\n", "star.csv": head +
			"p0,p2,similar\np0,p3,similar\n",
	}
	for name, text := range files {
		write(t, dir, name, text)
	}
	write(t, dir, "noid.yaml",
		"data_id: x\ncsv: {header: true}\ncolumns:\n  - {name: id, role: ignore}\n  - {name: kind, range: [0, 1]}\n  - "+
			"{name: score, range: [0, 1]}\n  - {name: outcome, role: label, positive: 1}\n")
	noID := pairsTrain("pairs.csv", "--kappa", "2")
	noID[5] = "noid.yaml"
	for _, c := range []struct {
		args []string
		want []string
	}{
		{pairsTrain("twice.csv", "--kappa", "2"), []string{"twice.csv: row 3", "row 2 has the same pair; keep only"}},
		{pairsTrain("contra.csv", "--kappa", "2"), []string{"contra.csv: row 3", "row 2 has the same pair"}},
		{pairsTrain("self.csv", "--kappa", "2"), []string{"self.csv: row 3", "the same individual twice"}},
		{pairsTrain("unknown.csv", "--kappa", "2"), []string{"unknown.csv: row 3", `column "second"`, "add its record"}},
		{pairsTrain("label.csv", "--kappa", "2"), []string{"label.csv: row 3", `column "label"`}},
		{pairsTrain("star.csv", "--kappa", "2"), []string{"star.csv", "--degree-cap"}},
		{pairsTrain("pairs.csv"), []string{"kappa is missing"}},
		{pairsTrain("none.csv", "--kappa", "2"), []string{"none.csv"}},
		{pairsTrain("pairs.csv", "--kappa", "2", "--mode", "paper", "--shrink"), []string{"no guarantee"}},
		{pairsTrain("pairs.csv", "--kappa", "2", "--density", "2"), []string{"exactly one source"}},
		{pairsTrain("pairs.csv", "--kappa", "2", "--label-values", "a"), []string{"want 2"}},
		{pairsTrain("pairs.csv", "--kappa", "2", "--pair-columns", "a,b"), []string{"want 3"}},
		{pairsTrain("pairs.csv", "--kappa", "2", "--out", "pairs.csv"),
			[]string{"its ending means CSV"}},
		{noID, []string{"role: id"}},
	} {
		code, out, errs := dyad(t, dir, c.args...)
		if code != exitInput || !strings.HasPrefix(errs, "dyad: ") || strings.Contains(errs, "s3cret") {
			t.Errorf("dyad %v: exit %d: %s%s", c.args, code, out, errs)
		}
		must.Contain(t, errs, c.want...)
	}
	if exists(filepath.Join(dir, "state")) || exists(filepath.Join(dir, "pairs.json")) {
		t.Error("refused runs left a ledger or a model")
	}
	// The control: the star passes with a cap of 2 pairs, or kappa 3.
	for _, flags := range [][]string{{"--degree-cap", "2"}, {"--kappa", "3", "--force"}} {
		mustRun(t, dir, pairsTrain("star.csv", flags...)...)
	}
}

// withoutRecipe is a report without the recipe, which a plan alone prints.
func withoutRecipe(t *testing.T, r algorithms.Report) string {
	t.Helper()
	text := must.Get(json.Marshal(r))(t)
	var facts map[string]any
	must.Do(t, json.Unmarshal(text, &facts))
	delete(facts, "recipe")
	text = must.Get(json.MarshalIndent(facts, "", "  "))(t)
	return string(text)
}
