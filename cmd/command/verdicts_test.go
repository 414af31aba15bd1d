package command

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dyad/internal/must"
)

// statedEvidence is a line of docs/verdicts.md.
type statedEvidence struct{ algorithm, command, prints string }

var evidenceLine = regexp.MustCompile("^- Evidence: `([^`]+)` prints `([^`]+)`\\.$")

// evidenceOn finds the evidence on the page of verdicts. A verdict without any has one empty line here.
func evidenceOn(page string) (all []statedEvidence) {
	for section := range strings.SplitSeq(page, "\n## ") {
		name, _, _ := strings.Cut(section, "\n")
		before := len(all)
		for line := range strings.Lines(section) {
			if m := evidenceLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				all = append(all, statedEvidence{name, m[1], m[2]})
			}
		}
		if strings.Contains(section, "\n- Verdict: ") && len(all) == before {
			all = append(all, statedEvidence{algorithm: name})
		}
	}
	return all
}

// wrongEvidence returns what is wrong with a line: a command of the program is run, a test must exist below root.
func wrongEvidence(t *testing.T, root string, e statedEvidence) string {
	t.Helper()
	if e.command == "" {
		return "the verdict has no evidence"
	}
	if args, ok := strings.CutPrefix(e.command, "dyad "); ok {
		_, out, errs := dyad(t, t.TempDir(), strings.Fields(args)...)
		if !strings.Contains(out+errs, e.prints) {
			return e.command + " does not print " + e.prints + "; it prints\n" + out + errs
		}
		return ""
	}
	m := regexp.MustCompile(`^go test \./([\w/]+) -run (Test\w+)$`).FindStringSubmatch(e.command)
	if m == nil || e.prints != "ok" {
		return e.command + " is neither of dyad nor a test that prints ok"
	}
	files := must.Get(filepath.Glob(filepath.Join(root, filepath.FromSlash(m[1]), "*_test.go")))(t)
	for _, file := range files {
		f := must.Get(parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution))(t)
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == m[2] {
				return ""
			}
		}
	}
	return "there is no test " + m[2] + " in " + m[1]
}

// TestVerdictsHaveEvidence: every verdict on docs/verdicts.md has a line of evidence, every command of the program prints what
// the line says, and every test that a line names exists.
func TestVerdictsHaveEvidence(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/verdicts.md"))(t)
	root := must.Get(filepath.Abs("../.."))(t)
	all := evidenceOn(string(page))
	if verdicts := bytes.Count(page, []byte("\n- Verdict: ")); verdicts != len(catalogue()) || len(all) < verdicts {
		t.Errorf("%d verdicts on %d algorithms, %d lines of evidence", verdicts, len(catalogue()), len(all))
	}
	for _, e := range all {
		must.Equal(t, wrongEvidence(t, root, e), "", "%s", e.algorithm)
	}
	// The control: no evidence, a number that is not printed, and a test that is not there.
	const rot = "# Verdicts\n\n## a\n\n- Verdict: false.\n- Released: all.\n\n## b\n\n- Verdict: true.\n- Evidence: `dyad version` prints `9.9.9`.\n\n" +
		"## c\n\n- Verdict: true.\n- Evidence: `go test ./privacy -run TestOfNothing` prints `ok`.\n"
	found := evidenceOn(rot)
	if len(found) != 3 {
		t.Fatalf("want three lines, found %q", found)
	}
	for _, e := range found {
		if wrongEvidence(t, root, e) == "" {
			t.Errorf("%q counts as evidence", e)
		}
	}
}
