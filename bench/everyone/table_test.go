package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/experiment"
	"dyad/internal/must"
)

// load is the table of a raw file; the plan has schemas relative to the laboratory.
func load(t *testing.T, raw string) *everyone {
	t.Helper()
	p := must.Get(experiment.Load(filepath.Join("..", planFile)))(t)
	return must.Get(read(p, raw))(t)
}

// TestPagesAreMadeOfTheRawFile: what the pages quote and everyone-summary.csv follow from everyone.csv, computed again here.
func TestPagesAreMadeOfTheRawFile(t *testing.T) {
	raw := must.Get(os.ReadFile("../results/everyone.csv"))(t)
	e := load(t, "../results/everyone.csv")
	wrong := func(e *everyone) (out []string) {
		check := func(name, want string) {
			got := must.Get(os.ReadFile(name))(t)
			if name != "../results/everyone-summary.csv" {
				want = must.Get(within(string(got), want))(t, name)
			}
			if string(got) != want {
				out = append(out, name)
			}
		}
		for name, part := range e.parts() {
			check(filepath.Join("../..", name), part)
		}
		check("../results/everyone-summary.csv", e.summary())
		return out
	}
	if out := wrong(e); out != nil {
		t.Errorf("%q are not what the raw file gives: go -C bench run ./everyone -pages", out)
	}
	// The control: another number in the raw file is found in all three.
	changed := filepath.Join(t.TempDir(), "everyone.csv")
	var b strings.Builder
	for line := range strings.Lines(string(raw)) {
		if f := strings.Split(line, ","); len(f) > 9 && f[5] == "adassp" && f[9] != "" {
			f[9] = "0.999999"
			line = strings.Join(f, ",")
		}
		b.WriteString(line)
	}
	must.Do(t, os.WriteFile(changed, []byte(b.String()), 0o600))
	if out := wrong(load(t, changed)); len(out) != 3 {
		t.Errorf("another AUC of a peer is found in %q alone", out)
	}
}
