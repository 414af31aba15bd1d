package sizes

import (
	"math"
	"testing"
)

// Any two of a dimension, a number and a place meet in a cell, and random sizes are within their ranges and differ by seed.
func TestCellsCoverPairs(t *testing.T) {
	t.Setenv("DYAD_SIZES", "")
	met := map[[3]int]bool{}
	for _, c := range Cells(t, math.Inf(1), 1) {
		which := map[int]int{0: 1, c.N / 2: 2, c.N - 1: 3}[c.Unit]
		met[[3]int{c.D, c.N, 0}], met[[3]int{c.D, 0, which}], met[[3]int{0, c.N, which}] = true, true, true
	}
	if len(met) != 4*4+4*3+4*3 {
		t.Errorf("%d pairs meet, want %d: %v", len(met), 4*4+4*3+4*3, met)
	}
	if got := Dims(t, 100); len(got) != 3 {
		t.Errorf("dimensions up to 100: %v", got)
	}
	random := map[Cell]bool{}
	for _, seed := range []string{"1", "2"} {
		t.Setenv("DYAD_SIZES", seed)
		for _, c := range Cells(t, math.Inf(1), 1) {
			random[c] = true
			if c.D < 1 || c.D > 2000 || c.N < 3 || c.N > 20000 || c.Unit < 0 || c.Unit >= c.N {
				t.Errorf("seed %s: %v", seed, c)
			}
		}
	}
	if len(random) < 30 {
		t.Errorf("%d different cells of two seeds", len(random))
	}
}

// A tenth of the samples ordinarily, never none, and all of them at full power.
func TestTrials(t *testing.T) {
	for full, want := range map[string]int{"": 13, "1": 121} {
		t.Setenv("DYAD_FULL", full)
		if got := Trials(121); got != want || Trials(1) != 1 {
			t.Errorf("DYAD_FULL=%q: %d of 121, %d of 1", full, got, Trials(1))
		}
	}
}
