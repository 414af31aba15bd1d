package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/engine/dataset"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

func TestTrainWithoutDataIsPublicAndChargesNothing(t *testing.T) {
	dir := t.TempDir()
	out := mustRun(t, dir, "train")
	must.Contain(t, out, "synthetic", "public", "guarantee", "AUC", "no budget was charged")
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("the run left files behind: %v", entries)
	}
	// README.md says that the difference is below 0.01.
	r := decoded[trainResult](t, dir, "train", "--seed", "1", "--json")
	if with, without := *r.Held.AUC, *r.Baseline.AUC; math.Abs(with-without) >= 0.01 {
		t.Errorf("AUC %v, and %v without privacy", with, without)
	}
}

func TestPrivateRoad(t *testing.T) {
	dir := clinic(t, 400)
	steps := []struct {
		args []string
		want []string
	}{
		{[]string{"plan", "-n", "400", "--schema", "patients.yaml", "--epsilon", "2"},
			[]string{"sigma", "guarantee", "no budget"}},
		{[]string{"train", "--verbose", "--data", "patients.csv", "--schema", "patients.yaml", "--epsilon", "2", "--holdout",
			"0.25", "--exact-figures"}, []string{"differentially private", "charged to", "not covered by the guarantee",
			"model.json"}},
		{[]string{"evaluate", "model.json", "--data", "patients.csv", "--exact-figures"}, []string{"AUC", "guarantee  none"}},
		{[]string{"predict", "model.json", "--data", "patients.csv", "--out", "scores.csv"}, []string{"400 scores"}},
		{[]string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--epsilon", "1", "--algorithm", "offpairc",
			"--out", "second.json"}, []string{"2 runs"}},
		{[]string{"ledger", "show"}, []string{"2 runs", "epsilon"}},
		{[]string{"ledger", "show", "synthetic-clinical"}, []string{"2 runs", "epsilon"}},
		{[]string{"ledger", "verify"}, []string{"intact"}},
		{[]string{"doctor"}, []string{"randomness  ok", "ledger      ok", "gpu"}},
	}
	for _, s := range steps {
		out := mustRun(t, dir, s.args...)
		must.Contain(t, out, s.want...)
	}
	ran(t, dir, "ledger", "show", "clinical").exits(exitInput).warns(`"synthetic-clinical"`).printsOnly("")
	// A model knows its guarantee, and predict needs nothing else.
	m := must.Get(readModel(filepath.Join(dir, "model.json")))(t)
	if m.Guarantee.Epsilon <= 0 || m.Guarantee.Epsilon > 2 || m.Run == "" || len(m.Features) != len(m.Weights) {
		t.Errorf("the model's guarantee is %+v of run %q with %d features", m.Guarantee, m.Run, len(m.Features))
	}
	scores, err := os.ReadFile(filepath.Join(dir, "scores.csv"))
	if err != nil || strings.Count(string(scores), "\n") != 401 {
		t.Errorf("scores.csv has %d lines, want 401 (%v)", strings.Count(string(scores), "\n"), err)
	}
}

// step is a command with its exit code and what it prints.
type step struct {
	args []string
	code int
	want []string
}

// walk runs commands one after another.
func walk(t *testing.T, dir string, road []step) {
	t.Helper()
	for _, s := range road {
		out, errs := ran(t, dir, s.args...).exits(s.code).texts()
		must.Contain(t, out+errs, s.want...)
	}
}

