package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	lib "dyad"
	"dyad/engine/dataset"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// evaluated is a private evaluation by the program.
func evaluated(t *testing.T, dir string, args ...string) (r privateResult) {
	t.Helper()
	ran(t, dir, append([]string{"--json"}, args...)...).exits(exitOK).decode(&r)
	return r
}

// scoredClinic is a folder with private records, a model of them and a metric.
func scoredClinic(t *testing.T, n int) string {
	t.Helper()
	dir := clinic(t, n)
	for name, task := range map[string]string{"model.json": taskAUC, "metric.json": taskMetric} {
		mustRun(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--task", task, "--algorithm",
			"dpgdsc", "--out", name)
	}
	return dir
}

// A private evaluation costs what its plan says, is charged to the data id of the model, and
// keeps what it prints. Pure epsilon stays pure.
func TestPrivateEvaluationIsCharged(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := scoredClinic(t, 600)
	spent := func() spending {
		all := decoded[[]spending](t, dir, "--json", "ledger", "show")
		if len(all) != 1 {
			t.Fatalf("%+v", all)
		}
		return all[0]
	}
	before := spent()
	for _, delta := range []string{"1e-5", "0"} {
		flags := []string{"--epsilon", "0.5", "--delta", delta, "--mean-loss"}
		var plan struct {
			Events    []string `json:"events"`
			Guarantee struct {
				Epsilon float64 `json:"epsilon"`
				Kind    string  `json:"kind"`
			} `json:"guarantee"`
		}
		ran(t, dir, append([]string{"--json", "evaluate", "model.json", "--plan", "-n", "600"},
			flags...)...).exits(exitOK).decode(&plan)
		if s := spent(); s.Runs != before.Runs {
			t.Fatal("a plan was charged")
		}
		r := evaluated(t, dir, append([]string{"evaluate", "model.json", "--data", "patients.csv", "--out", "figures" +
			delta + ".json"}, flags...)...)
		if r.Guarantee.Epsilon != plan.Guarantee.Epsilon || r.Guarantee.Epsilon > 0.5 ||
			strings.Join(r.Report.Events, ";") != strings.Join(plan.Events, ";") {
			t.Errorf("the plan says %+v, the run %+v", plan, r.Report)
		}
		if pure := r.Guarantee.Delta == 0; pure != (delta == "0") ||
			pure != strings.Contains(strings.Join(plan.Events, ""), "Laplace") {
			t.Errorf("delta %s: %v, %v", delta, r.Guarantee, plan.Events)
		}
		f := r.Figures
		if f.AUC == nil || f.MeanLoss == nil || len(f.Points) < 5 || f.AUC.Low >= f.AUC.High || !f.Wide {
			t.Errorf("figures %+v", f)
		}
		var kept privateResult
		text, err := os.ReadFile(filepath.Join(dir, "figures"+delta+".json"))
		if err != nil || json.Unmarshal(text, &kept) != nil || *kept.Figures.AUC != *f.AUC || kept.Run != r.Run {
			t.Errorf("kept %s: %v", text, err)
		}
		after := spent()
		if after.Runs != before.Runs+1 || *after.Epsilon <= *before.Epsilon {
			t.Errorf("spent %+v after %+v", after, before)
		}
		before = after
	}
	// The cap of the ledger holds for evaluations.
	mustRun(t, dir, "ledger", "init", before.DataID, "--epsilon", "2", "--delta", "1e-5", "--close")
	ran(t, dir, "evaluate", "model.json", "--data", "patients.csv", "--epsilon", "9").exits(exitResource).lacks("AUC")
}

