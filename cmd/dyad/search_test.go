package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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
		code, out, errs := dyad(t, dir, "search", "--candidates", "settings.yaml", "--schema", "patients.yaml", "--plan", "-n", "400", "--road", road, "--json")
		if code != exitOK || json.Unmarshal([]byte(out), &plan) != nil {
			t.Fatalf("plan of %s: exit %d: %s", road, code, errs)
		}
		code, out, errs = dyad(t, dir, searching("--road", road, "--out", name, "--json")...)
		if code != exitOK {
			t.Fatalf("%s: exit %d: %s", road, code, errs)
		}
		var r searchResult
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		if r.Guarantee.Epsilon != plan.Guarantee.Epsilon || r.Guarantee.Epsilon > 1 || r.Road != road || !slices.Contains([]string{"default", "descent", "few features"}, r.Winner) || !(r.Alone > 0 && r.Alone < 1) {
			t.Errorf("%s: %+v, plan %+v", road, r.runOutcome, plan)
		}
		if (r.AUC != 0) != (road == "random-stopping") {
			t.Errorf("%s released the AUC %v", road, r.AUC)
		}
		if code, _, errs := dyad(t, dir, "predict", name, "--data", "patients.csv"); code != exitOK {
			t.Errorf("predict: %s", errs)
		}
	}
	code, out, errs := dyad(t, dir, "search", "--models", "m0.json,m1.json", "--data", "patients.csv", "--schema", "patients.yaml", "--epsilon", "0.25", "--delta", "0", "--out", "best.json")
	if code != exitOK || !strings.Contains(out, "0.25-differentially private") || !strings.Contains(out, "noisy-max") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	best, err := os.ReadFile("best.json")
	first, _ := os.ReadFile("m0.json")
	second, _ := os.ReadFile("m1.json")
	if err != nil || string(best) != string(first) && string(best) != string(second) {
		t.Error("the file of the winner is not that of a candidate")
	}
	l, err := ledger.Open(filepath.Join(dir, "state", "dyad", "ledger.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := l.Summary("synthetic-clinical", 1e-4); err != nil || s.Runs != 3 {
		t.Errorf("%d runs were charged: %v", s.Runs, err)
	}
}

func TestSearchRefusals(t *testing.T) {
	dir := searchClinic(t, 60)
	write(t, dir, "one.yaml", "candidates:\n  - name: default\n")
	write(t, dir, "typo.yaml", "candidates:\n  - {name: a, radus: 2}\n  - {name: b}\n")
	write(t, dir, "column.yaml", "candidates:\n  - {name: a, features: [nothing]}\n  - {name: b}\n")
	schema, err := os.ReadFile(filepath.Join(dir, "patients.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "persons.yaml", strings.Replace(string(schema), "columns:\n", "persons: 60\ncolumns:\n  - {name: patient, role: person}\n", 1))
	for want, args := range map[string][]string{
		"2 to 64":                 {"--candidates", "one.yaml", "--plan", "-n", "60"},
		"unknown field":           {"--candidates", "typo.yaml", "--plan", "-n", "60"},
		"0 of 1 features":         {"--candidates", "column.yaml", "--plan", "-n", "60"},
		"does not compute it for": {"--candidates", "settings.yaml", "--plan", "-n", "60", "--schema", "persons.yaml"},
		"-n is for --plan":        {"--candidates", "settings.yaml", "--data", "patients.csv", "-n", "60"},
		"--models":                {"--plan", "-n", "60"},
		"needs --data":            {"--candidates", "settings.yaml"},
		"delta = 0":               {"--candidates", "settings.yaml", "--plan", "-n", "60", "--delta", "0", "--road", "random-stopping"},
	} {
		if !slices.Contains(args, "--schema") {
			args = append(args, "--schema", "patients.yaml")
		}
		if code, out, errs := dyad(t, dir, append([]string{"search"}, args...)...); code != exitInput || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, want %q: %s%s", args, code, want, out, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "state")); err == nil {
		t.Error("a refused search made a ledger")
	}
	// A model of these records that another ledger has.
	if code, _, errs := dyad(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "a.json"); code != exitOK {
		t.Fatal(errs)
	}
	if code, _, errs := dyad(t, dir, "search", "--models", "a.json,a.json", "--data", "patients.csv", "--schema", "patients.yaml", "--ledger", "other.jsonl"); code != exitInput || !strings.Contains(errs, "which the ledger") {
		t.Errorf("a model of another ledger: exit %d: %s", code, errs)
	}
}

// Nothing of a search by random stopping but its release differs between searches whose secret number of
// runs differs: outputs, files, ledger and stages are equal, and there is no progress.
func TestSearchIsSilent(t *testing.T) {
	released := regexp.MustCompile(`(?m)^(winner|            AUC|ledger +run) .*$|"(run|digest|place|time|winner|fingerprint|previous|seq|hash|prev|mac)":"?[^,"}]*"?`)
	var first string
	seeds := 6
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		dir := searchClinic(t, 80)
		code, out, errs := dyad(t, dir, searching("--road", "random-stopping", "--runs", "6", "--seed", fmt.Sprint(seed), "--out", "m.json")...)
		if code != exitOK {
			t.Fatal(errs)
		}
		text, err := os.ReadFile(filepath.Join(dir, "state", "dyad", "ledger.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		entries, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, filepath.Base(e))
		}
		more, _ := filepath.Glob(filepath.Join(dir, "state", "dyad", "*"))
		all := out + errs + fmt.Sprint(names, len(more), strings.Count(string(text), "\n")) + string(text)
		for _, secret := range []string{"run 1 of", "counted", "K = "} {
			if strings.Contains(all, secret) {
				t.Errorf("the output has %q", secret)
			}
		}
		all = strings.ReplaceAll(all, dir, "DIR")
		all = released.ReplaceAllString(all, "$1$2")
		all = regexp.MustCompile(`[A-Z0-9]{26}|[0-9a-f]{64}`).ReplaceAllString(all, "ID")
		if seed == 0 {
			first = all
			continue
		}
		if all != first {
			t.Errorf("seed %d: %s", seed, firstDifference(first, all))
		}
	}
}
