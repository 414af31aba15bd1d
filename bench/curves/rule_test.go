package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"dyad/algorithms"
	"dyad/bench"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// mostLoss is what the rule for bases may lose against no basis in a cell, in AUC.
const mostLoss = 0.002

// shrunkRows are the rows of a summary, which is that of its raw rows.
func shrunkRows(t *testing.T, name string) map[cell]line {
	t.Helper()
	summary := t.TempDir() + "/summary.csv"
	must.Do(t, summarize("../results/"+name+".csv", summary, false))
	again := must.Get(os.ReadFile(summary))(t)
	if committed, err := os.ReadFile("../results/" + name + "-summary.csv"); err != nil || string(committed) != string(again) {
		t.Errorf("results/%s-summary.csv is not the summary of results/%[1]s.csv (-summary writes it): %v", name, err)
	}
	return readSummary(t, summary)
}

// taken are the rows of the cells where the rule takes a basis.
func taken(rows map[cell]line) (all []line) {
	for _, base := range rows {
		if base.basis != "none" {
			continue
		}
		with := func(basis string) (line, bool) {
			r, ok := rows[base.with(basis+shrunk)]
			if k, spike := strings.CutPrefix(basis, "spike:"); spike && !ok { // the same records where no number has a spike
				r, ok = rows[base.with("cosine:"+k+shrunk)]
			}
			return r, ok
		}
		basis, _ := algorithms.ChooseBasis(base.n, base.n, privacy.Budget{Epsilon: base.epsilon, Delta: delta}, func(basis string) (int, bool) {
			r, ok := with(basis)
			return r.d, ok
		})
		if r, ok := with(basis); ok {
			all = append(all, r)
		}
	}
	return all
}

// The rule loses at most mostLoss in every cell of the data that it was made on, of the last list, and of Pima and Debrecen, where it takes none. Without a rule the
// limit would not hold.
func TestRuleLosesNothing(t *testing.T) {
	for name, least := range map[string]int{"curves-shrunk-development": 15, "curves-shrunk-last": 20} {
		rows := shrunkRows(t, name)
		all := taken(rows)
		for _, r := range all {
			if r.gain < -mostLoss || r.data == "pima" || r.data == "debrecen" {
				t.Errorf("%s, n = %d, epsilon %v: %s gains %v with standard error %v", r.data, r.n, r.epsilon, r.basis, r.gain, r.se)
			}
		}
		worst := 0.0
		for _, r := range rows {
			worst = min(worst, r.gain)
		}
		if len(all) < least || worst >= -mostLoss {
			t.Errorf("%s: the rule takes a basis in %d cells, and the worst loss of any cell is %v", name, len(all), worst)
		}
	}
	for _, name := range []string{"curves", "curves-held-out"} {
		shrunkRows(t, name)
	}
}

// On the lists of other data docs/curves.md has the counts, and the cells that shrinkage leaves above the limit are two of the 27.
func TestDocsOtherData(t *testing.T) {
	doc := must.Get(os.ReadFile("../../docs/curves.md"))(t)
	rows := shrunkRows(t, "curves-shrunk")
	for _, of := range []struct {
		basis string
		least float64 // t'
		most  int     // cells above the limit
	}{{"cosine:6", 400, 27}, {"cosine:6" + shrunk, 400, 2}, {"curve:2" + shrunk, 400, 100}, {"cosine:6" + shrunk, 350, 2}} {
		var count, lost int
		var sum, worst float64
		for _, r := range rows {
			if r.basis != of.basis || float64(r.n)*account.GDPMu(r.epsilon, delta)/math.Sqrt(float64(r.d)) < of.least {
				continue
			}
			count, sum, worst = count+1, sum+r.gain, min(worst, r.gain)
			if r.gain < -mostLoss {
				lost++
			}
		}
		want := fmt.Sprintf("| %s | %d | %.4f | %d | %.4f |", of.basis, count, sum/float64(count), lost, worst)
		if !strings.Contains(string(doc), want) || lost > of.most {
			t.Errorf("docs/curves.md does not have %q, or %d cells are too many", want, lost)
		}
	}
	if n := len(taken(rows)); n < 100 {
		t.Errorf("the rule takes a basis in %d cells", n)
	}
}

// A spike loses nothing on the data that the rule was made on, and docs/curves.md counts the cells of all data where it loses.
func TestDocsSpikes(t *testing.T) {
	doc := must.Get(os.ReadFile("../../docs/curves.md"))(t)
	shrunkRows(t, "curves-spike-last")
	shrunkRows(t, "curves-oracle")
	rows := shrunkRows(t, "curves-spike")
	all := taken(rows)
	var gains []float64
	lost := 0
	for _, r := range all {
		gain := math.Round(1e4*(r.gain-rows[r.with("cosine:6"+shrunk)].gain)) / 1e4
		if gains = append(gains, gain); gain < -mostLoss {
			lost++
		}
		if own := r.data == "adult" || r.data == "bank" || r.data == "clinical"; own && (gain < -mostLoss || r.gain < -mostLoss) || r.basis != "spike:6"+shrunk {
			t.Errorf("%s, n = %d, epsilon %v: %s gains %v, and %v over cosines alone", r.data, r.n, r.epsilon, r.basis, r.gain, gain)
		}
	}
	want := fmt.Sprintf("| spike:6/shrunk over cosine:6/shrunk | %d | %.4f | %d | %.4f |", len(all), stat.Mean(gains, nil), lost, slices.Min(gains))
	if !strings.Contains(string(doc), want) || lost > 6 {
		t.Errorf("docs/curves.md does not have %q, or %d cells are too many", want, lost)
	}
}

