package command

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/engine/dataset"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/account"
)

const visitColumns = `csv: {header: true}
missing: {policy: middle}
columns:
  - {name: patient, role: person}
  - {name: age, range: [0, 100]}
  - {name: bmi, range: [10, 50]}
  - {name: ill, role: label, positive: "1", negative: "0"}
`

// visits writes visits.csv, of 40 persons with the given numbers of rows, and schemas.
func visits(t *testing.T, rows func(p int) int, row func(p, r int) string) (dir string, count int) {
	t.Helper()
	dir = t.TempDir()
	var lines []string
	for p := range 40 {
		for r := range rows(p) {
			id := fmt.Sprintf("Pat-%02d", p)
			if r%2 == 1 {
				id = strings.ToUpper(id) + " "
			}
			lines = append(lines, fmt.Sprintf("%q,%s", id, row(p, r)))
		}
	}
	rand.New(rand.NewPCG(uint64(len(lines)), 1)).Shuffle(len(lines),
		func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	write(t, dir, "visits.csv", "patient,age,bmi,ill\n"+strings.Join(lines, "\n")+"\n")
	for name, head := range map[string]string{
		"public.yaml": "ids: public\nmax_rows_per_person: 30\n", "declared.yaml": "persons: 40\n",
		"wrong.yaml": "persons: 41\n",
	} {
		write(t, dir, name, "data_id: visits\n"+head+visitColumns)
	}
	write(t, dir, "rows.yaml", "data_id: visits\nrows_per_person: 30\n"+
		strings.Replace(visitColumns, "role: person", "role: ignore", 1))
	return dir, len(lines)
}

// differentVisits are files of the same persons that a private run must not tell apart by more than its release.
var differentVisits = map[string]struct {
	rows func(p int) int
	row  func(p, r int) string
}{
	"mixed":        {func(p int) int { return 1 + p*p%9 }, mixedVisit},
	"one row each": {func(int) int { return 1 }, mixedVisit},
	"one has most": {func(p int) int { return 1 + p/39*300 }, mixedVisit},
	"one class":    {func(p int) int { return 1 + p%3 }, func(p, r int) string { return "50,20,1" }},
	"equal rows":   {func(int) int { return 3 }, func(p, r int) string { return fmt.Sprintf("50,20,%d", p%2) }},
}

func mixedVisit(p, r int) string {
	return fmt.Sprintf("%d,%d,%d", (37*p+11*r)%100, 15+(p+r)%30, (p+r)%2)
}

// TestTrainPersons: one person is the unit of the report, the ledger and the model; splits are
// by person; what works on rows refuses the schema.
func TestTrainPersons(t *testing.T) {
	dir, count := visits(t, func(p int) int { return 1 + p*p%9 }, mixedVisit)
	for _, schema := range []string{"public.yaml", "declared.yaml"} {
		for _, task := range []string{"auc", "metric"} {
			out := mustRun(t, dir, "train", "--verbose", "--data", "visits.csv", "--schema", schema, "--task", task, "--holdout",
				"0.25", "--epsilon", "2", "--force", "--out", "m.json", "--exact-figures")
			must.Contain(t, out, "30 persons to train, 10 held out", "for one person", "all rows of one person replaced",
				"takes its place in the order of persons", "these figures count rows", "n = 30 persons")
			if regexp.MustCompile(fmt.Sprintf(`\b%d\b`, count)).MatchString(out) || strings.Contains(out, "s of training") {
				t.Errorf("%s, %s: the report tells %d rows or a time:\n%s", schema, task, count, out)
			}
		}
	}
	ran(t, dir, "ledger", "show", "visits").prints("for one person", "4 runs")
	ran(t, dir, "train", "--data", "visits.csv", "--schema", "declared.yaml", "--epsilon", "2", "--force", "--out",
		"m.json", "--json").exits(exitOK).prints(`"unit": "one person"`, `"persons": 40`, `"max_rows_per_person": 1000`)
	for _, use := range [][]string{{"predict", "m.json", "--data", "visits.csv"},
		{"evaluate", "m.json", "--data", "visits.csv", "--exact-figures"}} {
		mustRun(t, dir, use...)
	}
	ends(t, dir, exitOK, "DeLong by person), on 10 persons, by their rows", "evaluate", "m.json", "--data", "visits.csv", "--holdout", "0.25",
		"--exact-figures")
	ends(t, dir, exitOK, "DeLong by person), on 40 persons", "evaluate", "m.json", "--data", "visits.csv", "--exact-figures")
	// Private figures protect a person, too; a plan says so without data.
	for _, use := range [][]string{
		{"evaluate", "m.json", "--data", "visits.csv", "--epsilon", "1"},
		{"evaluate", "m.json", "--plan", "-n", "40", "--epsilon", "1"},
		{"train", "--data", "visits.csv", "--schema", "declared.yaml", "--holdout", "0.25", "--holdout-epsilon", "1",
			"--force", "--out", "m.json"},
		{"plan", "--schema", "declared.yaml", "--epsilon", "2", "--holdout", "0.25", "--holdout-epsilon", "1"},
		{"plan", "compare", "--schema", "declared.yaml", "--epsilon", "2"},
	} {
		code, out, errs := dyad(t, dir, use...)
		if code != exitOK || !strings.Contains(out, "for one person") || strings.Contains(out, "one record replaced") ||
			regexp.MustCompile(fmt.Sprintf(`\b%d\b`, count)).MatchString(out) {
			t.Errorf("%v: exit %d: %s%s", use, code, out, errs)
		}
		if !slices.Contains(use, "--plan") && use[0] != "plan" &&
			!strings.Contains(out, "persons (each by its share of positive rows)") {
			t.Errorf("%v has no figures of persons: %s", use, out)
		}
	}
	ends(t, dir, exitOK, "for one row of each person (more rows need more memory and time)", "plan", "--schema", "declared.yaml")
	// A plan for the number of rows would be approved for a run that cannot be.
	ends(t, dir, exitInput, "(-n counts persons, not rows); leave -n out", "plan", "-n", "41", "--schema", "declared.yaml")
	ends(t, dir, exitOK, "figures of the 10 held-out persons: dyad evaluate m.json", "train", "--data", "visits.csv",
		"--schema", "declared.yaml", "--holdout", "0.25", "--epsilon", "2", "--force", "--out", "m.json")
	// The cap has room for the training alone: with its figures nothing is charged.
	mustRun(t, dir, "ledger", "init", "capped", "--epsilon", "2.5", "--delta", "1e-5")
	both := []string{"train", "--data", "visits.csv", "--schema", "declared.yaml", "--data-id", "capped", "--holdout",
		"0.25", "--epsilon", "2", "--force", "--out", "m.json"}
	ends(t, dir, exitResource, "together", append(slices.Clone(both), "--holdout-epsilon", "2")...)
	mustRun(t, dir, append(slices.Clone(both), "--holdout-epsilon", "0.1")...)
	ends(t, dir, exitResource, "protect different units", "train", "--data", "visits.csv", "--schema", "rows.yaml", "--data-id", "capped", "--epsilon", "0.01", "--out", "r.json")
	// A file of other persons has a number of its own.
	text := must.Get(os.ReadFile(filepath.Join(dir, "visits.csv")))(t)
	lines := strings.SplitAfter(string(text), "\n")
	others := lines[0]
	for _, row := range lines[1:] {
		if strings.Contains(strings.ToLower(row), "pat-1") {
			others += row
		}
	}
	write(t, dir, "others.csv", others)
	for want, use := range map[string][]string{
		"for one person":                  {"evaluate", "m.json", "--data", "others.csv", "-n", "10", "--epsilon", "1"},
		"dyad evaluate private has it":    {"evaluate", "m.json", "--data", "others.csv", "-n", "10", "--exact-figures"},
		"number of different ids differs": {"evaluate", "m.json", "--data", "others.csv", "--epsilon", "1"},
	} {
		if code, out, errs := dyad(t, dir, use...); (code == exitOK) != (want == "for one person") ||
			!strings.Contains(out+errs, want) {
			t.Errorf("%v: exit %d: %s%s", use, code, out, errs)
		}
	}
	train := []string{"train", "--data", "visits.csv", "--schema", "declared.yaml", "--force", "--out", "m.json"}
	mustRun(t, dir, append(slices.Clone(train), "--algorithm", "dpgdsc", "--holdout", "0.25")...)
	ends(t, dir, exitOK, "mean loss", "evaluate", "m.json", "--data", "visits.csv", "--holdout", "0.25", "--epsilon",
		"1", "--mean-loss")
	// The figures of the training file are too good, and a split by the order of another file may mix
	// persons of the training with those held out; public ids have an order of their own.
	ran(t, dir, "evaluate", "m.json", "--data", "visits.csv", "--epsilon", "1").warns("trained on records of this file")
	write(t, dir, "turned.csv", lines[0]+strings.Join(append(slices.Clone(lines[40:]), lines[1:40]...), ""))
	held := []string{"evaluate", "m.json", "--data", "turned.csv", "--holdout", "0.25", "--epsilon", "1"}
	ran(t, dir, held...).exits(exitOK).warns("--holdout could evaluate training persons")
	held[3] = "visits.csv"
	ran(t, dir, held...).exits(exitOK).lacks("this file")
	ran(t, dir, "evaluate", "m.json", "--data", "visits.csv", "--holdout", "0.5", "--epsilon",
		"1").warns("trained the model on 30 persons of this file, but this --holdout leaves 20")
	mustRun(t, dir, "train", "--data", "visits.csv", "--schema", "public.yaml", "--holdout", "0.25", "--epsilon", "2",
		"--force", "--out", "m.json")
	held[3] = "turned.csv"
	ran(t, dir, held...).exits(exitOK).warns("unless both files have the same ids, these figures may include " +
		"training records")
	ran(t, dir, "data", "inspect", "visits.csv", "--schema",
		"declared.yaml").exits(exitOK).prints("persons 40 in patient; all rows of a person (up to 8) are protected together\n").lacks("if it names persons")
	write(t, dir, "capped.yaml", strings.Replace(string(must.Get(os.ReadFile(filepath.Join(dir, "declared.yaml")))(t)), "persons: 40", "persons: 40\nmax_rows_per_person: 7", 1))
	ends(t, dir, exitOK, "together; a run takes the first 7, but these figures count all", "data", "inspect", "visits.csv", "--schema", "capped.yaml")
	ends(t, dir, exitOK, "repeats patient has repeated values; if it names persons, set role: person", "data", "inspect",
		"visits.csv", "--schema", "rows.yaml")
	for _, c := range []struct {
		args []string
		want string
	}{
		{append(slices.Clone(train), "--algorithm", "offpairc"), "several times"},
		{append(slices.Clone(train), "--task", "metric", "--precision", "fp32"), "persons"},
		{append(slices.Clone(train), "--group-column", "bmi"), "person"},
		{[]string{"train", "--data", "visits.csv", "--schema", "wrong.yaml", "--force", "--out", "m.json"}, "persons"},
		{[]string{"plan", "-n", "40", "--schema", "declared.yaml", "--algorithm", "onpairc"}, "protect rows, not persons"},
		{[]string{"online", "--schema", "declared.yaml", "--data", "visits.csv", "--records", "40", "--epsilon", "1",
			"--state", "s.json"}, "protect rows, not persons"},
		{[]string{"local", "plan", "-n", "40", "--schema", "declared.yaml"}, "role: person"},
		{[]string{"pairs", "plan", "-n", "40", "--schema", "declared.yaml", "--all-pairs"}, "role: person"},
		{[]string{"local", "simulate", "--schema", "declared.yaml", "--data", "visits.csv", "--epsilon", "1"},
			"role: person"},
		{[]string{"data", "convert", "visits.csv", "c.csv", "--schema", "declared.yaml"}, "role: person"},
	} {
		out, errs := ran(t, dir, c.args...).exits(exitInput).says(c.want).texts()
		if strings.Contains(strings.ToLower(out+errs), "pat-") {
			t.Errorf("%v shows an id: %s%s", c.args, out, errs)
		}
	}
}

// TestRowsOfPersonsDeclared: without the role a row is protected, and rows_per_person says what
// that is for a person, the same as account --group.
func TestRowsOfPersonsDeclared(t *testing.T) {
	dir, _ := visits(t, func(int) int { return 2 }, mixedVisit)
	_, out, errs := dyad(t, dir, "plan", "-n", "1000", "--schema", "rows.yaml", "--epsilon", "1", "--delta", "1e-5",
		"--algorithm", "dpgdsc")
	found := regexp.MustCompile(`one row is protected, and a person may have up to 30 rows; for all rows of one person, the run is \((\S+), 1e-05\)`).FindStringSubmatch(out)
	sigma := regexp.MustCompile(`sigma = (\S+) per`).FindStringSubmatch(out)
	if found == nil || sigma == nil || !strings.Contains(out, "for one record") {
		t.Fatalf("%s%s", out, errs)
	}
	_, account, errs := dyad(t, dir, "account", "--epsilon", "1", "--delta", "1e-5", "--group", "30")
	epsilon := regexp.MustCompile(`\((\S+), 1e-05\)-DP for the 30 records`).FindStringSubmatch(account)
	if epsilon == nil || epsilon[1][:5] != found[1][:5] {
		t.Errorf("account says %v, the plan %s: %s%s", epsilon, found[1], account, errs)
	}
}

// TestRowsOfPersonsAddUp: what is promised for all rows of one person follows the epsilon that it
// stands next to: that of the training, of the held-out figures, and of both together.
func TestRowsOfPersonsAddUp(t *testing.T) {
	dir, _ := visits(t, func(int) int { return 2 }, mixedVisit)
	type planned struct{ Guarantee privacy.Guarantee }
	var plan struct {
		Training planned
		HeldOut  planned            `json:"held_out"`
		InAll    *privacy.Guarantee `json:"in_all"`
	}
	ran(t, dir, "plan", "-n", "1500", "--schema", "rows.yaml", "--epsilon", "0.1", "--delta", "1e-5", "--algorithm", "dpgdsc",
		"--holdout", "0.33333", "--holdout-epsilon", "1", "--json").exits(exitOK).decode(&plan)
	for name, g := range map[string]privacy.Guarantee{"training": plan.Training.Guarantee,
		"held out": plan.HeldOut.Guarantee, "in all": *plan.InAll} {
		mu := must.Get(privacy.GroupMu(g.Mu, 30))(t)
		want := "for all rows of one person, the run is (" + privacy.FormatUp(account.GDPEpsilon(mu, g.Delta)) + ","
		if all := strings.Join(g.Warnings, "\n"); !strings.Contains(all, want) ||
			strings.Count(all, "rows of one person") != 1 {
			t.Errorf("%s: want %q once: %s", name, want, all)
		}
		if all := strings.Join(g.Assumptions, "\n"); !strings.Contains(all, "a person contributes up to 30 records") ||
			strings.Contains(all, "one record;") {
			t.Errorf("%s assumes %s", name, all)
		}
	}
}

// TestPersonsAreSilent: files of the same persons with other numbers of rows, features and labels
// give the same exit code, texts and names of files; only what is released with noise differs.
func TestPersonsAreSilent(t *testing.T) {
	sizes.NotShort(t, "slow")
	worlds := map[string]struct {
		rows func(p int) int
		row  func(p, r int) string
	}{
		"mixed":          {func(p int) int { return 1 + p*p%9 }, mixedVisit},
		"one row each":   {func(int) int { return 1 }, mixedVisit},
		"one has most":   {func(p int) int { return 1 + p/39*300 }, mixedVisit},
		"one class":      {func(p int) int { return 1 + p%3 }, func(p, r int) string { return "50,20,1" }},
		"missing values": {func(p int) int { return 1 + p%4 }, func(p, r int) string { return ",,0" }},
		"clamped":        {func(p int) int { return 2 }, func(p, r int) string { return "1e300,-1e300," + fmt.Sprint(r) }},
	}
	secret := regexp.MustCompile(`[A-Z2-7]{26}`)
	for _, args := range [][]string{
		{"--schema", "public.yaml"}, {"--schema", "declared.yaml", "--algorithm", "dpegd"},
		{"--schema", "public.yaml", "--algorithm", "gradient-perturbation", "--loss", "hinge"},
		{"--schema", "declared.yaml", "--task", "metric"},
		{"--schema", "public.yaml", "--algorithm", "subsampled-descent", "--json"},
		{"--schema", "declared.yaml", "--loss", "logistic"},
		{"--schema", "public.yaml", "--algorithm", "moments", "--steps", "2", "--second-moments", "diagonal"},
	} {
		var first string
		var from string
		for name, w := range worlds {
			dir, _ := visits(t, w.rows, w.row)
			code, out, errs := dyad(t, dir, slices.Concat([]string{"train", "--data", "visits.csv", "--epsilon", "2", "--out",
				"m.json"}, args)...)
			all := fmt.Sprintf("exit %d\n%s%s", code, out, errs)
			all = strings.ReplaceAll(secret.ReplaceAllString(all, "RUN"), dir, "DIR")
			_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				if name, e := filepath.Rel(dir, path); e == nil && !strings.HasSuffix(path, ".csv") {
					all += secret.ReplaceAllString(name, "RUN") + "\n"
				}
				return err
			})
			must.Equal(t, code, exitOK, "%v, %s: %s", args, name, all)
			if first == "" {
				first, from = all, name
			} else if all != first {
				t.Errorf("%v: %q and %q are told apart:\n%s\n%s", args, from, name, first, all)
			}
		}
	}
}

