package engine_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// importRules is a statement of policy (docs/design.md). A package may import,
// in its non-test files, itself, its own sub-packages and the packages listed.
// A rule for "x/..." covers every package below x that has no rule of its own.
// Do not change this table to fix a build.
var importRules = map[string][]string{
	"kernels":             {},
	"privacy":             {},
	"privacy/durable":     {},
	"privacy/privtest":    {"privacy"},
	"autodiff":            {"kernels"},
	"engine":              {"autodiff", "kernels"},
	"engine/...":          {"engine", "autodiff", "kernels"},
	"engine/cuda":         {"engine", "engine/pairgraph", "autodiff", "kernels"},
	"engine/enginetest":   {"engine", "autodiff", "kernels"},
	"algorithms":          {"engine", "engine/pairgraph", "privacy"},
	"algorithms/local":    {"engine", "privacy"},
	"algorithms/pairs":    {"algorithms", "engine", "engine/pairgraph", "privacy"},
	"algorithms/algotest": {"algorithms", "engine", "privacy"},
	"algorithms/audit":    {"algorithms", "algorithms/algotest", "algorithms/pairs", "engine", "engine/pairgraph", "privacy"},
	"experiment":          {"algorithms", "engine", "engine/cpu", "engine/dataset", "engine/dataset/catalog", "engine/metrics", "privacy"},
	"bench/...":           {"*"},
	"bench":               {"*"},
	"cmd/...":             {"*"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

// illegalImports returns one line for each import of ours that no rule allows.
func illegalImports(packages []listed) []string {
	var bad []string
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, "dyad/")
		allowed, ok := importRules[name]
		if !ok {
			top, _, _ := strings.Cut(name, "/")
			allowed, ok = importRules[top+"/..."]
		}
		if !ok {
			bad = append(bad, fmt.Sprintf("%s has no import rule", name))
			continue
		}
		for _, i := range p.Imports {
			target, ours := strings.CutPrefix(i, "dyad/")
			if !ours || slices.Contains(allowed, "*") || slices.Contains(allowed, target) || strings.HasPrefix(target, name+"/") {
				continue
			}
			bad = append(bad, fmt.Sprintf("%s imports %s", name, target))
		}
	}
	return bad
}

func TestImportRules(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "dyad/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p listed
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	if len(packages) < 8 {
		t.Fatalf("go list found %d packages, want the whole module", len(packages))
	}
	for _, line := range illegalImports(packages) {
		t.Error(line)
	}
}

// The guard catches what it is for.
func TestImportRulesCatchIllegalImports(t *testing.T) {
	for _, p := range []listed{
		{"dyad/engine", []string{"fmt", "dyad/privacy"}},
		{"dyad/engine/cpu", []string{"dyad/privacy"}},
		{"dyad/privacy", []string{"dyad/engine"}},
		{"dyad/kernels", []string{"dyad/engine"}},
		{"dyad/algorithms", []string{"dyad/autodiff"}},
		{"dyad/algorithms", []string{"dyad/engine/objective"}},
		{"dyad/unheard/of", nil},
	} {
		if len(illegalImports([]listed{p})) != 1 {
			t.Errorf("%s importing %v was not caught", p.ImportPath, p.Imports)
		}
	}
	if bad := illegalImports([]listed{{"dyad/algorithms", []string{"dyad/engine", "dyad/privacy", "gonum.org/v1/gonum/mat"}}}); bad != nil {
		t.Errorf("legal imports were refused: %v", bad)
	}
}
