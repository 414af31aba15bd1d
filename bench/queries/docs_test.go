package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/bench"
	"dyad/internal/must"
)

// The summaries are those of the raw rows, and docs/moments.md quotes them: it has rows of the method moments, and no other ones.
func TestDocsQueries(t *testing.T) {
	known := map[string]bool{}
	for _, name := range []string{"queries", "queries-held-out"} {
		summary := filepath.Join(t.TempDir(), "summary.csv")
		must.Do(t, summarize("../results/"+name+".csv", summary))
		got := must.Get(os.ReadFile(summary))(t)
		want, err := os.ReadFile("../results/" + name + "-summary.csv")
		if err != nil || string(got) != string(want) {
			t.Errorf("%s-summary.csv is not that of its raw rows: %v", name, err)
		}
		rows := must.Get(bench.ReadRows(summary))(t)
		for _, r := range rows {
			if r[3] == "moments" {
				known[strings.Join(slices.Concat(r[:3], r[6:]), " | ")] = true
			}
		}
	}
	text := must.Get(os.ReadFile("../../docs/moments.md"))(t)
	_, section, _ := strings.Cut(string(text), "## Query groups")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := 0
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| data") {
			continue
		}
		if rows++; !known[strings.Trim(line, "| ")] {
			t.Errorf("docs/moments.md: no summary has %q", line)
		}
	}
	if rows < 20 {
		t.Errorf("docs/moments.md has %d rows", rows)
	}
}