// TestProgressOfPersonsShowsNoTimes: whichever command reads persons, its bars show neither numbers of rows nor
// times, which grow with them. Those of rows do.
func TestProgressOfPersonsShowsNoTimes(t *testing.T) {
	dir, _ := visits(t, func(int) int { return 2 }, mixedVisit)
	times := regexp.MustCompile(`\[\d+\w+`)
	for schema, shown := range map[string]bool{"rows.yaml": true, "public.yaml": false, "declared.yaml": false} {
		s := must.Get(dataset.LoadSchema(filepath.Join(dir, schema)))(t)
		var screen bytes.Buffer
		a := &app{ctx: context.Background(), stderr: &screen, interactive: true}
		must.Get(a.readTraining(dataFiles{names: []string{filepath.Join(dir, "visits.csv")}}, s,
			dataset.Options{Persons: dataset.KeepPersons}, false))(t)
		if strings.Contains(screen.String(), "rows") && !shown {
			t.Errorf("%s: reading shows %q", schema, screen.String())
		}
		a.tracker("evaluating").OnStep(1, 3)
		if times.MatchString(screen.String()) != shown {
			t.Errorf("%s: the bar shows %q", schema, screen.String())
		}
	}
}

// TestNeighboursAreOtherPersons: exact figures of a metric among the records themselves leave out all
// rows of a row's person: persons with twin rows and random labels are not found by their twins.
func TestNeighboursAreOtherPersons(t *testing.T) {
	dir, _ := visits(t, func(int) int { return 6 }, func(p, r int) string {
		return fmt.Sprintf("%d,%d,%d", (37*p)%100, 15+p%30, p*p/7%2)
	})
	ran(t, dir, "train", "--data", "visits.csv", "--schema", "wrong.yaml", "--task", "metric", "--out",
		"metric.json").exits(exitInput)
	mustRun(t, dir, "train", "--data", "visits.csv", "--schema", "declared.yaml", "--task", "metric",
		"--out", "metric.json")
	mustRun(t, dir, "train", "--data", "visits.csv", "--schema", "declared.yaml", "--task", "metric", "--model", "mlp",
		"--hidden", "4", "--out", "network.json")
	for _, model := range []string{"metric.json", "network.json"} {
		e := decoded[evaluation](t, dir, "--json", "evaluate", model, "--data", "visits.csv", "--neighbours", "visits.csv",
			"--exact-figures")
		if e.Records != 40 || len(e.KNN) == 0 || e.KNN[0].Identity > 0.9 || e.KNN[0].Learned > 0.9 {
			t.Errorf("%+v", e)
		}
	}
}