// What has no private figures is refused before a record is read or anything charged, and says
// why; exact figures of private records are printed only if they are asked for by name.
func TestEvaluationRefusals(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := scoredClinic(t, 200)
	ledger := must.Get(os.ReadFile(filepath.Join(dir, "state", "dyad", "ledger.jsonl")))(t)
	text := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	lines := strings.SplitAfter(string(text), "\n") // a copy of the file would be refused: it was charged
	write(t, dir, "public.csv", strings.Join(lines[:len(lines)-20], ""))
	for _, c := range []struct {
		says string
		code int
		args []string
	}{
		{"--exact-figures", exitInput, []string{"evaluate", "model.json", "--data", "patients.csv"}},
		{"AUC", exitOK, []string{"evaluate", "model.json", "--data", "patients.csv", "--exact-figures"}},
		{"AUC", exitOK, []string{"evaluate", "model.json", "--data", "patients.csv", "--public-data"}},
		{"--reference", exitInput, []string{"evaluate", "metric.json", "--data", "patients.csv", "--epsilon", "1"}},
		{"both as the data and as the public reference", exitInput,
			[]string{"evaluate", "metric.json", "--data", "patients.csv", "--epsilon", "1", "--reference", "patients.csv"}},
		{"for a metric", exitInput, []string{"evaluate", "model.json", "--data", "patients.csv", "--epsilon", "1",
			"--reference", "public.csv"}},
		{"dyad evaluate exact has it", exitInput, []string{"evaluate", "metric.json", "--data", "patients.csv", "--epsilon",
			"1", "--neighbours", "public.csv"}},
		{"dyad evaluate exact has it", exitInput, []string{"evaluate", "model.json", "--data", "patients.csv", "--epsilon",
			"1", "--exact-figures"}},
		{"dyad evaluate private has it", exitInput,
			[]string{"evaluate", "model.json", "--data", "patients.csv", "--mean-loss", "--public-data"}},
		{"--mean-loss", exitInput, []string{"evaluate", "model.json", "--data", "patients.csv", "--epsilon", "1",
			"--loss-range", "0,1"}},
		{"epsilon", exitInput, []string{"evaluate", "model.json", "--data", "patients.csv", "--epsilon", "0"}},
		{"increase", exitInput, []string{"evaluate", "model.json", "--data", "patients.csv", "--epsilon", "1",
			"--roc-thresholds", "1,0"}},
		{"--data and --plan exclude each other", exitInput,
			[]string{"evaluate", "model.json", "--plan", "--epsilon", "1", "-n", "10", "--data", "patients.csv"}},
		{"-n is only for --plan and for persons", exitInput,
			[]string{"evaluate", "model.json", "-n", "10", "--epsilon", "1", "--data",
				"patients.csv"}},
		{"--data", exitInput, []string{"evaluate", "model.json", "--epsilon", "1"}},
		{"held-out records", exitInput, []string{"plan", "-n", "100", "-d", "3", "--holdout-epsilon", "1"}},
		{"below 1", exitInput, []string{"plan", "-n", "100", "-d", "3", "--holdout", "1", "--holdout-epsilon", "1"}},
		{"--holdout F", exitInput, []string{"train", "--data", "patients.csv", "--schema", "patients.yaml",
			"--holdout-epsilon", "1", "--force"}},
		{"--holdout-epsilon", exitInput, []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--holdout",
			"0.3", "--holdout-epsilon", "1", "--exact-figures", "--force"}},
		{"--reference", exitInput, []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--holdout",
			"0.3", "--holdout-epsilon", "1", "--task", "metric", "--force"}},
	} {
		ran(t, dir, c.args...).exits(c.code).says(c.says)
	}
	after, err := os.ReadFile(filepath.Join(dir, "state", "dyad", "ledger.jsonl"))
	if err != nil || string(after) != string(ledger) {
		t.Errorf("something was charged (%v)", err)
	}
	args := []string{"evaluate", "metric.json", "--data", "patients.csv", "--epsilon", "5", "--reference", "public.csv"}
	if r := evaluated(t, dir, args...); len(r.Figures.Right) != 4 || r.Figures.AUC != nil {
		t.Errorf("a metric: %+v", r.Figures)
	}
}

