package main

import (
	"path/filepath"
	"testing"

	"dyad/internal/experiment"
)

func TestCommittedPlans(t *testing.T) {
	paths, err := filepath.Glob("../plans/*.yaml")
	if err != nil || len(paths) < 4 {
		t.Fatalf("%d plans, %v", len(paths), err)
	}
	for _, path := range paths {
		p, err := experiment.Load(path)
		if err != nil {
			t.Error(err)
			continue
		}
		private := 0
		for _, d := range p.Data {
			private += len(d.N) * len(p.Epsilon)
		}
		switch filepath.Base(path) {
		case "auto.yaml": // the comparisons that the defaults are judged by
			if private != 48 || p.Splits != 20 {
				t.Errorf("%s has %d cells and %d splits", path, private, p.Splits)
			}
		case "development.yaml":
			for _, d := range p.Data {
				if d.Name == "pima" || d.Name == "debrecen" {
					t.Errorf("%s has %s, which confirms rules", path, d.Name)
				}
			}
		}
	}
}
