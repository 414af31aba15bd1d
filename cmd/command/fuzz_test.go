package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/page"
)

// A file of candidates is refused, or each of them is a setting or is refused by its name.
func FuzzCandidates(f *testing.F) {
	for _, seed := range []string{"candidates:\n  - {name: strong, algorithm: moments, ridge: 4}\n  - {name: weak, l2: 1}\n", "candidates: []\n", "candidates:\n- name: a\n- {name: a, steps: -1, features: [x]}\n"} {
		f.Add([]byte(seed))
	}
	path := filepath.Join(f.TempDir(), "candidates.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		must.Do(t, os.WriteFile(path, text, 0o600))
		all, err := readCandidates(path)
		if err != nil {
			if exitCode(err) != exitInput {
				t.Fatalf("exit code %d: %v", exitCode(err), err)
			}
			return
		}
		for _, c := range all {
			if _, err := c.setting(); err != nil && exitCode(err) != exitInput {
				t.Fatalf("exit code %d: %v", exitCode(err), err)
			}
		}
	})
}

// A file of flags gives settings with the lines that they stand in, or one error.
func FuzzConfig(f *testing.F) {
	f.Add("epsilon: 1\nhidden: [16, 8]\n")
	f.Add("a: {b: 1}\n")
	f.Add("- 1\n")
	path := filepath.Join(f.TempDir(), "run.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		c := &config{path: path}
		if err := c.read(); err != nil {
			return
		}
		for _, s := range c.settings {
			// YAML ends lines at a carriage return, too.
			if s.line < 1 || s.line > strings.Count(text, "\n")+strings.Count(text, "\r")+1 {
				t.Errorf("%q: --%s is in line %d", text, s.flag, s.line)
			}
		}
	})
}

// The report in a model becomes tables whose rows have a cell for every heading.
func FuzzReportTables(f *testing.F) {
	f.Add([]byte(`{"a": 1, "b": {"c": [1, [2]]}, "d": [{"e": null}, {"f": "x"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var facts page.Table
		for _, table := range flatten(&facts, "", text) {
			for _, row := range table.Rows {
				if len(row) != len(table.Head) {
					t.Errorf("%q: %d cells under %d headings", text, len(row), len(table.Head))
				}
			}
		}
	})
}
