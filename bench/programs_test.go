package bench_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
)

// notNamed are the folders with a program that a page does not name.
func notNamed(page string, programs []string) (missing []string) {
	for _, p := range programs {
		dir := filepath.ToSlash(filepath.Dir(p))
		if !strings.Contains(page, " ./"+dir+" ") && !strings.Contains(page, " ./"+dir+"`") && !strings.Contains(page, "bench/"+dir+"/") {
			missing = append(missing, dir)
		}
	}
	return missing
}

// TestReadmeNamesEveryProgram: README.md is the one page of all commands of the laboratory.
func TestReadmeNamesEveryProgram(t *testing.T) {
	page := must.Get(os.ReadFile("README.md"))(t)
	var programs []string
	for _, pattern := range []string{"*/main.go", "*/*.sh"} {
		found := must.Get(filepath.Glob(pattern))(t)
		programs = append(programs, found...)
	}
	if len(programs) < 12 {
		t.Fatalf("only %q were found", programs)
	}
	for _, dir := range notNamed(string(page), programs) {
		t.Errorf("README.md does not name %s", dir)
	}
	// The control: a program that was added and not named, with a name that begins like another.
	if got := notNamed(string(page), append(programs, "pair/main.go")); len(got) != 1 {
		t.Errorf("not named: %q, want pair", got)
	}
}
