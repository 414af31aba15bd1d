package tree

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnitsAreWrittenOnce: whose data a guarantee protects is written in algorithms/unit.go, so that kinds of run whose costs a
// ledger adds up have one unit. The checker shares no text with what it checks.
func TestUnitsAreWrittenOnce(t *testing.T) {
	t.Chdir("../..")
	found := 0
	err := filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && (name == "bench" || name == ".git" || name == filepath.FromSlash("docs/checker")) {
			return cmp.Or(err, fs.SkipDir)
		}
		if e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			code, _, _ := strings.Cut(line, "//")
			for _, unit := range []string{`"one record"`, `"one person"`, `"one individual"`, `"one pair"`, `"one user"`, `"a group of `, `one record replaced`, `individual's record replaced`, `user's record replaced`} {
				if !strings.Contains(code, unit) {
					continue
				}
				if found++; filepath.ToSlash(name) != "algorithms/unit.go" {
					t.Errorf("%s:%d writes a unit or its neighbours (%s); take it from algorithms.Unit", name, i+1, strings.TrimSpace(line))
				}
			}
		}
		return nil
	})
	if err != nil || found < 10 {
		t.Errorf("%d units, %v", found, err)
	}
}
