package command

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

// refusal is a place in the source that refuses an input or a combination of options. All refusals of algorithms count
// now; before, the 23 of 67 that stood in one line did, and the limit was 300.
var refusal = regexp.MustCompile(`\b(?:badInput|input\.Errorf|lossError|Refused)\(`)

// grouped are the sections of flags that the help of each command lists by name, in one line: the page "dyad help charge" and its like
// explain them once. As options of a command these flags are counted as one.
var grouped = []string{charge, pagesOf, sourceOf, "Device. Rounding and its noise depend on the device:",
	"Performance; results and guarantees do not depend on it:"}

// TestThereIsLessToRead limits what a person has to read about options. A limit is the number of today: a change that needs
// more says so here, and one that needs less lowers it.
func TestThereIsLessToRead(t *testing.T) {
	parser := must.Get(wholeGrammar())(t)
	counts := map[string]int{}
	names, keys, groups := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, f := range parser.Model.Flags {
		counts["texts of options in docs/commands.md"]++ // in "dyad --help"
		names[f.Name] = true
	}
	for _, leaf := range parser.Model.Leaves(true) {
		counts["commands"]++
		command := leaf.Path()
		for _, f := range leaf.Flags {
			section, _ := sectionOf(f.Name)
			title := sections[section].title
			switch {
			case f.Hidden:
			case isKey(command, f.Name):
				counts["keys of all commands"]++
				keys[f.Name] = true
			default:
				names[f.Name] = true
				if !slices.Contains(grouped, title) || !shared(f, allFlags) {
					counts["flags of all commands"]++
				} else { // one line in the help of the command, and explained once
					groups[command+" "+title], groups[f.Name] = true, true
				}
			}
		}
		help := must.Get(helpOf(&app{ctx: t.Context()}, strings.Fields(leaf.FullPath())[1:]))(t)
		counts["texts of options in docs/commands.md"] += len(shownFlag.FindAllString(help, -1))
	}
	counts["texts of options in docs/commands.md"] += len(shownFlag.FindAllString(keysTopic(reference), -1))
	for _, k := range whole.keys {
		if k.set {
			counts["texts of options in docs/commands.md"]++
		}
	}
	counts["names of flags"], counts["names of keys"] = len(names), len(keys)
	counts["flags of all commands"] += len(groups)
	counts["commands by their old name"] = len(renamed)
	for _, c := range parser.Model.Children {
		if c.Group != nil {
			counts["commands in front"]++
		}
	}
	page := must.Get(os.ReadFile("../../docs/commands.md"))(t)
	counts["bytes of docs/commands.md"] = len(page)
	must.Do(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
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
	}))
	for what, most := range map[string]int{
		"commands": 57, "commands in front": 14, "commands by their old name": 13,
		"flags of all commands": 447, "names of flags": 122, "keys of all commands": 373, "names of keys": 127,
		"texts of options in docs/commands.md": 380, "refusals": 319, "bytes of docs/commands.md": 95_300,
	} {
		t.Logf("%6d %s", counts[what], what)
		if counts[what] > most || counts[what] < most*9/10 {
			t.Errorf("%d %s, and the limit is %d", counts[what], what, most)
		}
	}
}
