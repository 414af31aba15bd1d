package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dyad/bench"
	"dyad/internal/experiment"
	"dyad/internal/must"
)

// TestPagesAreMadeOfTheRawFiles: every number of both pages follows from the raw files, computed again here.
func TestPagesAreMadeOfTheRawFiles(t *testing.T) {
	for _, name := range []string{"pairwise-dpsgd", "dpauc"} {
		want := must.Get(page(name, "../results"))(t)
		got := must.Get(os.ReadFile(filepath.Join("../../docs", name+".md")))(t)
		if !bytes.Equal(got, want) {
			t.Errorf("docs/%s.md is not what the raw files give: go -C bench run ./dpauc -pages", name)
		}
	}
}

// TestPagesFollowTheRawFiles: another number in a raw file gives another page, so the test above can fail.
func TestPagesFollowTheRawFiles(t *testing.T) {
	for _, c := range []struct{ page, file, column, value string }{
		{"pairwise-dpsgd", "dpauc-attack-opacus.csv", "move", "7"},
		{"pairwise-dpsgd", "dpauc-attack-jax.csv", "with", "1 2 3 4"},
		{"dpauc", "dpauc.csv", "auc", "0.111"},
		{"dpauc", "dpauc.csv", "peak_mb", "9999"},
	} {
		dir := t.TempDir()
		for _, name := range []string{"dpauc.csv", "dpauc-attack-opacus.csv", "dpauc-attack-jax.csv", "dpauc-attack-diffprivlib.csv", "audits.csv", "audits-moments.csv"} {
			text := must.Get(os.ReadFile(filepath.Join("../results", name)))(t)
			must.Do(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		}
		before := must.Get(page(c.page, dir))(t)
		path := filepath.Join(dir, c.file)
		comments, rows := must.Get2(bench.ReadTable(path))(t)
		var b strings.Builder
		b.WriteString(strings.Join(comments, "\n") + "\n")
		var head []string
		for name := range rows[0] {
			head = append(head, name)
		}
		out := csv.NewWriter(&b)
		_ = out.Write(head) // to memory
		rows[0][c.column] = c.value
		for _, r := range rows {
			var line []string
			for _, name := range head {
				line = append(line, r[name])
			}
			_ = out.Write(line)
		}
		out.Flush()
		must.Do(t, os.WriteFile(path, []byte(b.String()), 0o600))
		after := must.Get(page(c.page, dir))(t)
		if bytes.Equal(before, after) {
			t.Errorf("%s does not follow %s of %s", c.page, c.column, c.file)
		}
	}
}

// TestCells: the cells of a plan are its runs, each once, and one runs with the numbers of the whole plan.
func TestCells(t *testing.T) {
	for _, name := range []string{"dpauc", "dpauc-large"} {
		p := must.Get(experiment.Load("../plans/" + name + ".yaml"))(t)
		if got, want := len(cells(p)), len(p.Data)*len(methods); got != want {
			t.Errorf("%s has %d cells, and the page %d methods of its data", name, got, want)
		}
		for _, c := range cells(p) {
			if _, err := c.plan(p, "../plans"); err != nil {
				t.Error(err)
			}
		}
	}
	whole := must.Get(experiment.Parse("small", "../plans", []byte(`
title: Small
data: [{name: clinical, synthetic: clinical, records: 300, seed: 1, n: [200]}]
epsilon: [1]
delta: 1e-5
splits: 2
algorithms: [{name: moments}, {name: gradient-perturbation}]
`)))(t)
	dir := t.TempDir()
	must.Do(t, whole.Run(context.Background(), filepath.Join(dir, "whole.csv"), experiment.Options{}))
	rows := must.Get(whole.Rows(filepath.Join(dir, "whole.csv")))(t)
	values := map[string]float64{}
	for _, r := range rows {
		values[r.Algorithm+string(rune('0'+r.Split))] = r.Value
	}
	for _, c := range cells(whole) {
		part := must.Get(c.plan(whole, "../plans"))(t)
		must.Do(t, part.Run(context.Background(), c.path(dir), experiment.Options{}))
		rows := must.Get(part.Rows(c.path(dir)))(t)
		for _, r := range rows {
			if v, ok := values[r.Algorithm+string(rune('0'+r.Split))]; !ok || v != r.Value {
				t.Errorf("%s, split %d: %g in its cell, %g in the plan", r.Algorithm, r.Split, r.Value, v)
			}
		}
	}
}

// TestAhead: a peer that is better on every split is said to be ahead, and one that is better on some is not.
func TestAhead(t *testing.T) {
	rows := func(auc map[string][]string) (out []map[string]string) {
		for method, values := range auc {
			for split, v := range values {
				out = append(out, map[string]string{"data": "some", "method": method, "epsilon": "4", "split": strconv.Itoa(split), "auc": v})
			}
		}
		return out
	}
	if got := ahead(rows(map[string][]string{"auto": {"0.8", "0.7", "0.9"}, "opacus-dpsgd": {"0.82", "0.73", "0.92"}, "diffprivlib": {"0.9", "0.6", "0.91"},
		"logistic-regression": {"0.9", "0.9", "0.9"}}), "some"); len(got) != 1 || got[0] != "opacus-dpsgd on some at epsilon 4 (+0.023)" {
		t.Errorf("%q", got)
	}
}

// TestMissing: files that are not there are named with the command that fetches them.
func TestMissing(t *testing.T) {
	p := must.Get(experiment.Load("../plans/dpauc.yaml"))(t)
	dir := t.TempDir()
	must.Contain(t, strings.Join(p.MissingFiles([]string{dir}), "\n"), "dyad data fetch adult")
	must.Do(t, os.MkdirAll(filepath.Join(dir, "adult"), 0o700))
	for _, name := range []string{"adult.data.gz", "adult.test"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, "adult", name), nil, 0o600))
	}
	if gone := p.MissingFiles([]string{dir}); strings.Contains(strings.Join(gone, "\n"), "adult") {
		t.Error(gone)
	}
}
