package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/ledger"
)

const searchSettings = `candidates:
  - name: default
  - name: descent
    algorithm: dpgdsc
    steps: 3
  - name: few features
    features: [age, bmi]
    algorithm: moments
    ridge: 2
    second_moments: full
`

// searching are the arguments of a search in a clinic's folder.
func searching(more ...string) []string {
	return append([]string{"search", "--candidates", "settings.yaml", "--data", "patients.csv", "--schema", "patients.yaml"}, more...)
}

func searchClinic(t *testing.T, n int) string {
	dir := clinic(t, n)
	write(t, dir, "settings.yaml", searchSettings)
	return dir
}

// Both roads through settings charge once what the plan said, release a model that scores records, and
// the third road chooses among the two models at the price of the choice.
func TestSearchRoad(t *testing.T) {
	dir := searchClinic(t, 400)
	for i, road := range []string{"compose", "random-stopping"} {
		name := fmt.Sprintf("m%d.json", i)
		var plan struct {
			Guarantee struct{ Epsilon, Delta float64 }
		}
		ran(t, dir, "search", "--candidates", "settings.yaml", "--schema", "patients.yaml", "--plan", "-n", "400", "--road", road, "--json").exits(exitOK).decode(&plan)
		r := decoded[searchResult](t, dir, searching("--road", road, "--out", name, "--json")...)
		if r.Guarantee.Epsilon != plan.Guarantee.Epsilon || r.Guarantee.Epsilon > 1 || r.Road != road || !slices.Contains([]string{"default", "descent", "few features"}, r.Winner) || !(r.Alone > 0 && r.Alone < 1) {
			t.Errorf("%s: %+v, plan %+v", road, r.runOutcome, plan)
		}
		must.Equal(t, r.AUC != nil, road == "random-stopping", "%s released the AUC %v", road, r.AUC)
		mustRun(t, dir, "predict", name, "--data", "patients.csv")
	}
	ran(t, dir, "search", "--models", "m0.json,m1.json", "--data", "patients.csv", "--schema", "patients.yaml", "--epsilon", "0.25", "--delta", "0", "--out", "best.json", "--verbose").exits(exitOK).prints("0.25-differentially private", "noisy-max", "\nwinner      m")
	best, err := os.ReadFile("best.json")
	first, _ := os.ReadFile("m0.json")
	second, _ := os.ReadFile("m1.json")
	if err != nil || string(best) != string(first) && string(best) != string(second) {
		t.Error("the file of the winner is not that of a candidate")
	}
	// The file is a copy, so its page and its verdict name the other release of it, and the records that chose it.
	mustRun(t, dir, "search", "--models", "m0.json,m1.json", "--data", "patients.csv", "--schema", "patients.yaml", "--epsilon", "0.25", "--data-id", "elsewhere", "--out", "again.json")
	const chose = `charged to data id "elsewhere", chose this file among others`
	ran(t, dir, "verify", "again.json", "--ledger", filepath.Join("state", "dyad", "ledger.jsonl")).exits(exitFailure).prints(chose)
	mustRun(t, dir, "report", "again.json", "--out", "again.html")
	must.Contain(t, text(t, dir, "again.html"), "chose this model by the records of data id &#34;elsewhere&#34;", "Charges on elsewhere")
	l := must.Get(ledger.Open(filepath.Join(dir, "state", "dyad", "ledger.jsonl")))(t)
	if s, err := l.Summary("synthetic-clinical", 1e-4); err != nil || s.Runs != 3 {
		t.Errorf("%d runs were charged: %v", s.Runs, err)
	}
}

func TestSearchRefusals(t *testing.T) {
	dir := searchClinic(t, 60)
	write(t, dir, "one.yaml", "candidates:\n  - name: default\n")
	write(t, dir, "typo.yaml", "candidates:\n  - {name: a, radus: 2}\n  - {name: b}\n")
	write(t, dir, "column.yaml", "candidates:\n  - {name: a, features: [nothing]}\n  - {name: b}\n")
	for want, args := range map[string][]string{
		"2 to 64":               {"--candidates", "one.yaml", "--plan", "-n", "60"},
		"unknown field":         {"--candidates", "typo.yaml", "--plan", "-n", "60"},
		"only 0 of 1 names":     {"--candidates", "column.yaml", "--plan", "-n", "60"},
		"-n counts the records": {"--candidates", "settings.yaml", "--plan", "-n", "60", "--holdout", "0.2"},
		"-n is for --plan":      {"--candidates", "settings.yaml", "--data", "patients.csv", "-n", "60"},
		"--models":              {"--plan", "-n", "60"},
		"--data=FILE or --plan": {"--candidates", "settings.yaml"},
		"delta is 0":            {"--candidates", "settings.yaml", "--plan", "-n", "60", "--delta", "0", "--road", "random-stopping"},
	} {
		if !slices.Contains(args, "--schema") {
			args = append(args, "--schema", "patients.yaml")
		}
		ends(t, dir, exitInput, want, append([]string{"search"}, args...)...)
	}
	// Every key reaches an algorithm that has the option.
	write(t, dir, "keys.yaml", `candidates:
  - {name: a, algorithm: dpgdsc, loss: logistic, radius: 2, l2: 0.1, total_step: 3}
  - {name: b, algorithm: dpgdsc, steps: 3, step_size: 0.1, features: [age, bmi]}
  - {name: c, algorithm: subsampled-descent, batch_records: 8}
  - {name: d, algorithm: moments, ridge: 4, clip_radius: 0.5, second_moments: diagonal}
`)
	ran(t, dir, "search", "--candidates", "keys.yaml", "--plan", "-n", "60", "--schema", "patients.yaml").exits(exitOK).counts(4, "candidate   ")
	must.Err(os.Stat(filepath.Join(dir, "state")))(t, "a refused search made a ledger")
	// A model of these records that another ledger has.
	mustRun(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "a.json")
	// A model whose positive class is the other one: the labels of the first would choose against it.
	schema := must.Get(os.ReadFile(filepath.Join(dir, "patients.yaml")))(t)
	write(t, dir, "turned.yaml", strings.Replace(string(schema), `positive: "1", negative: "0"`, `positive: "0", negative: "1"`, 1))
	mustRun(t, dir, "train", "--data", "patients.csv", "--schema", "turned.yaml", "--out", "turned.json")
	ends(t, dir, exitInput, "labels for the two classes", "search", "--models", "a.json,turned.json", "--data", "patients.csv", "--schema", "patients.yaml")
	ends(t, dir, exitInput, "labels for the two classes", "evaluate", "a.json", "--compare", "turned.json", "--data", "patients.csv", "--epsilon", "1")
	ends(t, dir, exitInput, "is not in the ledger", "search", "--models", "a.json,a.json", "--data", "patients.csv", "--schema", "patients.yaml", "--ledger", "other.jsonl")
}