// TestFiguresOfPersonsAreSilent: files of the same persons with other numbers of rows, features and
// labels are evaluated with the same texts, but for the released figures.
func TestFiguresOfPersonsAreSilent(t *testing.T) {
	dir, _ := visits(t, func(p int) int { return 1 + p%4 }, mixedVisit)
	mustRun(t, dir, "train", "--data", "visits.csv", "--schema", "declared.yaml", "--epsilon", "2", "--out", "m.json",
		"--seed", "1", "--algorithm", "dpgdsc")
	model := must.Get(os.ReadFile(filepath.Join(dir, "m.json")))(t)
	secret := regexp.MustCompile(`[A-Z2-7]{26}`)
	for _, flags := range [][]string{nil, {"--delta", "0", "--mean-loss"},
		{"--roc-thresholds=-0.1,0.1", "--holdout", "0.25"}} {
		silentOnVisits(t, append([]string{"evaluate", "m.json", "--data", "visits.csv", "--epsilon", "2"}, flags...),
			map[string]string{"m.json": string(model)}, "FIGURES", func(all string) string {
				all = secret.ReplaceAllString(all, "RUN")
				for _, m := range digitsOf {
					all = m.ReplaceAllString(all, "FIGURES")
				}
				return all
			})
	}
}

// silentOnVisits runs a command on all differentVisits, next to other files. It prints the same texts, but for what
// masked replaces by a mark.
func silentOnVisits(t *testing.T, args []string, files map[string]string, mark string, masked func(string) string) {
	t.Helper()
	var first string
	for name, w := range differentVisits {
		dir, _ := visits(t, w.rows, w.row)
		for file, text := range files {
			write(t, dir, file, text)
		}
		code, out, errs := dyad(t, dir, args...)
		all := strings.ReplaceAll(masked(fmt.Sprintf("exit %d\n%s%s", code, out, errs)), dir, "DIR")
		if code != exitOK || !strings.Contains(all, mark) {
			t.Errorf("%v, %s: %s", args, name, all)
		}
		if first == "" {
			first = all
		} else if all != first {
			t.Errorf("%v: %q is told apart:\n%s", args, name, firstDifference(first, all))
		}
	}
}

