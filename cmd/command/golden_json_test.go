package command

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// changing is what differs between two runs of the same command: ids, times and places.
var changing = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\b[A-Z2-7]{26}\b`), "RUN"},
	{regexp.MustCompile(`"(training_seconds|seconds|visits_per_second|estimated_seconds_here)": [0-9.e+-]+`), `"$1": 0`},
	{regexp.MustCompile(`"(ledger|state)": "[^"]*"`), `"$1": "PLACE"`},
	{regexp.MustCompile(`(?m)^(time +)\S+ s$`), "${1}some s"},
	{regexp.MustCompile(`(?m)^( +here: ).*$`), "${1}some time"},
}

// longNumber has more digits than processors agree on.
var longNumber = regexp.MustCompile(`\b\d+\.\d{11,}(?:e[-+]?\d+)?`)

func unchanging(text string) string {
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.by)
	}
	return text
}

// kept is unchanging with the numbers to twelve digits.
func kept(text string) string {
	return longNumber.ReplaceAllStringFunc(unchanging(text), func(s string) string {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return s
		}
		return strconv.FormatFloat(v, 'g', 12, 64)
	})
}

// sameGolden compares text with the golden file of that name, or writes the file with -update.
func sameGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		must.Do(t, os.WriteFile(file, []byte(got), 0o644))
	}
	text := must.Get(os.ReadFile(file))(t, "run make golden")
	want := strings.Split(string(text), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			context := strings.Join(strings.Split(got, "\n")[max(0, i-6):i+1], "\n")
			t.Fatalf("%s, line %d changed; if that is meant, run make golden\n--- want\n%s\n--- got\n%s", file, i+1, strings.Join(want[min(i, len(want)):min(i+1, len(want))], "\n"), context)
		}
	}
	if len(want) > strings.Count(got, "\n")+1 {
		t.Fatalf("%s has %d lines, the output %d", file, len(want), strings.Count(got, "\n")+1)
	}
}

// number finds the numbers of a text, but not those that are part of a word.
var number = regexp.MustCompile(`(?:^|[^\w.])([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)\b`)

// onlyIn lists the numbers of text that are no number of source to as many digits as text shows,
// up to a unit of the last one: reports round epsilon, delta and mu upward.
func onlyIn(text, source string) (missing []string) {
	numbers := func(s string) (found []string) {
		for _, m := range number.FindAllStringSubmatch(s, -1) {
			found = append(found, m[1])
		}
		return found
	}
	var values []float64
	for _, s := range numbers(source) {
		v, err := strconv.ParseFloat(s, 64)
		if err == nil {
			values = append(values, v)
		}
	}
	for _, s := range numbers(text) {
		v, err := strconv.ParseFloat(s, 64)
		mantissa, _, _ := strings.Cut(s, "e")
		digits := len(strings.TrimLeft(strings.ReplaceAll(strings.Trim(mantissa, "+-"), ".", ""), "0"))
		unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))+1-float64(digits))
		if !strings.Contains(s, ".") && !strings.Contains(s, "e") || v == 0 {
			unit = 0 // a count
		}
		if err != nil || !slices.ContainsFunc(values, func(w float64) bool { return math.Abs(v-w) <= unit }) {
			missing = append(missing, s)
		}
	}
	return missing
}

func TestNumbersOnlyInText(t *testing.T) {
	const source = `{"mu": 0.26805112321127794, "sigma": 51.33, "delta": 3.535533905932737e-07, "steps": 32}`
	for text, want := range map[string]string{
		"0.268052-GDP, sigma 51.33, delta 3.53554e-07, 32 steps of x3": "",
		"0.268053-GDP, 33 steps":         "0.268053 33",
		"sigma 51.31; delta 3.53554e-06": "51.31 3.53554e-06",
	} {
		must.Equal(t, strings.Join(onlyIn(text, source), " "), want, "%q: only in the text", text)
	}
}