// Schemas whose unit or labels have no certificate are refused with the reason.
func TestUnitsThatAreNotEvaluated(t *testing.T) {
	for says, columns := range map[string]string{
		"grades":       "  - {name: y, role: label, kind: numeric, range: [0, 4]}\n",
		"query groups": "  - {name: q, role: group}\n  - {name: y, role: label, positive: 1}\n",
	} {
		s := must.Get(dataset.ParseSchema([]byte("data_id: x\ncolumns:\n  - {name: a, range: [0, 40]}\n" + columns)))(t)
		e := must.Get(dataset.NewEncoder(s))(t)
		must.FailDo(t, (lib.FigureOptions{Model: &model{Task: taskAUC, Encoder: e}}).Check(), says, says)
	}
}

// Held-out records of private data are not scored unless figures are asked for; the report names
// the command, which evaluates the same records, and the sum of both charges is shown.
func TestHeldOutRecordsArePrivate(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 400)
	train := func(more ...string) trainResult {
		t.Helper()
		return decoded[trainResult](t, dir, append([]string{"--json", "train", "--data", "patients.csv", "--schema",
			"patients.yaml", "--holdout", "0.4", "--force"}, more...)...)
	}
	r := train()
	if r.Held != nil || r.HeldPrivate != nil || r.HeldProblem != "" || r.Heldout != 160 ||
		!strings.HasPrefix(r.HeldCommand, "dyad evaluate model.json --data patients.csv --holdout 0.4") {
		t.Fatalf("without a flag: %+v", r.heldResult)
	}
	command := strings.Fields(strings.TrimPrefix(strings.ReplaceAll(r.HeldCommand, "--epsilon E", "--epsilon 1"), "dyad "))
	if e := evaluated(t, dir, command...); e.Figures.Records != 160 {
		t.Errorf("the command evaluates %d records", e.Figures.Records)
	}
	if r = train("--exact-figures"); r.Held == nil || r.Held.AUC == nil || r.HeldCommand != "" {
		t.Errorf("exact figures: %+v", r.heldResult)
	}
	r = train("--holdout-epsilon", "0.5", "--epsilon", "1")
	if r.HeldPrivate == nil || r.HeldPrivate.Figures.AUC == nil || r.Held != nil || r.InAll == nil {
		t.Fatalf("private figures: %+v", r.heldResult)
	}
	if both := r.InAll.Epsilon; both <= r.Guarantee.Epsilon ||
		both > r.Guarantee.Epsilon+r.HeldPrivate.Guarantee.Epsilon || r.HeldPrivate.Guarantee.Epsilon > 0.5 {
		t.Errorf("in all %v, training %v, figures %v", both, r.Guarantee.Epsilon, r.HeldPrivate.Guarantee.Epsilon)
	}
	// The plan shows the same sum.
	var plan heldPlan
	out := ran(t, dir, "--json", "plan", "-n", "400", "--schema", "patients.yaml", "--epsilon", "1", "--holdout", "0.4",
		"--holdout-epsilon", "0.5").exits(exitOK).decode(&plan).out
	if plan.InAll == nil || plan.InAll.Epsilon != r.InAll.Epsilon || plan.InAll.Delta != r.InAll.Delta {
		t.Errorf("the plan says %v, the run %v", plan.InAll, r.InAll)
	}
	// The flag of earlier versions counts besides -n.
	ran(t, dir, "--json", "plan", "-n", "240", "--schema", "patients.yaml", "--epsilon", "1", "--holdout-records", "160",
		"--holdout-epsilon", "0.5").exits(exitOK).printsOnly(out)
	if r.Spent.Runs < 5 || r.HeldPrivate.Run == r.Run || r.HeldPrivate.DataID != r.DataID {
		t.Errorf("runs %+v", r.Spent)
	}
	// From 2,155 records on a training has a smaller delta than figures of fewer records. Totals are at the delta of both.
	dir = clinic(t, 4000)
	r = train("--holdout-epsilon", "0.5", "--epsilon", "1", "--report", "page.html")
	if r.InAll.Delta == r.Guarantee.Delta || r.Spent.Delta != r.InAll.Delta || *r.Spent.Epsilon != r.InAll.Epsilon {
		t.Errorf("in all %v, spent in all %+v", r.InAll, r.Spent)
	}
	must.Contain(t, read(t, dir, "page.html"), "at delta = 1e-05, the delta of this release")
}

