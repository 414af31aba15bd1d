package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		if err := os.WriteFile(e.data, []byte(strings.Repeat("+1 1:1 7:1\n-1 2:1 9:1\n+1 3:1 7:1\n-1 4:1 9:1\n", 150)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := e.run(&out); err != nil {
		t.Fatal(err)
	}
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
		if f[6] != want || len(f) != 13 {
			t.Errorf("line %q: a record pays %s, want %s", l, f[6], want)
		}
	}
}

// The stream's memory does not grow with the number of users.
func TestStreamIsFlat(t *testing.T) {
	var out bytes.Buffer
	if err := measureStream(&out, 2000, 18, 0); err != nil {
		t.Fatal(err)
	}
	if err := measureStream(&out, 20, 2000, 10); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 2*(4+10) {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
}
