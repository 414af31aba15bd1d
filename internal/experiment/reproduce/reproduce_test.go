package reproduce

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"dyad/engine/dataset/catalog/schemas"
	"dyad/internal/experiment"
	"dyad/internal/experiment/reproduce/plans"
	"dyad/internal/must"
)

const committed = "../../../bench/results"

func items(t *testing.T) []Item {
	t.Helper()
	return must.Get(Items(plans.Files, schemas.Files))(t)
}

// wanted are all tables and figures of the papers that can be repeated or that are known not to be.
var wanted = map[string][]string{
	"huai": {"figure1", "figure2", "figure3", "figure4", "figure5", "figure6", "generalisation", "regret"},
	"kang": {"lemma2", "lemma3", "table1"},
	"xue":  {"figure1", "figure2", "figure3", "figure4", "table1", "table1-convex", "table2", "table3", "table4"},
	"han":  {"figure4", "figure5", "figure6", "figure7", "table3"},
	"li":   {"figure7", "figure8", "figure9", "figure10", "figure11", "table1"},
}

func TestEveryItemHasAPlan(t *testing.T) {
	got := map[string][]string{}
	for _, i := range items(t) {
		got[i.Paper] = append(got[i.Paper], i.Name)
		for _, p := range i.Parts {
			if p.Title == "" || p.Paper.Impossible == "" && (p.Paper.Seconds == 0 || p.Paper.Setting == "") {
				t.Errorf("%s: want a title, a setting and an estimated time", p.Name)
			}
			for _, r := range p.Paper.Rows {
				if points := (results{Part: p}).axisOf(r.Data); len(points) != len(r.Values) {
					t.Errorf("%s: %s of %s has %d values for %d points", p.Name, r.Algorithm, r.Data, len(r.Values), len(points))
				}
			}
			for _, r := range p.Paper.Rates {
				if r.Less != "" && r.Less == r.Method {
					t.Errorf("%s: %s less itself", p.Name, r.Method)
				}
			}
		}
	}
	for paper, names := range wanted {
		if strings.Join(got[paper], " ") != strings.Join(names, " ") {
			t.Errorf("%s has items %q, want %q", paper, got[paper], names)
		}
	}
	must.Fail(Select(items(t), "xue", "table9"))(t, "table4", "table9")
	must.Fail(Select(items(t), "smith", ""))(t, "huai, kang", "smith")
}

// TestPaperNumbers checks sums of what was typed in from the papers against sums of the print.
func TestPaperNumbers(t *testing.T) {
	want := map[string]float64{ // of percentages, in the order of the print
		"xue-table4": 2415.91, "xue-table4-pure": 1914.57, "xue-table3": 3932.99, "xue-table3-pure": 3101.78,
		"xue-table2": 1959.63 + 408.34, "xue-table2-pure": 1545.47, // with the first of four rows without privacy
	}
	for _, i := range items(t) {
		for _, p := range i.Parts {
			sum := 0.0
			for _, r := range p.Paper.Rows {
				for _, v := range r.Values {
					if v < 0.3 || v > 1 {
						t.Errorf("%s: %s %s has %v", p.Name, r.Data, r.Algorithm, v)
					}
					sum += 100 * v
				}
			}
			if w := want[p.Name]; w != 0 && math.Abs(sum-w) > 0.005 {
				t.Errorf("%s: the numbers add up to %.2f, the paper's to %.2f", p.Name, sum, w)
			}
		}
	}
}

const small = `
title: "Test 2020, Figure 1: rates"
paper:
  name: huai
  item: figure1
  setting: "none"
  seconds: 1
  rates: [{method: dpgdsc, against: n, exponent: -1, of: "1/n"}]
measure: excess
data: [{name: s, synthetic: scores, records: 400, features: 3, seed: 1, n: [50, 100, 200]}]
epsilon: [1, 2]
splits: 3
algorithms: [{name: dpgdsc}]
`

// TestRunResumesAndPages: an interrupted run keeps its rows, the next one goes on, and the page has its numbers.
func TestRunResumesAndPages(t *testing.T) {
	all := must.Get(Items(fstest.MapFS{"huai-figure1.yaml": {Data: []byte(small)}}, schemas.Files))(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	o := Options{Out: dir, Progress: func(_ string, p experiment.Progress) {
		if p.Done == 5 {
			cancel()
		}
	}}
	if _, err := all[0].Run(ctx, o); err == nil {
		t.Fatal("the run went on after its end")
	}
	state, err := all[0].State(dir, dir, nil)
	if err != nil || state.State != Partly || state.Done != 5 || state.Runs != 18 {
		t.Fatalf("%+v, %v; want partly, 5 of 18", state, err)
	}
	before, _ := os.ReadFile(filepath.Join(dir, "huai-figure1.csv"))
	o.Progress = nil
	must.Get(all[0].Run(context.Background(), o))(t)
	after := must.Get(os.ReadFile(filepath.Join(dir, "huai-figure1.csv")))(t)
	for line := range strings.Lines(string(before)) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(string(after), line) {
			t.Errorf("a row was run again: %s", line)
		}
	}
	if state, _ = all[0].State(dir, dir, nil); state.State != Reproduced {
		t.Errorf("%+v, want reproduced", state)
	}
	must.Check(os.Stat(filepath.Join(dir, "huai-figure1.parquet")))(t)
	var page bytes.Buffer
	must.Do(t, writePage(&page, Papers()[0], all, "", dir, dir))
	must.Contain(t, page.String(), "Test 2020, Figure 1: rates", "<svg role=\"img\"", "measured exponent", "-1.000", "Pima")
	if strings.Contains(page.String(), "http://") && !strings.Contains(page.String(), "http://www.w3.org") {
		t.Error("the page loads something from elsewhere")
	}
}

