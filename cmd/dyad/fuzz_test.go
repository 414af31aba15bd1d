package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A file of candidates is refused, or each of them is a setting or is refused by its name.
func FuzzCandidates(f *testing.F) {
	for _, seed := range []string{"candidates:\n  - {name: strong, algorithm: moments, ridge: 4}\n  - {name: weak, l2: 1}\n", "candidates: []\n", "candidates:\n- name: a\n- {name: a, steps: -1, features: [x]}\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "candidates.yaml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
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