func TestMetricRoad(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 200)
	walk(t, dir, []step{
		{[]string{"plan", "-n", "200", "--schema", "patients.yaml", "--task", "metric", "--algorithm", "dpgdsc"}, exitOK,
			[]string{"positive semidefinite", "mahalanobis"}},
		{[]string{"plan", "-n", "200", "--schema", "patients.yaml", "--task", "metric"}, exitOK,
			[]string{"moment-metric", "moments of both classes"}},
		{[]string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--task", "metric", "--holdout", "0.3",
			"--exact-figures", "--out", "metric.json"}, exitOK, []string{"3-NN", "plain distance", "dyad transform"}},
		{[]string{"evaluate", "metric.json", "--verbose", "--data", "patients.csv", "--neighbours", "patients.csv",
			"--exact-figures"}, exitOK, []string{"3-NN", "5-NN", "guarantee  none"}},
		{[]string{"transform", "metric.json", "--data", "patients.csv", "--out", "mapped.csv"}, exitOK,
			[]string{"200 records mapped"}},
		{[]string{"evaluate", "metric.json", "--data", "patients.csv", "--exact-figures"}, exitInput,
			[]string{"--neighbours"}},
		{[]string{"predict", "metric.json", "--data", "patients.csv"}, exitInput, []string{"gives no scores"}},
		{[]string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "auc.json"}, exitOK, nil},
		{[]string{"transform", "auc.json", "--data", "patients.csv", "--out", "no.csv"}, exitInput, []string{"dyad predict"}},
		{[]string{"evaluate", "auc.json", "--data", "patients.csv", "--neighbours", "patients.csv", "--exact-figures"},
			exitInput, []string{"--neighbours"}},
	})
}

// Graded labels within query groups.
func TestRankingRoad(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("query,a,b,grade\n")
	for i := range 300 {
		fmt.Fprintf(&text, "q%d,%d,%d,%d\n", i%23, i*37%100, i*53%100, i*37%100/20)
	}
	write(t, dir, "rank.csv", text.String())
	write(t, dir, "rank.yaml",
		"data_id: rank\ncsv: {header: true}\ncolumns:\n  - {name: query, role: ignore}\n  - {name: a, range: [0, 100]}\n  - "+
			"{name: b, range: [0, 100]}\n  - {name: grade, role: label, kind: numeric, range: [0, 4]}\n")
	walk(t, dir, []step{
		{[]string{"train", "--verbose", "--data", "rank.csv", "--schema", "rank.yaml", "--group-column", "query", "--epsilon",
			"3", "--holdout", "0.3", "--exact-figures"}, exitOK, []string{"query groups", "NDCG", "right order"}},
		{[]string{"verify", "model.json"}, exitOK, []string{"11.20"}},
		{[]string{"train", "--data", "rank.csv", "--schema", "rank.yaml", "--group-column", "query", "--epsilon", "3",
			"--delta", "0", "--out", "pure.json"}, exitOK, []string{"pure.json"}},
		{[]string{"verify", "pure.json"}, exitOK, []string{"11.20"}},
		{[]string{"evaluate", "model.json", "--verbose", "--data", "rank.csv", "--top", "3", "--exact-figures"}, exitOK,
			[]string{"at 3"}},
		{[]string{"train", "--data", "rank.csv", "--schema", "rank.yaml", "--epsilon", "3", "--out", "flat.json"}, exitOK,
			[]string{"epsilon = 3"}},
		{[]string{"train", "--data", "rank.csv", "--schema", "rank.yaml", "--group-column", "nobody", "--out", "no.json"},
			exitInput, []string{"nobody"}},
		{[]string{"train", "--data", "rank.csv", "--schema", "rank.yaml", "--group-column", "query", "--algorithm",
			"offpairc", "--out", "no.json"}, exitInput, []string{"query groups"}},
		{[]string{"plan", "-n", "60", "-d", "4", "--group-sizes", "10,20,31"}, exitInput, []string{"61"}},
	})
}