// digitsOf masks released figures in a text or JSON report.
var digitsOf = []*regexp.Regexp{
	regexp.MustCompile(`(?s)"figures": \{.*?\n  \}`),
	regexp.MustCompile(`"evaluated_digest": "sha256:\w+"|"score_bound": [0-9.e-]+`), // functions of released weights
	regexp.MustCompile(`(?m)^(AUC|positives|ROC|mean loss|accuracy |            score >=).*$`),
}

// Of files of well-formed records with any joint property a private evaluation prints, keeps and
// charges the same, but for the released figures: no number of positives, no exact figure, no
// error about one class.
func TestEvaluationTellsNothingElse(t *testing.T) {
	sizes.NotShort(t, "slow")
	model := silentFolder(t, silentWorlds["mixed"])
	mustRun(t, model, "train", "--data", "r.csv", "--schema", "class.yaml", "--out", "model.json", "--seed", "1",
		"--algorithm", "dpgdsc")
	text := must.Get(os.ReadFile(filepath.Join(model, "model.json")))(t)
	for _, flags := range [][]string{{"--out", "f.json"}, {"--delta", "0", "--mean-loss"}, {"--roc-thresholds=-0.1,0.1"}} {
		args := append([]string{"evaluate", "model.json", "--data", "r.csv", "--epsilon", "2"}, flags...)
		tellsTheSame(t, args, []string{"mixed", "one class", "the other class", "one of a class", "equal rows", "clamped",
			"missing"}, func(dir string) { write(t, dir, "model.json", string(text)) })
	}
}

// tellsTheSame runs a command in folders of several worlds: it tells the same, but for the released figures.
func tellsTheSame(t *testing.T, args, worlds []string, prepare func(dir string)) {
	t.Helper()
	want := ""
	for _, world := range worlds {
		dir := silentFolder(t, silentWorlds[world])
		prepare(dir)
		code, got := told(t, dir, args...)
		masked := got
		for _, m := range digitsOf {
			masked = m.ReplaceAllString(masked, "FIGURES")
		}
		if want == "" {
			want = masked
			if code != exitOK || masked == got {
				t.Fatalf("no figures: %s", got)
			}
		}
		if masked != want {
			t.Errorf("%v, %s: a joint property of the records shows:\n%s", args, world, firstDifference(want, masked))
		}
	}
}

// The same of held-out records that a training evaluates, and of a metric and its reference.
func TestHeldOutAndNeighbourFiguresTellNothingElse(t *testing.T) {
	sizes.NotShort(t, "slow")
	prepare := func(dir string) {
		t.Helper()
		lines := "id,x,z,c,q,y,g\n"
		for i := range 12 {
			lines += fmt.Sprintf("o%d,%g,%d,%s,q,%d,0\n", i, float64(i%5)/5-0.4, i%10, string("abc"[i%3]), i%2)
		}
		write(t, dir, "others.csv", lines)
		mustRun(t, dir, "train", "--data", "others.csv", "--schema", "class.yaml", "--task", "metric", "--public-data",
			"--out", "metric.json", "--seed", "1")
	}
	for _, args := range [][]string{
		{"train", "--data", "r.csv", "--schema", "class.yaml", "--holdout", "0.4", "--holdout-epsilon", "1",
			"--out", "m.json"},
		{"evaluate", "metric.json", "--data", "r.csv", "--epsilon", "2", "--reference", "others.csv"},
		{"evaluate", "metric.json", "--data", "r.csv", "--epsilon", "2", "--delta", "0", "--reference", "others.csv",
			"--out", "f.json"},
	} {
		tellsTheSame(t, args, []string{"mixed", "one class", "equal rows", "clamped", "missing"}, prepare)
	}
}