// TestHeldOutFiguresAreContinued: the command for figures that were charged and not released continues
// their run, at the same epsilon.
func TestHeldOutFiguresAreContinued(t *testing.T) {
	epsilon, delta, share := 0.5, 1e-6, 0.25
	c := trainCmd{trainedFlags: trainedFlags{Data: dataFiles{asked: []string{"v.csv"}, names: []string{"v.csv"}}}}
	c.Holdout, c.HoldoutEpsilon, c.Delta, c.SplitSeed = &share, &epsilon, &delta, 1
	const want = "dyad evaluate m.json --data v.csv --holdout 0.25 --set split-seed=1 --epsilon 0.5 --delta 1e-06"
	must.Equal(t, c.heldAgain("m.json", context.Canceled), want, "not charged")
	must.Equal(t, c.heldAgain("m.json", &algorithms.ChargedError{Run: "ABC", Resumable: true, Err: context.Canceled}),
		want+" --resume ABC", "charged")
}

// TestAuditOfPersonsByCommand: neighbours differ in all rows of one person; what replaces rows is
// refused.
func TestAuditOfPersonsByCommand(t *testing.T) {
	dir := t.TempDir()
	for _, algorithm := range []string{"moments", "dpgdsc"} {
		ran(t, dir, "lab", "audit", algorithm, "-n", "12", "--person-rows", "5", "--runs",
			"200").exits(exitOK).prints("for one person", "all rows of a person")
	}
	for want, args := range map[string][]string{
		"canaries":      {"lab", "audit", "dpgdsc", "--method", "canaries", "--person-rows", "5"},
		"stream":        {"lab", "audit", "onpairc", "--person-rows", "5"},
		"several times": {"lab", "audit", "offpairc", "--person-rows", "5"},
	} {
		ran(t, dir, args...).exits(exitInput).says(want)
	}
}