// TestMissingDataSaysHow: a plan of files that are not there is skipped with the command that fetches them.
func TestMissingDataSaysHow(t *testing.T) {
	i := must.Get(Select(items(t), "xue", "table4"))(t)
	dir := t.TempDir()
	parts, err := i[0].Run(context.Background(), Options{Out: dir, Options: experiment.Options{Folders: []string{dir}}})
	if err != nil || len(parts) != 4 || !strings.Contains(parts[0].Skipped, "dyad data fetch pima") {
		t.Fatalf("%+v, %v", parts, err)
	}
	state, err := i[0].State(dir, dir, []string{dir})
	if err != nil || state.State != MissingData || !strings.Contains(strings.Join(state.Why, " "), "dyad data fetch debrecen") {
		t.Errorf("%+v, %v", state, err)
	}
}

// TestLaboratory: an item of another program is told as that program's command, with data by whole paths, and is done when
// its result is there; every such command names a program of the laboratory.
func TestLaboratory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a folder")
	data := filepath.Join(dir, "bank", "bank-full.csv")
	must.Do(t, os.MkdirAll(filepath.Dir(data), 0o777))
	must.Do(t, os.WriteFile(data, nil, 0o666))
	run := func(name string, o Options) Outcome {
		t.Helper()
		i := must.Get(Select(items(t), "li", name))(t)
		parts, err := i[0].Run(context.Background(), o)
		if err != nil || len(parts) != 1 {
			t.Fatalf("%+v, %v", parts, err)
		}
		return parts[0]
	}
	result := filepath.Join(dir, "li-figure9-bank.csv")
	want := "go -C bench run ./pairs -figure 9 -repeats 20 -data '" + data + "' -schema schemas/bank.yaml > '" + result + "'"
	o := Options{Out: dir, Options: experiment.Options{Folders: []string{dir}}}
	if got := run("figure9-bank", o); got.Laboratory != want || got.CSV != "" || got.Skipped != "" {
		t.Errorf("%+v, want %s", got, want)
	}
	must.Do(t, os.WriteFile(result, nil, 0o666))
	if got := run("figure9-bank", o); got.CSV != result || got.Laboratory != "" {
		t.Errorf("with a result: %+v", got)
	}
	must.Contain(t, run("figure9-adult", o).Skipped, "dyad data fetch adult")
	form := regexp.MustCompile(`^go -C bench run \./(\w+) [^;|&<>]+$`)
	commands := 0
	for _, i := range items(t) {
		for _, p := range i.Parts {
			for _, line := range []string{p.Paper.Command, p.Paper.Quick} {
				if line == "" {
					continue
				}
				commands++
				m := form.FindStringSubmatch(line)
				if m == nil {
					t.Errorf("%s: the command is %q", p.Name, line)
				} else if _, err := os.Stat(filepath.Join("../../../bench", m[1], "main.go")); err != nil {
					t.Errorf("%s: %v", p.Name, err)
				}
			}
		}
	}
	if commands < 30 {
		t.Errorf("%d commands of the laboratory", commands)
	}
}

// TestSlopes: the exponent of exact powers is found, and one split gives no false interval.
func TestSlopes(t *testing.T) {
	var rows []experiment.Row
	for _, n := range []int{100, 200, 400, 800} {
		for s := range 5 {
			base := 3 / float64(n)
			rows = append(rows, experiment.Row{N: n, Algorithm: "base", Split: s, Value: base, Status: "ok"},
				experiment.Row{N: n, Algorithm: "private", Split: s, Value: base + 50/float64(n*n)*(1+0.01*float64(s)), Status: "ok"})
		}
	}
	r := results{rows: rows, Part: Part{Plan: &experiment.Plan{Paper: &experiment.Paper{Rates: []experiment.PaperRate{
		{Method: "base", Against: "n", Exponent: -1}, {Method: "private", Against: "n", Exponent: -2, Less: "base"},
	}}}}}
	s := r.slopes()
	if math.Abs(s[0].Slope+1) > 1e-9 || math.Abs(s[1].Slope+2) > 1e-9 {
		t.Errorf("slopes %v and %v, want -1 and -2", s[0].Slope, s[1].Slope)
	}
	if !(s[1].Low <= -2 && s[1].High >= -2 && s[1].High-s[1].Low < 0.1) {
		t.Errorf("interval %v to %v", s[1].Low, s[1].High)
	}
}

