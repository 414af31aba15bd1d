package tree

import (
	"strings"
	"testing"
)

// TestUnitsAreWrittenOnce: whose data a guarantee protects is written in algorithms/unit.go, so that kinds of run whose costs a
// ledger adds up have one unit. The checker shares no text with what it checks.
func TestUnitsAreWrittenOnce(t *testing.T) {
	t.Chdir("../..")
	found := 0
	for s := range sources(t) {
		if strings.HasPrefix(s.name, "bench/") || strings.HasPrefix(s.name, "docs/checker/") {
			continue
		}
		for i, line := range strings.Split(s.text, "\n") {
			code, _, _ := strings.Cut(line, "//")
			for _, unit := range []string{`"one record"`, `"one person"`, `"one individual"`, `"one pair"`, `"one user"`, `"a group of `, `one record replaced`, `individual's record replaced`, `user's record replaced`} {
				if !strings.Contains(code, unit) {
					continue
				}
				if found++; s.name != "algorithms/unit.go" {
					t.Errorf("%s:%d writes a unit or its neighbours (%s); take it from algorithms.Unit", s.name, i+1, strings.TrimSpace(line))
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("%d units", found)
	}
}