// The table of docs/curves.md on the default is the mean of the runs in its raw file, and the default loses nowhere more than noise.
func TestDocsDefault(t *testing.T) {
	doc := must.Get(os.ReadFile("../../docs/curves.md"))(t)
	auc := map[string]map[string][]float64{} // by data and epsilon, then by basis, in the order of splits
	for _, r := range must.Get(bench.ReadRows("../results/basis-default.csv"))(t) {
		v := must.Get(strconv.ParseFloat(r[4], 64))(t)
		of := "| " + r[0] + " | " + r[1] + " |"
		if auc[of] == nil {
			auc[of] = map[string][]float64{}
		}
		auc[of][r[3]] = append(auc[of][r[3]], v)
	}
	for of, by := range auc {
		n := float64(len(by["default"]))
		var with, none, gain, square float64
		for i, v := range by["default"] {
			with, none, gain = with+v/n, none+by["none"][i]/n, gain+(v-by["none"][i])/n
		}
		for i, v := range by["default"] {
			square += math.Pow(v-by["none"][i]-gain, 2)
		}
		se := math.Sqrt(square / (n - 1) / n)
		want := fmt.Sprintf("%s %.4f | %.4f | %.4f | %.4f |", of, with, none, gain, se)
		if !strings.Contains(string(doc), want) || gain < -2*se || len(by["none"]) != len(by["default"]) {
			t.Errorf("docs/curves.md does not have %q, or the default loses", want)
		}
	}
	must.Equal(t, len(auc), 6, "cells")
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
	all := map[cell]line{}
	for _, r := range must.Get(bench.ReadRows(path))(t) {
		var v [5]float64
		for k, at := range []int{1, 2, 4, 9, 10} {
			v[k] = must.Get(strconv.ParseFloat(r[at], 64))(t)
		}
		c := cell{data: r[0], n: int(v[0]), epsilon: v[1], basis: r[3]}
		all[c] = line{c, int(v[2]), v[3], v[4]}
	}
	return all
}

// Every row of a table in docs/curves.md is a row of a summary, and says rightly whether the rule takes it.
func TestDocsCurves(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/curves.md"))(t)
	summary := t.TempDir() + "/summary.csv"
	must.Do(t, summarize("../results/curves-interactions.csv", summary, true))
	again := must.Get(os.ReadFile(summary))(t)
	if committed, err := os.ReadFile("../results/curves-interactions-summary.csv"); err != nil || string(committed) != string(again) {
		t.Errorf("results/curves-interactions-summary.csv is not the summary of its raw rows (-interactions -summary writes it): %v", err)
	}
	known := map[string]bool{}
	for _, name := range []string{"curves", "curves-held-out", "curves-shrunk", "curves-shrunk-development", "curves-shrunk-last", "curves-spike", "curves-spike-last", "curves-interactions"} {
		f := must.Get(os.ReadFile("../results/" + name + "-summary.csv"))(t)
		for _, l := range strings.Split(string(f), "\n") {
			if r := strings.Split(l, ","); len(r) == 11 {
				known[strings.Join([]string{r[0], r[1], r[2], r[3], r[5], r[8], r[9], r[10]}, " | ")] = true
			}
		}
	}
	for row := range choiceRows(t) {
		known[row] = true
	}
	rows := 0
	for _, l := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(l, "| "), " | ")
		if !strings.HasPrefix(l, "| ") || len(cells) < 8 || cells[0] == "data" {
			continue
		}
		if rows++; !known[strings.Join(cells[:8], " | ")] && !known[strings.Join(cells, " | ")] {
			t.Errorf("docs/curves.md: no summary has %q", l)
		}
	}
	if rows < 20 {
		t.Errorf("docs/curves.md has %d rows of results", rows)
	}
}

// choiceRows are the rows of a table of results/choice.csv: means over splits, paired differences with their standard errors, and how
// often the choice and the oracle took the same pairs.
func choiceRows(t *testing.T) map[string]bool {
	t.Helper()
	text := must.Get(os.ReadFile("../results/choice.csv"))(t)
	type cell struct {
		auc   float64
		pairs string
	}
	kinds, all := map[string]map[string]map[string]cell{}, map[string]bool{} // by data, n and epsilon, by split, by kind
	for _, l := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		r := strings.Split(l, ",")
		auc := must.Get(strconv.ParseFloat(r[6], 64))(t)
		of := strings.Join(r[:3], " | ")
		if kinds[of] == nil {
			kinds[of] = map[string]map[string]cell{}
		}
		if kinds[of][r[3]] == nil {
			kinds[of][r[3]] = map[string]cell{}
		}
		kinds[of][r[3]][r[4]] = cell{auc, r[5]}
	}
	for of, splits := range kinds {
		var additive, chosen, oracle, gain, behind []float64
		same, any := 0, false
		for _, c := range splits {
			additive, chosen, oracle = append(additive, c["additive"].auc), append(chosen, c["chosen"].auc), append(oracle, c["oracle"].auc)
			gain, behind = append(gain, c["chosen"].auc-c["additive"].auc), append(behind, c["oracle"].auc-c["chosen"].auc)
			any = any || c["chosen"].pairs != ""
			if c["chosen"].pairs == c["oracle"].pairs {
				same++
			}
		}
		last := "no choice"
		if any {
			last = fmt.Sprintf("%d of %d", same, len(splits))
		}
		mean, root := func(x []float64) float64 { return stat.Mean(x, nil) }, math.Sqrt(float64(len(splits)))
		all[strings.ReplaceAll(fmt.Sprintf("%s | %.4f | %.4f | %.4f | %.4f | %.4f | %.4f | %.4f | %s", of, mean(additive), mean(chosen), mean(gain), stat.StdDev(gain, nil)/root,
			mean(oracle), mean(behind), stat.StdDev(behind, nil)/root, last), "-0.0000", "0.0000")] = true
	}
	return all
}
