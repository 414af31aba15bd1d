package command

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// commandLines are those of a page: they name the command that wrote it.
var commandLines = regexp.MustCompile(`<pre><code>dyad (train|pairs|online|evaluate|report|search) .*</code></pre>`)

// pageOf reads a page, checks what holds for every page, and masks command lines.
func pageOf(t *testing.T, dir, name string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
	page := string(text)
	for _, never := range []string{"<script", "javascript:", "onerror=", "<link", "<img", "src=",
		"ZgotmplZ", "%!", "NaN"} {
		if strings.Contains(page, never) {
			t.Errorf("%s has %q", name, never)
		}
	}
	must.Contain(t, page, `<html lang="en">`, `name="viewport"`, `<main id="main">`, `<nav aria-label=`,
		"prefers-color-scheme: dark", "glossary", "How to reproduce")
	shown := regexp.MustCompile(`(?s)<svg.*?</svg>|<pre.*?</pre>|<style.*?</style>`).ReplaceAllString(page, "")
	if found := regexp.MustCompile(`.{0,30}(\{&#34;|\d\.\d{9,}|docs/theory).{0,30}`).FindString(shown); found != "" {
		t.Errorf("%s has JSON, a number that nobody reads, or a reference that leads nowhere: %q", name, found)
	}
	if n := strings.Count(page, "<table>"); n == 0 || n != strings.Count(page, "<caption>") {
		t.Errorf("%s: tables without caption", name)
	}
	if n := strings.Count(page, `<svg role="img" aria-label="`); n != strings.Count(page, "<desc>") ||
		n+strings.Count(page, `<svg class="bar"`) != strings.Count(page, "<svg") {
		t.Errorf("%s: pictures without a description", name)
	}
	ids := regexp.MustCompile(` id="([^"]*)"`).FindAllString(page, -1)
	if slices.Sort(ids); len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("%s: an id twice: %q", name, ids)
	}
	for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(link[1], "#") || !strings.Contains(page, ` id="`+link[1][1:]+`"`) {
			t.Errorf("%s: a link to %q", name, link[1])
		}
	}
	return commandLines.ReplaceAllString(page, "COMMAND")
}

// The page of a private run is a function of what it released, of the ledger and of public numbers: made
// again from the released files alone it has the same bytes. So it has on a neighbour with the same release.
func TestPagesOfNeighboursWithOneRelease(t *testing.T) {
	sizes.NotShort(t, "slow")
	train := []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "m.json", "--report",
		"page.html", "--epsilon", "2"}
	more := func(args ...string) []string { return append(train[:len(train):len(train)], args...) }
	for name, args := range map[string][]string{
		"auto":      train,
		"intervals": more("--algorithm", "moments", "--intervals"),
		"held out":  more("--holdout", "0.3"),
		"metric":    more("--task", "metric"),
		"network":   more("--model", "mlp", "--hidden", "3", "--steps", "3"),
		"pure":      more("--delta", "0"),
		"descent":   more("--algorithm", "subsampled-descent", "--steps", "3"),
		"pairs": {"pairs", "train", "--data", "patients.csv", "--schema", "patients.yaml", "--density", "2",
			"--degree-cap", "6", "--epochs", "1", "--out", "m.json", "--report", "page.html"},
		"online": {"online", "--data", "patients.csv", "--schema", "patients.yaml", "--records", "64", "--every", "16",
			"--state", "s.state", "--out", "m.json", "--report", "page.html"},
		"evaluate": {"evaluate", "model.json", "--data", "patients.csv", "--epsilon", "2", "--out", "f.json",
			"--report", "page.html"},
	} {
		a, b := neighbouringClinics(t, 64)
		model, again := "m.json", []string{"report", "m.json", "--out", "again.html"}
		if name == "evaluate" {
			model, again = "model.json", []string{"report", "model.json", "--figures", "f.json", "--out", "again.html"}
			for _, dir := range []string{a, b} {
				mustRun(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml")
			}
		}
		for _, dir := range []string{a, b} {
			mustRun(t, dir, args...)
			mustRun(t, dir, again...)
			if x, y := pageOf(t, dir, "page.html"), pageOf(t, dir, "again.html"); x != y {
				t.Errorf("%s: the page has more than what was released:\n%s", name, firstDifference(x, y))
			}
		}
		if pageOf(t, a, "page.html") == pageOf(t, b, "page.html") {
			t.Errorf("%s: the pages of two releases are equal, so that they show none", name)
		}
		for _, file := range []string{model, "f.json", filepath.Join("state", "dyad", "ledger.jsonl"),
			filepath.Join("state", "dyad", "ledger.jsonl.head")} {
			if text, err := os.ReadFile(filepath.Join(a, file)); err == nil { // the neighbour gets the same release
				write(t, b, file, string(text))
			}
		}
		mustRun(t, b, append(again, "--force")...)
		if x, y := pageOf(t, a, "page.html"), pageOf(t, b, "again.html"); x != y {
			t.Errorf("%s: a record shows on the page:\n%s", name, firstDifference(x, y))
		}
	}
	// The comparison sees an exact figure: of public data a page has some.
	a, _ := neighbouringClinics(t, 64)
	mustRun(t, a, more("--holdout", "0.5", "--public-data")...)
	mustRun(t, a, "report", "m.json", "--out", "again.html")
	open := pageOf(t, a, "page.html")
	if open == pageOf(t, a, "again.html") || !strings.Contains(open, "ROC curve") {
		t.Error("exact figures of public records were not noticed")
	}
}