// plan and train print the same report.
func TestPlanIsTheReportOfTrain(t *testing.T) {
	dir := clinic(t, 300)
	for _, algorithm := range []string{"dpgdsc", "offpairstrc", "offpairc", "auto"} {
		flags := []string{"--schema", "patients.yaml", "--epsilon", "1.5", "--delta", "1e-6", "--algorithm",
			algorithm, "--json"}
		_, planned, errs := dyad(t, dir, append([]string{"plan", "-n", "300"}, flags...)...)
		_, trained, errs2 := dyad(t, dir, append([]string{"train", "--data", "patients.csv", "--out", algorithm + ".json"},
			flags...)...)
		var plan map[string]any
		var train struct{ Report map[string]any }
		must.Do(t, json.Unmarshal([]byte(planned), &plan), "plan", errs)
		must.Do(t, json.Unmarshal([]byte(trained), &train), "train", errs2)
		maps.DeleteFunc(plan, func(key string, _ any) bool { // of the machine, not of the run; and the options
			return strings.HasPrefix(key, "estimated_") || key == "processes_that_hold_it" || key == "recipe"
		})
		a, _ := json.Marshal(plan)
		b, _ := json.Marshal(train.Report)
		if !bytes.Equal(a, b) {
			t.Errorf("%s: plan and train differ:\n%s\n%s", algorithm, a, b)
		}
	}
}

// Bad input gives exitInput and an error that says where; the ledger stays empty.
func TestBadInputIsRefusedAndNothingCharged(t *testing.T) {
	dir := clinic(t, 200)
	good := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	lines := strings.SplitAfter(string(good), "\n")
	broken := func(row int, line string) string {
		out := append([]string(nil), lines...)
		out[row-1] = line
		return strings.Join(out, "")
	}
	secret := "731.25x"
	fields := strings.Split(strings.TrimSpace(lines[4]), ",")
	fields[1] = secret
	write(t, dir, "text.csv", broken(5, strings.Join(fields, ",")+"\n"))
	write(t, dir, "short.csv", broken(9, "1,2\n"))
	write(t, dir, "empty.csv", "")
	write(t, dir, "bad.yaml", "data_id: x\ncolums: []\n")
	write(t, dir, "void.yaml", "# nothing\n")
	write(t, dir, "exists.json", "{}")
	must.Do(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	train := func(data, schema string, more ...string) []string {
		return append([]string{"train", "--data", data, "--schema", schema}, more...)
	}
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{train("text.csv", "patients.yaml"), exitInput, []string{"text.csv", "5"}},
		{train("short.csv", "patients.yaml"), exitInput, []string{"short.csv", "9"}},
		{append(train("patients.csv", "patients.yaml"), "--labels", "y.npy"), exitInput,
			[]string{"only NPY and IDX data take a labels file"}},
		{train("empty.csv", "patients.yaml"), exitInput, []string{"empty.csv"}},
		{train("missing.csv", "patients.yaml"), exitInput, []string{"missing.csv"}},
		{train("patients.csv", "bad.yaml"), exitInput, []string{"bad.yaml", "colums"}},
		{train("patients.csv", "missing.yaml"), exitInput, []string{"missing.yaml"}},
		{train("patients.csv", "void.yaml"), exitInput, []string{"void.yaml: schema is empty", "dyad data schema"}},
		{train("patients.csv", "patients.yaml", "--epsilon", "-1"), exitInput, []string{"epsilon"}},
		{train("patients.csv", "patients.yaml", "--delta", "1.5"), exitInput, []string{"delta"}},
		{train("patients.csv", "patients.yaml", "--algorithm", "sgd"), exitInput, []string{"dpgdsc"}},
		{train("patients.csv", "patients.yaml", "--algorithm", "offpairc", "--steps", "3"), exitInput, []string{"--steps"}},
		{train("patients.csv", "patients.yaml", "--mode", "paper", "--algorithm", "offpairstrc"), exitInput,
			[]string{"never takes a step", "sigma"}},
		{train("patients.csv", "patients.yaml", "--out", "exists.json"), exitInput, []string{"exists.json", "--force"}},
		{train("patients.csv", "patients.yaml", "--out", "no/folder/m.json"), exitInput, []string{"no/folder"}},
		{train("patients.csv", "patients.yaml", "--out", "folder", "--force"), exitInput, []string{"folder is a directory"}},
		{train("patients.csv", "patients.yaml", "--holdout", "1"), exitInput, []string{"--holdout"}},
		{train("patients.csv", "patients.yaml", "--workers", "-2"), exitInput, []string{"--workers"}},
		{[]string{"train", "--data", "patients.csv"}, exitInput, []string{"dyad data schema"}},
		{[]string{"train", "--nonsense"}, exitInput, []string{"nonsense"}},
		{[]string{"plan", "-n", "1", "-d", "3"}, exitInput, []string{"2 records"}},
		{[]string{"plan", "-n", "10"}, exitInput, []string{"-d"}},
		{[]string{"account"}, exitInput, []string{"--sigma"}},
		{[]string{"evaluate", "exists.json", "--data", "patients.csv"}, exitInput, []string{"exists.json"}},
		{[]string{"predict", "nothing.json", "--data", "patients.csv"}, exitInput, []string{"nothing.json"}},
		{[]string{"ledger", "show"}, exitInput, []string{"no ledger"}},
	} {
		errs := ran(t, dir, c.args...).exits(c.code).errs
		must.Contain(t, errs, c.want...)
		if strings.Contains(errs, secret) {
			t.Errorf("dyad %v: the error shows a value of the data: %s", c.args, errs)
		}
		if !strings.HasPrefix(errs, "dyad: ") {
			t.Errorf("dyad %v: the error does not start with \"dyad: \": %s", c.args, errs)
		}
	}
	if exists(filepath.Join(dir, "state")) || exists(filepath.Join(dir, "model.json")) {
		t.Error("refused runs left a ledger or a model")
	}
}

