package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/algorithms"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden output of plan for every algorithm and mode, and of the texts that a
// user reads first. A change here is a change of what is promised.
func TestGoldenOutput(t *testing.T) {
	golden, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string][]string{
		"account-noise":   {"account", "--epsilon", "1", "--delta", "1e-5"},
		"account-epsilon": {"account", "--sigma", "50", "--steps", "100", "--delta", "1e-6"},
		"algorithms":      {"algorithms"},
		"losses":          {"losses"},
		"losses-metric":   {"losses", "--task", "metric", "--radius", "0.2"},
		"losses-smooth":   {"losses", "check", "log1p(exp(-u))"},
		"losses-kink":     {"losses", "check", "max(0, m - u)", "--loss-param", "m=0.5", "--task", "metric"},
		"losses-clipped":  {"losses", "check", "exp(-u)", "--loss-clip", "2", "--radius", "5"},
		"losses-typo":     {"losses", "check", "log1p(exp(-u)"},
		"losses-unknown":  {"losses", "check", "hing"},
		"losses-jump":     {"losses", "check", "where(u > 0, 0, 1)"},
		"losses-unbound":  {"losses", "check", "log(abs(u))"},
		"plan-loss":       {"plan", "-n", "512", "-d", "8", "--loss", "1 - tanh(c*u)", "--loss-param", "c=0.5", "--algorithm", "gradient-perturbation", "--delta", "1e-5"},
		"plan-loss-kink":  {"plan", "-n", "512", "-d", "8", "--loss", "hinge", "--radius", "1", "--delta", "1e-5"},
	}
	for _, a := range algorithms.Catalog() {
		info := a.Info()
		for _, m := range info.Modes {
			name := info.Name + "-" + m.String()
			cases["plan-"+name] = []string{"plan", "-n", "512", "-d", "8", "--algorithm", info.Name, "--mode", m.String(), "--epsilon", "1", "--delta", "1e-5"}
		}
	}
	for _, a := range algorithms.StreamCatalog() {
		info := a.Info()
		for _, m := range info.Modes {
			args := []string{"plan", "-n", "5000", "-d", "8", "--algorithm", info.Name, "--mode", m.String(), "--epsilon", "1", "--delta", "1e-5"}
			switch {
			case m == algorithms.Paper:
				args = append(args, "--buffer", "0", "--l2", "1")
			case info.NeedsL2:
				args = append(args, "--every", "50", "--l2", "0.01", "--buffer", "100", "--per-class")
			default:
				args = append(args, "--every", "50", "--buffer", "100")
			}
			cases["plan-"+info.Name+"-"+m.String()] = args
			cases["algorithms-"+info.Name] = []string{"algorithms", info.Name}
		}
	}
	for name, args := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(golden, name+".golden")
			code, out, errs := dyad(t, t.TempDir(), args...)
			got := "exit " + string(rune('0'+code)) + "\n" + out + errs
			if *update {
				if err := os.MkdirAll(golden, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v; run go test ./cmd/dyad -run TestGoldenOutput -update", err)
			}
			if got != string(want) {
				t.Errorf("dyad %s changed; if that is meant, run with -update\n--- want\n%s--- got\n%s", strings.Join(args, " "), want, got)
			}
		})
	}
}
