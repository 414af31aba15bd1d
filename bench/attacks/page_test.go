package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/algorithms/attack/kinds"
	"dyad/internal/must"
)

// The page of attacks is that of its raw file, and has a mechanism that is refuted, and what it was before, where the file has it.
func TestPageOfAttacks(t *testing.T) {
	f := must.Get(os.Open("../results/attacks-closest.csv"))(t)
	defer f.Close()
	want := must.Get(page(f))(t)
	got, err := os.ReadFile("../../docs/attacks.md")
	if err != nil || string(got) != want {
		t.Errorf("docs/attacks.md is not the page of its raw file (%v)", err)
	}
	for _, k := range kinds.Jobs() {
		must.Contain(t, want, "| kinds | "+k.Name+" |")
	}
	name := filepath.Join(t.TempDir(), "closest.csv")
	for i, ratio := range []float64{0.5, 1.5} {
		r := result{done: true, finding: finding{neighbours: 3, ratio: ratio}}
		r.area, r.algorithm = "kinds", "toy"
		must.Do(t, appendClosest(name, closestOf("abc", uint64(i), []result{r})))
	}
	text := must.Get(os.ReadFile(name))(t)
	if got, err := page(strings.NewReader(string(text))); err != nil || !strings.Contains(got, "| kinds | toy | 1 | 3 | 1.500000 | 1 | 0.500000 (`abc`) |") {
		t.Errorf("%v: %s", err, got)
	}
}