// Slips that would cost data: a data file named as schema is not printed, and no
// output ever replaces an input.
func TestSlipsCostNoData(t *testing.T) {
	dir := clinic(t, 100)
	before := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	row := strings.Split(string(before), "\n")[7]
	for _, args := range [][]string{
		{"train", "--data", "patients.csv", "--schema", "patients.csv"},
		{"plan", "-n", "100", "--schema", "patients.csv"},
		{"data", "inspect", "patients.csv", "--schema", "patients.csv"},
		{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "patients.csv", "--force"},
		{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "patients.yaml", "--force"},
		{"data", "convert", "patients.csv", "patients.csv", "--schema", "patients.yaml", "--force"},
		{"data", "schema", "patients.csv", "--out", "patients.csv"},
	} {
		out, errs := ran(t, dir, args...).exits(exitInput).texts()
		if strings.Contains(out+errs, row) || len(errs) > 1000 {
			t.Errorf("dyad %v prints records: %.2000s", args, errs)
		}
	}
	if after, err := os.ReadFile(filepath.Join(dir, "patients.csv")); err != nil || !bytes.Equal(before, after) {
		t.Error("the data file was changed")
	}
	if exists(filepath.Join(dir, "state")) {
		t.Error("a refused run was charged")
	}
}

func TestWordsThatOtherProgramsUnderstand(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{{[]string{"help"}, "Commands:"}, {[]string{"help", "train"}, "--epsilon"}, {[]string{"--version"}, version}} {
		ends(t, dir, exitOK, c.want, c.args...)
	}
}

// The draft of a schema says what it guessed.
func TestDraftSaysWhatItGuessed(t *testing.T) {
	dir := t.TempDir()
	text := "id;glucose;age;sick\n"
	for i := range 120 {
		text += fmt.Sprintf("%d;%d,%d;%d;%d\n", i, i%90+40, i%10, 20+i%60, i%2)
	}
	write(t, dir, "x.csv", text)
	ran(t, dir, "data", "schema", "x.csv").exits(exitOK).prints(`{name: "glucose", range: [40, 129.9]`).warns("label column was guessed to be sick")
}

