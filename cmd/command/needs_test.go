package command

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// A flag that needs another one is refused without it, and flags that exclude each other are refused together. What a tag names is a flag of
// the same command, and a group of flags has two or more.
func TestFlagsThatNeedOrExclude(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"search --candidates c.yaml --schema s.yaml --data d.csv -n 5": "-n is for --plan",
		"cluster -k 2 --schema s.yaml --data d.csv -n 5":               "-n is for --plan",
		"data synth a.csv --persons 30":                                "--persons is for --visits",
		"data synth a.csv --visits --held-out-schema s.yaml":           "--held-out-schema is for --held-out",
		"plan -n 100 -d 5 --schema s.yaml":                             "exclude each other",
		"pairs plan -n 100 -d 5 --schema s.yaml --pairs 100":           "exclude each other",
		"plan -n 100 -d 5 --H 1 --total-step 1":                        "exclude each other",
		"plan -n 100 -d 5 --radius 1 --radius-diameter 1":              "exclude each other",
		"lab curve --part 1/2 --merge x":                               "--part and --merge exclude each other",
	} {
		if code, out, errs := dyad(t, dir, strings.Fields(args)...); code != exitInput || !strings.Contains(errs, want) {
			t.Errorf("dyad %s: exit %d: %s%s; want %q", args, code, out, errs, want)
		}
	}
	parser, err := newParser(&cli{}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	needs := 0
	for _, leaf := range parser.Model.Leaves(false) {
		for _, f := range leaf.Flags {
			if other := f.Tag.Get("needs"); other != "" {
				needs++
				if !slices.ContainsFunc(leaf.Flags, func(o *kong.Flag) bool { return o.Name == other }) {
					t.Errorf("%s --%s needs --%s, which is not there", leaf.FullPath(), f.Name, other)
				}
			}
		}
	}
	if needs < 10 {
		t.Errorf("%d flags need another one", needs)
	}
}
