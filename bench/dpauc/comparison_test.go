package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"dyad/internal/must"
)

var (
	comparedRow = regexp.MustCompile(`(?m)^\| (\w+), (\d+), (\d+) \|(.*)\|$`)
	peers       = []string{"auto", "opacus-dpsgd", "jax-privacy", "diffprivlib", "logistic-regression"}
)

// comparisonDefects says which rows of docs/comparison.md are not those of the generated pages.
func comparisonDefects(comparison, attack, auc string) (defects []string) {
	found := 0
	for line := range strings.Lines(comparison) {
		if strings.HasPrefix(line, "| opacus |") {
			if found++; !strings.Contains(attack, line) {
				defects = append(defects, "not a row of the attack: "+line)
			}
		}
	}
	for _, m := range comparedRow.FindAllStringSubmatch(comparison, -1) {
		_, section, _ := strings.Cut(auc, fmt.Sprintf("## %s, n = %s, d = %s\n", m[1], m[2], m[3]))
		section, _, _ = strings.Cut(section, "\n## ")
		for i, cell := range strings.Split(m[4], "|") {
			cell = strings.Trim(cell, " *")
			if found++; !strings.Contains(section, fmt.Sprintf("| %s | %s |", peers[i], cell)) {
				defects = append(defects, fmt.Sprintf("%s, %s: %s", m[1], peers[i], cell))
			}
		}
	}
	if found < 5+7*len(peers) {
		defects = append(defects, fmt.Sprintf("only %d figures", found))
	}
	return defects
}

// TestComparisonQuotesThePages: the figures of docs/comparison.md are those of docs/dpauc.md and
// docs/pairwise-dpsgd.md, which TestPagesAreMadeOfTheRawFiles compares with the raw files.
func TestComparisonQuotesThePages(t *testing.T) {
	var text [3]string
	for i, name := range []string{"comparison", "pairwise-dpsgd", "dpauc"} {
		b := must.Get(os.ReadFile("../../docs/" + name + ".md"))(t)
		text[i] = string(b)
	}
	if d := comparisonDefects(text[0], text[1], text[2]); d != nil {
		t.Errorf("docs/comparison.md: %q", d)
	}
	// The control: other figures are found.
	for _, c := range [][2]string{{"**3.33**", "**3.34**"}, {"0.814 ±", "0.815 ±"}, {"**0.978 ±", "**0.979 ±"}, {"| bank, 4000", "| bank, 5000"}} {
		if comparisonDefects(strings.Replace(text[0], c[0], c[1], 1), text[1], text[2]) == nil {
			t.Errorf("%s for %s is not found", c[1], c[0])
		}
	}
}
