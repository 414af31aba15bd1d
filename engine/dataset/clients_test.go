package dataset

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dyad/internal/must"
)

// TestPythonHasASentenceForEveryRule: the Python client says each rule in its own words, or lists it among those of files that Python
// does not write. A rule is told by its words before the first semicolon.
func TestPythonHasASentenceForEveryRule(t *testing.T) {
	files := must.Get(filepath.Glob("*/*.go"))(t) // of the rooms
	var source []byte
	for _, name := range append(files, "rules.go") {
		if name == filepath.FromSlash("schema/ids.go") { // of pairs
			continue
		}
		text := must.Get(os.ReadFile(name))(t)
		source = append(source, text...)
	}
	source = regexp.MustCompile(`" \+\n\t*"`).ReplaceAll(source, nil) // texts of several lines
	python := must.Get(os.ReadFile("../../clients/python/dyad_dp/_sentences.py"))(t)
	table, rest, _ := strings.Cut(string(python), "\nELSEWHERE = (")
	elsewhere, _, _ := strings.Cut(rest, "\n)")
	rules := regexp.MustCompile(`(?m)^(?:\t|const )[rR]ule\w+ += "((?:[^"\\]|\\.)*)"$`).FindAllStringSubmatch(string(source), -1)
	if len(rules) < 80 {
		t.Fatalf("%d rules found", len(rules))
	}
	for _, r := range rules {
		what, _, _ := strings.Cut(strings.ReplaceAll(r[1], `\"`, `"`), "; ")
		found := strings.Contains(table, "\n    \""+what+"\": (")
		for _, part := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(elsewhere, -1) {
			found = found || strings.HasPrefix(what, part[1])
		}
		if !found {
			t.Errorf("clients/python/dyad_dp/_sentences.py has no sentence for %q: add it to RULES, or to ELSEWHERE if no array or DataFrame can break it", what)
		}
	}
}
