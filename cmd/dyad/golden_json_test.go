package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateJSON = flag.Bool("update-json", false, "rewrite the golden JSON files")

// changing is what differs between two runs of the same command: ids, times and places. References to
// the theory are left out, too.
var changing = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\b[A-Z2-7]{26}\b`), "RUN"},
	{regexp.MustCompile(`"(training_seconds|seconds|visits_per_second)": [0-9.e+-]+`), `"$1": 0`},
	{regexp.MustCompile(`"(ledger|state)": "[^"]*"`), `"$1": "PLACE"`},
	{regexp.MustCompile(`\((privacy|docs/theory)[^)]*\)`), `(theory)`}, // TestGoldenOutput has them
}

func unchanging(text string) string {
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.by)
	}
	return text
}

// sameJSON compares transcripts of a family of commands with those of its golden file.
func sameJSON(t *testing.T, family string, transcripts []string) {
	t.Helper()
	file := filepath.Join("testdata", "json", family+".golden")
	got := strings.Join(transcripts, "\n")
	if *updateJSON {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run go test ./cmd/dyad -run TestGoldenJSON -update-json", err)
	}
	want := strings.Split(string(text), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			context := strings.Join(strings.Split(got, "\n")[max(0, i-6):i+1], "\n")
			t.Fatalf("%s, line %d: the JSON output changed; if that is meant, run with -update-json\n--- want\n%s\n--- got\n%s", file, i+1, strings.Join(want[min(i, len(want)):min(i+1, len(want))], "\n"), context)
		}
	}
	if len(want) > strings.Count(got, "\n")+1 {
		t.Fatalf("%s has %d lines, the output %d", file, len(want), strings.Count(got, "\n")+1)
	}
}

// TestGoldenJSON keeps the numbers of every plan: every key, its place and its digits.
// Checkpoints are recognised by a hash of this text.
func TestGoldenJSON(t *testing.T) {
	schema, err := filepath.Abs("../../bench/schemas/pima.yaml")
	if err != nil {
		t.Fatal(err)
	}
	families := map[string][]string{}
	cases := goldenCases(schema)
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		args := cases[name]
		family := args[0]
		if family == "pairs" || family == "local" {
			family += "-plan"
		}
		if !strings.HasSuffix(family, "plan") {
			continue
		}
		home, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		code, out, _ := dyad(t, t.TempDir(), append([]string{"--json"}, args...)...)
		t.Chdir(home)
		if code == exitOK {
			families[family] = append(families[family], "$ dyad "+strings.Join(args, " ")+"\n"+unchanging(out))
		}
	}
	for family, transcripts := range families {
		sameJSON(t, family, transcripts)
	}
}

// TestGoldenJSONOfRuns keeps what the examples of the help texts print of runs, and what
// their model files say of privacy.
func TestGoldenJSONOfRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains")
	}
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for family, commands := range map[string][]string{
		"train": {
			"train", "train --data patients.csv --schema patients.yaml --epsilon 1 --delta 1e-5 --out a.json",
			"train --data patients.csv --schema patients.yaml --algorithm offpairc --epsilon 2 --out b.json",
			"train --data patients.csv --schema patients.yaml --algorithm dpegd --epsilon 2 --out c.json",
			"train --data patients.csv --schema patients.yaml --epsilon 1 --delta 0 --out d.json",
			"train --data patients.csv --schema patients.yaml --task metric --epsilon 2 --out e.json",
			"train --data patients.csv --schema patients.yaml --mode nonprivate --public-data --holdout 0.3 --out f.json",
		},
		"online": {
			"online --data patients.csv --schema patients.yaml --records 300 --every 10 --buffer 50 --state s1 --out a.json",
			"online --data patients.csv --schema patients.yaml --records 300 --every 10 --buffer 50 --algorithm dpftrl --average --state s2 --out b.json",
			"online --data patients.csv --schema patients.yaml --records 300 --secret-state --buffer 0 --l2 0.01 --algorithm onpairstrc --state s3 --out c.json",
			"online --data patients.csv --schema patients.yaml --records 300 --mode nonprivate --public-data --state s4 --out d.json",
		},
		"pairs": {
			"pairs train --data patients.csv --schema patients.yaml --density 2 --degree-cap 6 --epsilon 2 --out a.json",
			"pairs train --data patients.csv --schema patients.yaml --density 2 --degree-cap 6 --sampling poisson --batch 60 --out b.json",
			"pairs train --data people.csv --schema people.yaml --pairs pairs.csv --kappa 3 --epsilon 2 --out c.json",
			"pairs train --data people.csv --schema people.yaml --pairs preferences.csv --loss bradley-terry --kappa 3 --out d.json",
			"pairs train --data patients.csv --schema patients.yaml --density 2 --degree-cap 6 --method input --out e.json",
			"pairs train --data patients.csv --schema patients.yaml --density 2 --degree-cap 6 --mode nonprivate --public-data --out f.json",
			"pairs train --data patients.csv --schema patients.yaml --tuple 4 --loss triplet --epsilon 2 --out g.json",
			"pairs train --data patients.csv --schema patients.yaml --tuple 4 --loss npair --temperature 0.5 --mode nonprivate --public-data --out h.json",
			"pairs train --data patients.csv --schema patients.yaml --all-pairs --epsilon 2 --out i.json",
		},
		"local": {
			"local simulate --data patients.csv --schema patients.yaml --epochs 2 --out a.json",
			"local simulate --data patients.csv --schema patients.yaml --epochs 2 --method prestige-label --public-data --out b.json",
			"local simulate --data patients.csv --schema patients.yaml --epochs 2 --method sgd --public-data --out c.json",
		},
	} {
		dir := clinic(t, 300)
		people(t, dir)
		var transcripts []string
		for _, line := range commands {
			args := append(strings.Fields(line), "--json")
			if args[0] != "online" {
				args = append(args, "--seed", "7")
			}
			code, out, errs := dyad(t, dir, args...)
			if code != exitOK {
				t.Fatalf("dyad %s: exit %d: %s", line, code, errs)
			}
			if args[0] == "online" { // the releases are noise
				out = ""
			}
			if i := slices.Index(args, "--out"); i >= 0 {
				out += privacyOf(t, filepath.Join(dir, args[i+1]))
				if err := os.Remove(filepath.Join(dir, args[i+1])); err != nil {
					t.Fatal(err)
				}
			}
			transcripts = append(transcripts, fmt.Sprintf("$ dyad %s\n%s", line, unchanging(out)))
		}
		t.Chdir(home)
		sameJSON(t, family, transcripts)
	}
}

// privacyOf is what a model file says of privacy and of how it was trained.
func privacyOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Task      string          `json:"task"`
		Report    json.RawMessage `json:"report"`
		Pairs     json.RawMessage `json:"pairs_report,omitempty"`
		Tuples    json.RawMessage `json:"tuples_report,omitempty"`
		PairLoss  json.RawMessage `json:"pair_loss,omitempty"`
		Guarantee json.RawMessage `json:"guarantee"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	kept, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(kept) + "\n"
}