// TestGoldenJSON keeps the numbers of every case of goldenCases: every key of the JSON output, its
// place and its digits, and the numbers of the text output that the JSON output does not have. So a
// number that is printed and not the one of the JSON output shows. Refusals are kept word for word.
func TestGoldenJSON(t *testing.T) {
	sizes.NotShort(t, "slow")
	schema := must.Get(filepath.Abs("../../bench/schemas/pima.yaml"))(t)
	home := must.Get(os.Getwd())(t)
	families := map[string]string{}
	cases := goldenCases(schema)
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		args := cases[name]
		family := "json/" + args[0]
		if args[0] == "lab" {
			family = "json/" + args[1]
		}
		if len(args) > 1 && args[1] == "plan" {
			family += "-plan"
		}
		code, text, errs := dyad(t, t.TempDir(), args...)
		jsonCode, out, jsonErrs := dyad(t, t.TempDir(), append([]string{"--json"}, args...)...)
		t.Chdir(home)
		if code != jsonCode || errs != jsonErrs || (code != exitOK) != refused[name] {
			t.Errorf("dyad %s: exit %d: %s; with --json exit %d: %s", strings.Join(args, " "), code, errs, jsonCode, jsonErrs)
		}
		told := "$ dyad " + strings.Join(args, " ") + "\n"
		if code != exitOK {
			families["refusals"] += strings.ReplaceAll(told, schema, "SCHEMA") + fmt.Sprintf("exit %d\n%s\n", code, errs)
			continue
		}
		families[family] += told + kept(out)
		if missing := onlyIn(unchanging(text), unchanging(out)+told); len(missing) > 0 {
			families[family] += "only in the text: " + strings.Join(missing, " ") + "\n"
		}
		families[family] += "\n"
	}
	for family, transcripts := range families {
		sameGolden(t, family, strings.TrimSuffix(transcripts, "\n"))
	}
}

// TestGoldenJSONOfRuns keeps what the examples of the help texts print of runs, and what
// their model files say of privacy.
func TestGoldenJSONOfRuns(t *testing.T) {
	sizes.NotShort(t, "it trains")
	home := must.Get(os.Getwd())(t)
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
		"cluster": {
			"cluster -k 3 --plan -n 300 --schema patients.yaml --delta 0",
			"cluster -k 2 --data patients.csv --schema patients.yaml --epsilon 4 --out a.json",
			"cluster -k 2 --data patients.csv --schema patients.yaml --public-data --out b.json",
		},
		"search": {
			"search --candidates settings.yaml --data patients.csv --schema patients.yaml --road compose --epsilon 2 --out a.json",
			"search --candidates settings.yaml --data patients.csv --schema patients.yaml --road random-stopping --runs 6 --epsilon 2 --out b.json",
			"search --candidates settings.yaml --data patients.csv --schema patients.yaml --public-data --out c.json",
			"search --candidates settings.yaml --plan -n 300 --schema patients.yaml --delta 0",
		},
		"local": {
			"local simulate --data patients.csv --schema patients.yaml --epochs 2 --out a.json",
			"local simulate --data patients.csv --schema patients.yaml --epochs 2 --method prestige-label --public-data --out b.json",
			"local simulate --data patients.csv --schema patients.yaml --epochs 2 --method sgd --public-data --out c.json",
		},
	} {
		dir := clinic(t, 300)
		people(t, dir)
		write(t, dir, "settings.yaml", searchSettings)
		var transcripts []string
		for _, line := range commands {
			args := append(strings.Fields(line), "--json")
			if args[0] != "online" {
				args = append(args, "--seed", "7")
			}
			out := ran(t, dir, args...).exits(exitOK).out
			if args[0] == "online" { // the releases are noise
				out = ""
			}
			if i := slices.Index(args, "--out"); i >= 0 {
				out += privacyOf(t, filepath.Join(dir, args[i+1]))
				must.Do(t, os.Remove(filepath.Join(dir, args[i+1])))
			}
			transcripts = append(transcripts, fmt.Sprintf("$ dyad %s\n%s", line, kept(out)))
		}
		t.Chdir(home)
		sameGolden(t, "json/"+family, strings.Join(transcripts, "\n"))
	}
}

// privacyOf is what a model file says of privacy and of how it was trained.
func privacyOf(t *testing.T, file string) string {
	t.Helper()
	text := must.Get(os.ReadFile(file))(t)
	var m struct {
		Task      string          `json:"task"`
		Report    json.RawMessage `json:"report"`
		Pairs     json.RawMessage `json:"pairs_report,omitempty"`
		Tuples    json.RawMessage `json:"tuples_report,omitempty"`
		PairLoss  json.RawMessage `json:"pair_loss,omitempty"`
		Guarantee json.RawMessage `json:"guarantee"`
	}
	must.Do(t, json.Unmarshal(text, &m))
	kept := must.Get(json.MarshalIndent(m, "", "  "))(t)
	return string(kept) + "\n"
}