// What is wrong with the file of a page is found before anything is charged.
func TestPagesAreRefusedBeforeTheCharge(t *testing.T) {
	dir := clinic(t, 64)
	write(t, dir, "taken.html", "mine")
	write(t, dir, "settings.yaml", searchSettings)
	mustRun(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "model.json")
	ledger := filepath.Join(dir, "state", "dyad", "ledger.jsonl")
	before := must.Get(os.ReadFile(ledger))(t)
	data := []string{"--data", "patients.csv", "--schema", "patients.yaml"}
	commands := map[string][]string{
		"train":    append([]string{"train", "--out", "m.json"}, data...),
		"pairs":    append([]string{"pairs", "train", "--density", "2", "--degree-cap", "6", "--out", "m.json"}, data...),
		"search":   append([]string{"search", "--candidates", "settings.yaml", "--out", "m.json"}, data...),
		"evaluate": {"evaluate", "model.json", "--data", "patients.csv", "--epsilon", "1", "--out", "m.json"},
		"curve": append([]string{"lab", "curve", "--epsilon", "1", "--holdout-epsilon", "1", "--yes", "--out", "c"},
			data...),
		"audit": {"lab", "audit", "dpgdsc", "--runs", "20"},
		"online": append([]string{"online", "--records", "64", "--every", "16", "--state", "s.state", "--out", "m.json"},
			data...),
		"report": {"report", "model.json"},
	}
	for name, args := range commands {
		flag := "--report"
		if name == "report" {
			flag = "--out"
		}
		for file, says := range map[string]string{"taken.html": "exists", "no/folder/p.html": "folder", ".": "directory",
			"patients.csv": "", "m.json": ""} {
			if file == "patients.csv" && (name == "audit" || name == "report") ||
				file == "m.json" && !slices.Contains(args, "m.json") {
				continue
			}
			ends(t, dir, exitInput, says, append(args[:len(args):len(args)], flag, file)...)
		}
	}
	for says, args := range map[string][]string{
		"--report and --track must not show exact private figures": {"train", "--exact-figures", "--holdout", "0.3", "--data",
			"patients.csv", "--schema", "patients.yaml", "--out",
			"m.json", "--report", "p.html"},
		"a release, and must not have exact figures of private records": {"evaluate", "model.json", "--data",
			"patients.csv", "--exact-figures", "--report", "p.html"},
	} {
		ends(t, dir, exitInput, says, args...)
	}
	ends(t, dir, exitInput, "with --out", append([]string{"online", "--records", "64", "--every", "16", "--state",
		"s.state", "--report", "p.html"}, data...)...)
	if after, _ := os.ReadFile(ledger); string(after) != string(before) {
		t.Error("something was charged")
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "taken.html")); string(text) != "mine" {
		t.Error("a file was replaced")
	}
	for _, name := range []string{"m.json", "p.html"} {
		if exists(filepath.Join(dir, name)) {
			t.Errorf("%s was written", name)
		}
	}
}

