package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

// One repeat of a slice of the experiment, on a7a where it is at hand (otherwise of
// records of the generator): every line has an error rate, the printed form has no
// guarantee, and a record pays T_max epsilon.
func TestSlice(t *testing.T) {
	e := experiment{
		data: "../../../shared/data/a7a/a7a.gz", test: "../../../shared/data/a7a/a7a.t.gz", schema: "../schemas/a7a.yaml",
		users: 300, repeats: 1, limit: 1 << 62, epochs: 2, l2: 0.01, radius: 5,
		budgets: []string{"paper", "4"}, losses: []string{"logistic", "hinge", "gompertz", "ramp"},
	}
	if _, err := os.Stat(e.data); err != nil {
		e.data = filepath.Join(t.TempDir(), "made")
		e.test = e.data
		must.Do(t, os.WriteFile(e.data, []byte(strings.Repeat("+1 1:1 7:1\n-1 2:1 9:1\n+1 3:1 7:1\n-1 4:1 9:1\n", 150)), 0o600))
	}
	var out bytes.Buffer
	must.Do(t, e.run(&out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")[4:]
	if want := 4 * (2 + 2*len(private)); len(lines) != want {
		t.Fatalf("%d lines, want %d", len(lines), want)
	}
	for _, l := range lines {
		f := strings.Split(l, ",")
		want := map[string]string{"sgd": "none", "curriculum": "none", "prestige-printed": "none", "prestige-label": "4", "djw": "8", "prestige": "8", "prestige-participation": "8"}[f[2]]
		if f[3] == "paper" && want != "none" {
			want = "0.00333334"
			if f[2] == "prestige-label" {
				want = "0.00166667"
			}
		}
		if f[6] != want || len(f) != 14 {
			t.Errorf("line %q: a record pays %s, want %s", l, f[6], want)
		}
	}
}

// Runs at the same time print the same lines, but for the seconds, in the same order; an
// error of one ends all.
func TestParallelRunsPrintTheSame(t *testing.T) {
	data := filepath.Join(t.TempDir(), "made")
	must.Do(t, os.WriteFile(data, []byte(strings.Repeat("+1 1:1 7:1\n-1 2:1 9:1\n+1 3:1 7:1\n-1 4:1 9:1\n", 50)), 0o600))
	print := func(parallel, epochs int, losses ...string) ([]string, error) {
		e := experiment{
			data: data, test: data, schema: "../schemas/a7a.yaml", repeats: 2, parallel: parallel, limit: 1 << 62, epochs: epochs, l2: 0.01, radius: 5,
			budgets: []string{"4"}, losses: losses,
		}
		var out bytes.Buffer
		err := e.run(&out)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		for i, l := range lines {
			lines[i] = l[:max(0, strings.LastIndex(l, ","))]
		}
		return lines, err
	}
	one, err := print(1, 2, "logistic", "hinge")
	if err != nil || len(one) != 4+2*2*(2+len(private)) {
		t.Fatal(len(one), err)
	}
	for _, parallel := range []int{3, 100} {
		if many, err := print(parallel, 2, "logistic", "hinge"); err != nil || !slices.Equal(one, many) {
			t.Errorf("%d at a time: %v, lines\n%s\nwant\n%s", parallel, err, strings.Join(many, "\n"), strings.Join(one, "\n"))
		}
	}
	if longer, _ := print(3, 3, "logistic", "hinge"); slices.Equal(one, longer) {
		t.Error("another number of epochs printed the same")
	}
	if _, err := print(2, 2, "logistic", "none"); err == nil {
		t.Error("an unknown loss was run")
	}
}

// With -cv each run takes the lambda that a cross-validation on its own training records likes best: one that
// makes every model nearly 0 is left, and so is one that is not in the grid.
func TestLambdaByCrossValidation(t *testing.T) {
	data := filepath.Join(t.TempDir(), "made")
	must.Do(t, os.WriteFile(data, []byte(strings.Repeat("+1 1:1 7:1\n-1 2:1 9:1\n+1 3:1 7:1\n-1 4:1 9:1\n", 50)), 0o600))
	lambdas := func(grid ...float64) (out []string) {
		e := experiment{
			data: data, test: data, schema: "../schemas/a7a.yaml", repeats: 1, limit: 1 << 62, epochs: 2, l2: 7, radius: 5, grid: grid, folds: 3,
			budgets: []string{"4"}, losses: []string{"logistic"}, methods: []string{"djw"},
		}
		var b bytes.Buffer
		must.Do(t, e.run(&b))
		for _, l := range strings.Split(strings.TrimSpace(b.String()), "\n")[4:] {
			f := strings.Split(l, ",")
			out = append(out, f[2]+" "+f[12])
		}
		return out
	}
	if got := lambdas(0.25); !slices.Equal(got, []string{"sgd 0.25", "curriculum 0.25", "djw 0.25"}) {
		t.Errorf("a grid of one: %v", got)
	}
	if got := lambdas(0.01, 1e6); !slices.Contains(got, "sgd 0.01") {
		t.Errorf("SGD took another lambda than the one that learns: %v", got)
	}
}