// No plan runs away: an absurd number of steps is refused at once.
func TestAbsurdPlansAreRefused(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := t.TempDir()
	for _, more := range [][]string{
		{"--algorithm", "dpgdsc", "--steps", "100000000000"}, {"--algorithm", "dpgdsc", "--l2", "1e10"},
		{"--algorithm", "dpgdsc", "--total-step", "1e300"},
		{"--algorithm", "dpgdsc", "--step-size", "1e-300"},
		{"--algorithm", "gradient-perturbation", "--steps", "100000000000"},
		{"--algorithm", "dpgdc", "--l2", "0", "--total-step", "1e300"},
		{"--mode", "nonprivate", "--steps", "100000000000"},
	} {
		ends(t, dir, exitInput, "steps", append([]string{"plan", "-n", "1000", "-d", "10"}, more...)...)
	}
	mustRun(t, dir, "plan", "-n", "2", "-d", "1")
}

// A report on private data shows no time: it can depend on the records.
func TestReportsOnPrivateDataShowNoTime(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 100)
	for _, public := range []bool{false, true} {
		args := []string{"train", "--verbose", "--data", "patients.csv", "--schema", "patients.yaml", "--out",
			fmt.Sprint(public, ".json"), "--holdout", "0.3"}
		if public {
			args = append(args, "--public-data")
		}
		_, text, _ := dyad(t, dir, args...)
		if strings.Contains(text, "s of training") != public {
			t.Errorf("public %v: %s", public, text)
		}
		_, text, _ = dyad(t, dir, append(args, "--json", "--force")...)
		if strings.Contains(text, "training_seconds") != public {
			t.Errorf("public %v: %s", public, text)
		}
	}
}

// Held-out records of one class give no figures, but the run is trained, charged
// and reported: not an input error.
func TestHeldOutOfOneClassIsAWarning(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := t.TempDir()
	text := "a,y\n"
	for i := range 40 {
		text += fmt.Sprintf("%d,%d\n", i, max(0, 1-i/2))
	}
	write(t, dir, "x.csv", text)
	write(t, dir, "x.yaml", "data_id: x\ncsv: {header: true}\ncolumns:\n  - {name: a, range: [0, 40]}\n  - {name: y, "+
		"role: label, positive: 1}\n")
	warned := false
	for seed := range 8 {
		out := mustRun(t, dir, "train", "--data", "x.csv", "--schema", "x.yaml", "--holdout", "0.2", "--exact-figures",
			"--split-seed", fmt.Sprint(seed), "--out", fmt.Sprint(seed, ".json"))
		warned = warned || strings.Contains(out, "no figures")
	}
	if !warned {
		t.Error("no split had held-out records of one class")
	}
}

func TestBudgetCapGivesExit3(t *testing.T) {
	dir := clinic(t, 200)
	schema := must.Get(dataset.LoadSchema(filepath.Join(dir, "patients.yaml")))(t)
	ran(t, dir, "ledger", "init", schema.DataID, "--epsilon", "4", "--delta",
		"1e-6").exits(exitOK).prints("no run on ").lacks("before:")
	for _, id := range []string{"", "../clinic", "two words"} { // no schema has such an id, so its cap would limit nothing
		ends(t, dir, exitInput, "<data-id> is 1 to 128 letters", "ledger", "init", id, "--epsilon", "4", "--delta", "1e-6")
	}
	ends(t, dir, exitOK, "before: at most epsilon = 4 at delta = 1e-06", "ledger", "init", schema.DataID, "--epsilon", "1",
		"--delta", "1e-5")
	args := []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--epsilon", "0.9", "--delta", "1e-5"}
	mustRun(t, dir, args...)
	ends(t, dir, exitResource, "cap", append(args, "--out", "second.json")...)
	if exists(filepath.Join(dir, "second.json")) {
		t.Error("a refused run wrote a model")
	}
}

func TestCancelledRunExits130(t *testing.T) {
	dir := clinic(t, 200)
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Chdir(dir)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if code, _, errs := hooked(ctx, hooks{}, "train", "--data", "patients.csv", "--schema",
		"patients.yaml"); code != exitCancelled {
		t.Errorf("exit %d, want 130: %s", code, errs)
	}
}
