package experiment

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A plan is refused with an InputError, or it has a number of runs within the limit.
func FuzzPlan(f *testing.F) {
	names, err := filepath.Glob(filepath.FromSlash("../bench/plans/*.yaml"))
	if err != nil || len(names) < 3 {
		f.Fatalf("%d plans, %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse("plan", "testdata", text)
		if bad := new(InputError); err != nil && !errors.As(err, &bad) {
			t.Fatalf("%v is no InputError", err)
		} else if err == nil && p.name == "" {
			t.Fatal("a plan without a name")
		}
	})
}