// TestCommittedPages: the committed pages are what the committed results give.
func TestCommittedPages(t *testing.T) {
	all := items(t)
	for _, paper := range Papers() {
		want, err := os.ReadFile("../../../docs/reproduce-" + paper.Name + ".html")
		if err != nil {
			t.Error(err)
			continue
		}
		var page bytes.Buffer
		if err := writePage(&page, paper, all, "", filepath.Join(committed, "reproduce"), committed); err != nil {
			t.Error(err)
		} else if !bytes.Equal(want, page.Bytes()) {
			t.Errorf("docs/reproduce-%s.html is not the page of the committed results: dyad lab reproduce --pages-only", paper.Name)
		}
	}
}

// TestCommittedSettings: the table under the papers' own settings is what the committed results give, and every literal
// number stands next to a certified one and one of the program.
func TestCommittedSettings(t *testing.T) {
	want := must.Get(os.ReadFile("../../../docs/papers.md"))(t)
	var page strings.Builder
	must.Do(t, writeSettings(&page, items(t), filepath.Join(committed, "reproduce")))
	must.Equal(t, page.String(), string(want), "docs/papers.md is not the page of the committed results: dyad lab reproduce --pages-only")
	rows := 0
	for line := range strings.Lines(page.String()) {
		if cells := strings.Split(line, "|"); len(cells) == 13 && strings.Contains(cells[10], "±") {
			if rows++; !strings.Contains(cells[11], "±") || strings.TrimSpace(cells[8]) == "–" {
				t.Errorf("without a literal number or one of the program: %s", line)
			}
		}
	}
	if rows < 80 {
		t.Errorf("%d rows", rows)
	}
}

// TestStandInsArePartly: what runs on synthetic records in the place of the paper's, on some of them or with fewer repeats says
// so, and its item is not reproduced.
func TestStandInsArePartly(t *testing.T) {
	seen := 0
	for _, i := range items(t) {
		for _, p := range i.Parts {
			if p.Paper.Name != "han" || p.Paper.Command == "" {
				continue
			}
			seen++
			said := strings.Join(append(p.Paper.Differs, p.Paper.Missing...), " ")
			if strings.Contains(p.Paper.Command, "-repeats ") && !strings.Contains(p.Paper.Command, "-repeats 20 ") && said == "" || strings.Contains(p.Paper.Command, "-synthetic") && !strings.Contains(said, "synthetic") {
				t.Errorf("%s runs %s and says %q", p.Name, p.Paper.Command, said)
			}
		}
		state, err := i.State(filepath.Join(committed, "reproduce"), committed, nil)
		if want := map[string]string{"figure4": Partly, "figure6": Partly}[i.Name]; err != nil || i.Paper == "han" && want != "" && state.State != want {
			t.Errorf("%s %s is %q, want %q (%v)", i.Paper, i.Name, state.State, want, err)
		}
	}
	if seen < 10 {
		t.Errorf("%d parts", seen)
	}
}

// TestPageBeginsWithItsItem: the page of one item begins with it; that of a paper has the order of the paper.
func TestPageBeginsWithItsItem(t *testing.T) {
	for name, want := range map[string]string{"table4": "table4", "": "figure1"} {
		chosen := must.Get(Select(items(t), "xue", name))(t)
		dir := t.TempDir()
		must.Get(WritePages(dir, items(t), chosen, dir, committed, nil))(t)
		text := must.Get(os.ReadFile(filepath.Join(dir, "reproduce-xue.html")))(t)
		_, after, _ := strings.Cut(string(text), "<section id=\"")
		if got, _, _ := strings.Cut(after, "\""); got != want {
			t.Errorf("the page of %q begins with %s, want %s", name, got, want)
		}
		if !strings.Contains(string(text), "<code>dyad lab reproduce xue"+strings.TrimRight(" "+name, " ")+"</code>") {
			t.Errorf("the page of %q does not name its command", name)
		}
	}
}

// TestQuick: one small item of every paper that has one without data runs in seconds.
func TestQuick(t *testing.T) {
	for _, at := range [][2]string{{"huai", "regret"}, {"kang", "table1"}, {"xue", "table1"}} {
		i := must.Get(Select(items(t), at[0], at[1]))(t)
		dir := t.TempDir()
		start := time.Now()
		parts, err := i[0].Run(context.Background(), Options{Out: dir, Quick: true})
		if err != nil || parts[0].CSV == "" {
			t.Errorf("%s %s: %+v, %v", at[0], at[1], parts, err)
			continue
		}
		t.Logf("%s %s: %v", at[0], at[1], time.Since(start))
		rows, err := i[0].Parts[0].Quick().Rows(parts[0].CSV)
		if err != nil || len(rows) == 0 {
			t.Errorf("%s: %d rows, %v", parts[0].CSV, len(rows), err)
		}
		for _, r := range rows {
			must.Equal(t, r.Status, "ok", "%s %s %s", at[0], r.Algorithm, r.Options)
		}
	}
}