// A released AUC of 0 is printed as one that was released.
func TestSearchPrintsAnAUCOfZero(t *testing.T) {
	r := searchResult{AUC: new(float64)}
	text, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(text), `"released_auc":0`) || !strings.Contains(r.text(), "AUC 0.0000") {
		t.Errorf("%s\n%s", text, r.text())
	}
}

// searchMasks hide what a search releases, and ids, digests and times.
var searchMasks = []struct{ pattern, by string }{
	{`(?m)^(winner|            noisy AUC) .*$`, "$1"},
	{`"(place|time)":"[^"]*"`, "$1"},
	{`[A-Z2-7]{26}|[0-9a-f]{64}`, "ID"},
}

// seenOfSearch is what a search with a seed leaves but its release: both outputs, the names of all files,
// and the ledger.
func seenOfSearch(t *testing.T, seed int) string {
	t.Helper()
	dir := searchClinic(t, 80)
	out, errs := ran(t, dir, searching("--verbose", "--road", "random-stopping", "--runs", "6", "--seed", fmt.Sprint(seed), "--out", "m.json")...).exits(exitOK).texts()
	all := out + "\n--- errors\n" + errs
	must.Do(t, filepath.WalkDir(dir, func(path string, f os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		all += "\n--- file " + name
		if err == nil && strings.HasSuffix(name, "ledger.jsonl") {
			var text []byte
			text, err = os.ReadFile(path)
			all += "\n" + string(text)
		}
		return err
	}))
	return strings.ReplaceAll(all, dir, "DIR")
}

// betweenSearches is the first difference of what searches left.
func betweenSearches(seen []string) string {
	for i, s := range seen {
		for _, m := range searchMasks {
			s = regexp.MustCompile(m.pattern).ReplaceAllString(s, m.by)
		}
		if seen[i] = s; s != seen[0] {
			return firstDifference(seen[0], s)
		}
	}
	return ""
}

// Nothing of a search by random stopping but its release differs between searches whose secret number of
// runs differs: outputs, files and ledger are equal, and there is no progress. What would tell of the
// number, or of runs that do not count, is found.
func TestSearchIsSilent(t *testing.T) {
	var seen []string
	seeds := 6
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		seen = append(seen, seenOfSearch(t, seed))
	}
	if found := betweenSearches(slices.Clone(seen)); found != "" {
		t.Error(found)
	}
	for name, defect := range map[string]func(s string, k int) string{
		"the number on standard error":  func(s string, k int) string { return s + fmt.Sprintf("dyad: %d of 6 runs count\n", k) },
		"progress of the runs":          func(s string, k int) string { return s + strings.Repeat(".", k) },
		"a file for each run":           func(s string, k int) string { return s + fmt.Sprintf("\n--- file run-%d.json", k) },
		"a line in the ledger for each": func(s string, k int) string { return s + strings.Repeat(`{"type":"release"}`+"\n", k) },
		"the time of training": func(s string, k int) string {
			return strings.Replace(s, "\n--- errors", fmt.Sprintf("\ntime        %.2f s of training\n--- errors", 0.1*float64(k)), 1)
		},
		"runs in the event of the ledger": func(s string, k int) string {
			return strings.Replace(s, `"runs":6`, fmt.Sprintf(`"runs":%d`, k), 1)
		},
		"no AUC where it is 0": func(s string, k int) string {
			if k > 2 {
				return s
			}
			return regexp.MustCompile(`(?m)^            noisy AUC .*\n`).ReplaceAllString(s, "")
		},
	} {
		var told []string
		for i, s := range seen {
			told = append(told, defect(s, 1+i))
		}
		if betweenSearches(told) == "" {
			t.Errorf("%s is not found", name)
		}
	}
}