// A model of public records says nothing of the records that it is evaluated on: private figures
// of them are charged, and whether they have both classes is not looked at.
func TestModelOfPublicRecordsDoesNotMakeOthersPublic(t *testing.T) {
	model := silentFolder(t, silentWorlds["mixed"])
	text := must.Get(os.ReadFile(filepath.Join(model, "class.yaml")))(t)
	write(t, model, "public.yaml", string(text)+"\npublic: true\n")
	mustRun(t, model, "train", "--data", "r.csv", "--schema", "public.yaml", "--out", "model.json")
	text = must.Get(os.ReadFile(filepath.Join(model, "model.json")))(t)
	for _, world := range []string{"mixed", "one class"} {
		dir := silentFolder(t, silentWorlds[world])
		write(t, dir, "model.json", string(text))
		if r := evaluated(t, dir, "evaluate", "model.json", "--data", "r.csv", "--epsilon", "2"); r.Public ||
			r.Ledger == "" || r.Run == "" || r.Guarantee.Epsilon == 0 {
			t.Errorf("%s: public %v, run %q, %v", world, r.Public, r.Run, r.Guarantee)
		}
		// Exact figures need a word, too, and the refusal is the same for all records.
		ran(t, dir, "evaluate", "model.json", "--data", "r.csv").exits(exitInput).printsOnly("").warns(
			`run "dyad evaluate exact" with --public-data if they are public`)
		if world == "mixed" {
			if r := evaluated(t, dir, "evaluate", "model.json", "--data", "r.csv", "--epsilon", "2",
				"--public-data"); !r.Public || r.Run != "" {
				t.Errorf("with --public-data: public %v, run %q", r.Public, r.Run)
			}
		}
	}
}

// The training file of a metric is no public reference, under any name: the ledger knows it.
func TestChargedRecordsAreNoPublicReference(t *testing.T) {
	dir := clinic(t, 120)
	mustRun(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--task", "metric",
		"--out", "metric.json")
	text := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	write(t, dir, "copy.csv", string(text))
	lines := strings.SplitAfter(string(text), "\n")
	write(t, dir, "others.csv", lines[0]+strings.Join(lines[40:], ""))
	book := filepath.Join(dir, "state", "dyad", "ledger.jsonl")
	before := must.Get(os.ReadFile(book))(t)
	for _, reference := range []string{"patients.csv", "copy.csv"} {
		ends(t, dir, exitInput, "was charged for this file", "evaluate", "metric.json", "--data", "others.csv", "--epsilon",
			"1", "--reference", reference)
	}
	if after, err := os.ReadFile(book); err != nil || string(after) != string(before) {
		t.Errorf("something was charged (%v)", err)
	}
	evaluated(t, dir, "evaluate", "metric.json", "--data", "patients.csv", "--epsilon", "1", "--reference", "others.csv")
}

// The command for held-out records charges the ledger of their training.
func TestHeldOutCommandNamesTheLedger(t *testing.T) {
	dir := clinic(t, 120)
	r := decoded[trainResult](t, dir, "--json", "train", "--data", "patients.csv", "--schema", "patients.yaml",
		"--holdout", "0.4", "--ledger", "book.jsonl")
	must.Contain(t, r.HeldCommand, "--ledger book.jsonl")
	// The labels of the records are never written over.
	write(t, dir, "labels.csv", "kept")
	ends(t, dir, exitInput, "its ending means CSV", "evaluate", "model.json", "--data",
		"patients.csv", "--labels", "labels.csv", "--epsilon", "1", "--out", "labels.csv", "--force")
}
