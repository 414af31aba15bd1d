package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/privacy"
	"dyad/privacy/account"
)

// mostLoss is what the rule for bases may lose against no basis in a cell, in AUC.
const mostLoss = 0.002

// In every measured cell the rule loses at most mostLoss, gains where it was said to, and the committed summary is that of the raw rows.
func TestRuleLosesNothing(t *testing.T) {
	for _, name := range []string{"curves", "curves-held-out"} {
		summary := t.TempDir() + "/summary.csv"
		if err := summarize("../results/"+name+".csv", summary, false); err != nil {
			t.Fatal(err)
		}
		again, err := os.ReadFile(summary)
		if err != nil {
			t.Fatal(err)
		}
		if committed, err := os.ReadFile("../results/" + name + "-summary.csv"); err != nil || string(committed) != string(again) {
			t.Errorf("results/%s-summary.csv is not the summary of results/%[1]s.csv (-summary writes it): %v", name, err)
		}
		rows, chosen := readSummary(t, summary), map[string]int{}
		for _, base := range rows {
			if base.basis != "none" {
				continue
			}
			basis, reason := algorithms.ChooseBasis(base.n, privacy.Budget{Epsilon: base.epsilon, Delta: delta}, func(basis string) (int, bool) {
				r, ok := rows[base.with(basis)]
				return r.d, ok
			})
			chosen[basis]++
			r, ok := rows[base.with(basis)]
			if !ok || r.gain < -mostLoss {
				t.Errorf("%s, n = %d, epsilon %v: %s (%s) gains %v with standard error %v", base.data, base.n, base.epsilon, basis, reason, r.gain, r.se)
			}
		}
		if name == "curves" && (chosen["none"] == 0 || chosen["curve:2"] == 0 || chosen["cosine:6"] == 0) {
			t.Errorf("the cells do not try every choice: %v", chosen)
		}
	}
	// What every basis loses where the rule does not take it: without a rule the limit would not hold.
	worst := 0.0
	for _, r := range readSummary(t, "../results/curves-summary.csv") {
		worst = min(worst, r.gain)
	}
	if worst >= -mostLoss {
		t.Errorf("the worst loss of any basis is %v: no cell needs the rule", worst)
	}
}

// On data that no constant was chosen on the rule does not hold its limit, nor does a later one: docs/curves.md has the counts. So basis: auto is not
// the default.
func TestDocsOtherData(t *testing.T) {
	doc, err := os.ReadFile("../../docs/curves.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"curves-others", "curves-confirm"} {
		summary := t.TempDir() + "/summary.csv"
		if err := summarize("../results/"+name+".csv", summary, false); err != nil {
			t.Fatal(err)
		}
		again, err := os.ReadFile(summary)
		if err != nil {
			t.Fatal(err)
		}
		if committed, err := os.ReadFile("../results/" + name + "-summary.csv"); err != nil || string(committed) != string(again) {
			t.Errorf("results/%s-summary.csv is not the summary of results/%[1]s.csv (-summary writes it): %v", name, err)
		}
		rows := readSummary(t, summary)
		for _, least := range [][2]float64{{700, 400}, {2500, 800}} {
			var taken, lost int
			var sum, worst float64
			for _, base := range rows {
				if base.basis != "none" {
					continue
				}
				mu := account.GDPMu(base.epsilon, delta)
				chosen := "none"
				for k, basis := range []string{"cosine:6", "curve:2"} {
					if r, ok := rows[base.with(basis)]; ok && chosen == "none" && float64(base.n)*mu/math.Sqrt(float64(r.d)) >= least[k] {
						chosen = basis
					}
				}
				if own, _ := algorithms.ChooseBasis(base.n, privacy.Budget{Epsilon: base.epsilon, Delta: delta}, func(basis string) (int, bool) {
					r, ok := rows[base.with(basis)]
					return r.d, ok
				}); least[0] == 700 && own != chosen {
					t.Errorf("%s, n = %d, epsilon %v: the rule takes %s, and %s was counted", base.data, base.n, base.epsilon, own, chosen)
				}
				if chosen == "none" {
					continue
				}
				gain := rows[base.with(chosen)].gain
				taken, sum, worst = taken+1, sum+gain, min(worst, gain)
				if gain < -mostLoss {
					lost++
				}
			}
			want := fmt.Sprintf("| %s | %g, %g | %d | %.4f | %d | %.4f |", name, least[0], least[1], taken, sum/float64(taken), lost, worst)
			if !strings.Contains(string(doc), want) {
				t.Errorf("docs/curves.md does not have %q", want)
			}
		}
	}
}

// line is a row of a summary.
type line struct {
	cell
	d        int
	gain, se float64
}

func (c cell) with(basis string) cell {
	c.basis = basis
	return c
}

func readSummary(t *testing.T, path string) map[cell]line {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	all := map[cell]line{}
	for _, r := range rows[1:] {
		var v [5]float64
		for k, at := range []int{1, 2, 4, 9, 10} {
			if v[k], err = strconv.ParseFloat(r[at], 64); err != nil {
				t.Fatal(err)
			}
		}
		c := cell{data: r[0], n: int(v[0]), epsilon: v[1], basis: r[3]}
		all[c] = line{c, int(v[2]), v[3], v[4]}
	}
	return all
}

// Every row of a table in docs/curves.md is a row of a summary, and says rightly whether the rule takes it.
func TestDocsCurves(t *testing.T) {
	text, err := os.ReadFile("../../docs/curves.md")
	if err != nil {
		t.Fatal(err)
	}
	summary := t.TempDir() + "/summary.csv"
	if err := summarize("../results/curves-interactions.csv", summary, true); err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(summary)
	if err != nil {
		t.Fatal(err)
	}
	if committed, err := os.ReadFile("../results/curves-interactions-summary.csv"); err != nil || string(committed) != string(again) {
		t.Errorf("results/curves-interactions-summary.csv is not the summary of its raw rows (-interactions -summary writes it): %v", err)
	}
	known := map[string]bool{}
	for _, name := range []string{"curves", "curves-held-out", "curves-others", "curves-confirm", "curves-interactions"} {
		f, err := os.ReadFile("../results/" + name + "-summary.csv")
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(string(f), "\n") {
			if r := strings.Split(l, ","); len(r) == 11 {
				known[strings.Join([]string{r[0], r[1], r[2], r[3], r[5], r[8], r[9], r[10]}, " | ")] = true
			}
		}
	}
	rows := 0
	for _, l := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(l, "| "), " | ")
		if !strings.HasPrefix(l, "| ") || len(cells) < 8 || cells[0] == "data" {
			continue
		}
		if rows++; !known[strings.Join(cells[:8], " | ")] {
			t.Errorf("docs/curves.md: no summary has %q", l)
		}
	}
	if rows < 20 {
		t.Errorf("docs/curves.md has %d rows of results", rows)
	}
}