// Who is in which query group is public, and nothing else of a person's rows is: two files of the same persons in the same groups, whose rows differ in number, place,
// features and grades, give the same output but for the weights; and a person in two groups is refused before anything is charged.
func TestPersonsWithinGroupsAreSilent(t *testing.T) {
	schema := "data_id: ranked\nids: public\nmax_rows_per_person: 3\n" +
		strings.Replace(visitColumns, "columns:", "columns:\n  - {name: query, role: group}", 1)
	secret := regexp.MustCompile(`[A-Z2-7]{26}`)
	for _, args := range [][]string{{"--json"}, {"--verbose", "--algorithm", "gradient-perturbation",
		"--loss", "logistic"}} {
		var first string
		for world := range 3 {
			dir, text := t.TempDir(), "query,patient,age,bmi,ill\n"
			for i := range 40 {
				p := i * []int{1, 3, 7}[world] % 40
				for r := range 1 + p*world%5 {
					text += fmt.Sprintf("q%d,p%02d,%s\n", p%7, p, mixedVisit(p+r, world))
				}
			}
			write(t, dir, "visits.csv", text)
			write(t, dir, "visits.yaml", schema)
			code, out, errs := dyad(t, dir, append([]string{"train", "--data", "visits.csv", "--schema", "visits.yaml",
				"--epsilon", "2", "--out", "m.json", "--ledger", "l.jsonl"}, args...)...)
			all := strings.ReplaceAll(secret.ReplaceAllString(out+errs, "RUN"), dir, "DIR")
			if first = cmp.Or(first, all); code != exitOK || all != first || !strings.Contains(all, "one person") {
				t.Fatalf("%v, world %d: exit %d: %s\nis not\n%s", args, world, code, all, first)
			}
			write(t, dir, "visits.csv", text+"q1,p00,1,20,1\n")
			ran(t, dir, "train", "--data", "visits.csv", "--schema", "visits.yaml", "--epsilon", "2", "--out", "n.json",
				"--ledger", "none.jsonl").exits(exitInput).warns("a person has rows in two query groups").lacks("p00")
			must.Err(os.Stat(filepath.Join(dir, "none.jsonl")))(t, "a person in two groups was charged")
		}
	}
}
