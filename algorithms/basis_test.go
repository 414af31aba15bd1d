package algorithms

import (
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
)

// The choice grows with n and epsilon, goes through both bases, and is none where it was not measured or d is too large.
func TestChooseBasis(t *testing.T) {
	rank := map[string]int{noBasis: 0, curvedBasis: 1}
	dims := func(basis string) (int, bool) { return 40 + 10*rank[basis], true }
	for _, epsilon := range []float64{0.25, 0.5, 1, 2, 4, 8} {
		seen, last := map[string]bool{}, 0
		for n := 64; n <= 1<<20; n += n / 4 {
			basis, reason := ChooseBasis(n, n, privacy.Budget{Epsilon: epsilon, Delta: 1e-5}, dims)
			if reason == "" || rank[basis] < last {
				t.Fatalf("n = %d, epsilon %v: %s (%s) after rank %d", n, epsilon, basis, reason, last)
			}
			seen[basis], last = true, rank[basis]
		}
		must.Equal(t, len(seen), 2, "epsilon %v: chose %v", epsilon, seen)
	}
	big := privacy.Budget{Epsilon: 8, Delta: 1e-5}
	if basis, reason := ChooseBasis(1e6, 1e6, privacy.Budget{Epsilon: 8}, dims); basis != noBasis || !strings.Contains(reason, "delta > 0") {
		t.Errorf("pure epsilon: %s, %s", basis, reason)
	}
	if basis, reason := ChooseBasis(1e6, 1e8, big, dims); basis != noBasis || !strings.Contains(reason, "1 GiB") {
		t.Errorf("too many rows: %s, %s", basis, reason)
	}
	if basis, reason := ChooseBasis(1e6, 1e6, big, func(string) (int, bool) { return 40, true }); basis != noBasis || !strings.Contains(reason, "no column") {
		t.Errorf("no numbers: %s, %s", basis, reason)
	}
	if basis, reason := ChooseBasis(1e6, 1e6, big, func(string) (int, bool) { return 0, false }); basis != noBasis || !strings.Contains(reason, "too many features") {
		t.Errorf("too many features: %s, %s", basis, reason)
	}
}