// A schema cannot bring markup to a page.
func TestPagesEscape(t *testing.T) {
	dir := clinic(t, 64)
	hostile := `<script>alert(1)</script>`
	text := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	write(t, dir, "patients.csv", strings.ReplaceAll(strings.ReplaceAll(string(text), "bmi", hostile), "female",
		`"""><img src=x onerror=alert(1)>"`))
	schema := must.Get(os.ReadFile(filepath.Join(dir, "patients.yaml")))(t)
	write(t, dir, "patients.yaml", strings.ReplaceAll(strings.ReplaceAll(string(schema), "bmi", `"`+hostile+`"`), "female",
		`"\"><img src=x onerror=alert(1)>"`))
	mustRun(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--report", "page.html")
	page := read(t, dir, "page.html")
	// a column, a category
	for _, want := range []string{"&lt;script&gt;alert(1)&lt;/script&gt;", "&#34;&gt;&lt;img src=x onerror=alert(1)&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not show %s", want)
		}
		page = strings.ReplaceAll(page, want, "")
	}
	write(t, dir, "rest.html", page)
	pageOf(t, dir, "rest.html")
	model := must.Get(os.Stat(filepath.Join(dir, "model.json")))(t)
	if info, err := os.Stat(filepath.Join(dir, "page.html")); err != nil || info.Mode() != model.Mode() {
		t.Errorf("the page has mode %v, the model %v: both are released (%v)", info.Mode(), model.Mode(), err)
	}
}

// Pages of what reads no private data, and figures of another model.
func TestOtherPages(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 200)
	write(t, dir, "settings.yaml", searchSettings)
	data := []string{"--data", "patients.csv", "--schema", "patients.yaml"}
	for name, args := range map[string][]string{
		"synthetic.html": {"train"},
		"metric.html":    {"train", "--task", "metric"},
		"audit.html":     {"lab", "audit", "dpgdsc", "--runs", "200"},
		"canaries.html":  {"lab", "audit", "dpgdsc", "--method", "canaries", "-n", "64", "-d", "16"},
		"curve.html":     {"lab", "curve", "--records", "300", "--epsilon", "1,4", "--splits", "2", "--out", "public"},
		"points.html": append([]string{"lab", "curve", "--epsilon", "1,4", "--holdout-epsilon", "1", "--yes", "--out",
			"private"}, data...),
		"search.html": append([]string{"search", "--candidates", "settings.yaml", "--out", "chosen.json"}, data...),
		"holdout.html": append([]string{"train", "--holdout", "0.3", "--holdout-epsilon", "1", "--out", "held.json"},
			data...),
		"seeded.html": append([]string{"train", "--seed", "1", "--out", "seeded.json"}, data...),
	} {
		mustRun(t, dir, append(args, "--report", name)...)
		page := pageOf(t, dir, name)
		switch name {
		case "metric.html":
			if !strings.Contains(page, "The space before and after") {
				t.Error("no space of the metric")
			}
		case "seeded.html":
			if !strings.Contains(page, "does not hold") || strings.Contains(page, "<blockquote>") {
				t.Error("a void guarantee can be quoted")
			}
		case "holdout.html", "search.html", "points.html":
			if !strings.Contains(page, "<blockquote>") || !strings.Contains(page, "% success; a random guess has 50 %") {
				t.Errorf("%s has no guarantee", name)
			}
		}
	}
	mustRun(t, dir, append([]string{"train", "--out", "one.json"}, data...)...)
	mustRun(t, dir, append([]string{"train", "--out", "two.json"}, data...)...)
	mustRun(t, dir, "evaluate", "one.json", "--data", "patients.csv", "--epsilon", "1", "--out", "figures.json")
	ends(t, dir, exitInput, "another model", "report", "two.json", "--figures", "figures.json")
	ends(t, dir, exitInput, "no figures", "report", "one.json", "--figures", "one.json")
}
