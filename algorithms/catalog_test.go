package algorithms_test

import (
	"fmt"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/docs"
)

// TestCatalogueIsRead: the page of the catalogue is, line by line, what the algorithms say. A label that nothing reads, a section without an
// algorithm and an algorithm without a section differ.
func TestCatalogueIsRead(t *testing.T) {
	var page strings.Builder
	write := func(i algorithms.Info) {
		fmt.Fprintf(&page, "\n## %s\n\n- Title: %s\n- Paper: %s\n", i.Name, i.Title, i.Paper)
		for _, a := range i.Assumptions {
			fmt.Fprintf(&page, "- Assumes: %s\n", a)
		}
		fmt.Fprintf(&page, "- Released: %s\n- Claim: %s\n- Verdict: %s\n", i.Released, i.Claim, i.Verdict)
		for _, some := range [][2]string{{"Unsound", i.Unsound}, {"Persons", i.NoPersons}, {"Groups", i.NoGroups}, {"Paper mode", i.NoPaper}, {"L2 term", i.NoL2}} {
			if some[1] != "" {
				fmt.Fprintf(&page, "- %s: %s\n", some[0], some[1])
			}
		}
		fmt.Fprintf(&page, "\n```\n%s\n```\n", i.Maths)
	}
	for _, a := range algorithms.Catalog() {
		write(a.Info())
	}
	for _, s := range algorithms.StreamCatalog() {
		write(s.Info())
	}
	write(pairs.Info())
	write(pairs.TuplesInfo())
	if _, sections, _ := strings.Cut(docs.Catalogue, "\n## "); "\n## "+sections != page.String() {
		t.Error("docs/catalogue.md is not what the algorithms say of themselves")
	}
}
