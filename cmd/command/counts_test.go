package command

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// refusal is a place in the source that refuses an input or a combination of options.
var refusal = regexp.MustCompile(`\b(?:badInput|input\.Errorf)\(|\("%w[^\n]*ErrAssumption`)

// TestThereIsLessToRead limits what a person has to read about options. A limit is the number of today: a change that needs
// more says so here, and one that needs less lowers it.
func TestThereIsLessToRead(t *testing.T) {
	whole, err := wholeGrammar()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	names := map[string]bool{}
	for _, f := range whole.Model.Flags {
		counts["texts of flags in docs/commands.md"]++ // in "dyad --help"
		names[f.Name] = true
	}
	for _, leaf := range whole.Model.Leaves(true) {
		counts["commands"]++
		for _, f := range leaf.Flags {
			if !f.Hidden {
				counts["flags of all commands"]++
				names[f.Name] = true
			}
		}
		help, err := helpOf(&app{ctx: t.Context()}, strings.Fields(leaf.FullPath())[1:])
		if err != nil {
			t.Fatal(err)
		}
		counts["texts of flags in docs/commands.md"] += len(shownFlag.FindAllString(help, -1))
	}
	counts["texts of flags in docs/commands.md"] += len(shownFlag.FindAllString(keysTopic(reference), -1))
	counts["names of flags"] = len(names)
	counts["commands by their old name"] = len(renamed)
	for _, c := range whole.Model.Children {
		if c.Group != nil {
			counts["commands in front"]++
		}
	}
	page, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	counts["bytes of docs/commands.md"] = len(page)
	if err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bench", "clients", "shared", "docs"}, d.Name()):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		counts["refusals"] += len(refusal.FindAll(source, -1))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for what, most := range map[string]int{
		"commands": 57, "commands in front": 14, "commands by their old name": 13, "flags of all commands": 881, "names of flags": 241, // a mode that is a command repeats the flags that it shares
		"texts of flags in docs/commands.md": 388, "refusals": 387, "bytes of docs/commands.md": 98_800,
	} {
		t.Logf("%6d %s", counts[what], what)
		if counts[what] > most || counts[what] < most*9/10 {
			t.Errorf("%d %s, and the limit is %d", counts[what], what, most)
		}
	}
}
