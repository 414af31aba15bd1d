package command

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"dyad/internal/must"
	"dyad/privacy"
)

// A command of an old name is the command of the new one, with a note that --quiet leaves out. A file or a value with such a name
// is none.
func TestOldNamesWork(t *testing.T) {
	dir := t.TempDir()
	for _, r := range renamed {
		if r.flags != "" || r.short {
			continue
		}
		old, name := r.command, r.now
		want := append(strings.Fields(name), "x")
		for _, front := range [][]string{nil, {"--json"}, {"--config", "audit"}, {"help"}} {
			got, note := currentNames(slices.Concat(front, []string{old, "x"}))
			if !slices.Equal(got, slices.Concat(front, want)) || !strings.Contains(note, "dyad "+name) {
				t.Errorf("%v %s: %v, %q", front, old, got, note)
			}
		}
		if one, other := mustRun(t, dir, old, "--help"), mustRun(t, dir, append(strings.Fields(name), "--help")...); one != other || !strings.Contains(one, "Usage: dyad "+name) {
			t.Errorf("dyad %s --help: %s", old, one)
		}
		must.Contain(t, mustRun(t, dir, "man", old), ".B dyad "+name)
	}
	for _, args := range [][]string{{"report", "audit"}, {"lab", "audit"}, {"train", "--out", "curve"}, {"--log-format", "audit"}} {
		if got, note := currentNames(args); !slices.Equal(got, args) || note != "" {
			t.Errorf("%v: %v, %q", args, got, note)
		}
	}
	want := mustRun(t, dir, "lab", "losses", "check", "-u")
	r := ran(t, dir, "losses", "check", "-u").exits(exitOK).printsOnly(want)
	r.want(r.errs == "dyad: dyad losses is now dyad lab losses; the old name works, too\n", "the new name")
	ran(t, dir, "-q", "losses", "check", "-u").exits(exitOK).printsOnly("").warnsNothing()
}

// A flag is explained by its name, with the commands that take it; a name of a command is the command's.
func TestHelpOnAFlag(t *testing.T) {
	for name, want := range map[string]string{"steps": "Number of full-batch steps", "--epsilon": "Epsilon to spend.", "step-size": "Of plan train, plan compare, train", "report": "Usage: dyad report", "audit": "Usage: dyad lab audit"} {
		must.Contain(t, mustRun(t, t.TempDir(), "help", name), want)
	}
	must.Contain(t, strings.Join(strings.Fields(mustRun(t, t.TempDir(), "help", "step-size")), " "), "lab audit records")
}

// What was a mode of a command by a flag is a command of its own: the flag makes it that command, also in a file of --config. A flag
// with which the modes excluded each other leaves it, and the parser refuses what cannot be combined.
func TestModesAreCommands(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, dir, "public.yaml", "public-data: true\n")
	write(t, dir, "budget.yaml", "epsilon: 1\npublic-data: true\n")
	write(t, dir, "none.yaml", "mode: nonprivate\nepsilon: 3\n")
	for _, c := range []struct{ typed, want, note string }{
		{"evaluate m --data d --public-data", "evaluate exact m --data d --public-data", "dyad evaluate --public-data is now dyad evaluate exact"},
		{"--json evaluate m --exact-figures", "--json evaluate exact m --exact-figures", "dyad evaluate --exact-figures is now"},
		{"evaluate m --config public.yaml", "evaluate exact m --config public.yaml", "is now dyad evaluate exact"},
		{"evaluate m --config budget.yaml", "evaluate private m --config budget.yaml", ""},
		{"evaluate m --public-data --epsilon 1", "evaluate private m --public-data --epsilon 1", ""},
		{"evaluate m --public-data=false --epsilon=1", "evaluate private m --public-data=false --epsilon=1", ""},
		{"evaluate m --compare o --epsilon 1", "evaluate compare m --compare o --epsilon 1", "dyad evaluate --compare is now dyad evaluate compare"},
		{"evaluate m --data d -- --compare", "evaluate private m --data d -- --compare", ""},
		{"evaluate exact m --public-data", "evaluate exact m --public-data", ""},
		{"evaluate private m --public-data", "evaluate private m --public-data", ""},
		{"plan --compare -n 5 -d 3", "plan compare -n 5 -d 3", "dyad plan --compare is now dyad plan compare"},
		{"plan -n 5 -d 3 --compare=true", "plan compare -n 5 -d 3", "is now dyad plan compare"},
		{"plan -n 5 -d 3", "plan train -n 5 -d 3", ""},
		{"train --mode nonprivate --steps 3", "baseline --steps 3", "dyad train --mode nonprivate is now dyad baseline"},
		{"train --steps 3 --mode=nonprivate", "baseline --steps 3", "dyad train --mode nonprivate is now dyad baseline"},
		{"train --config none.yaml", "baseline --config none.yaml", "is now dyad baseline"},
		{"train --config none.yaml --mode paper", "train --config none.yaml --mode paper", ""},
		{"train --mode paper", "train --mode paper", ""},
		{"train --out nonprivate --mode", "train --out nonprivate --mode", ""},
		{"help evaluate", "help evaluate private", ""},
	} {
		got, note := currentNames(strings.Fields(c.typed))
		if strings.Join(got, " ") != c.want || !strings.Contains(note, c.note) || (note == "") != (c.note == "") {
			t.Errorf("%s: %v, %q", c.typed, got, note)
		}
	}
}

// A baseline is what dyad train does in mode nonprivate: the same model, without a guarantee, and on private data charged as a release
// without one. A recipe with a budget is taken, and its budget is not.
func TestBaselineIsTheModeOfTrain(t *testing.T) {
	dir := clinic(t, 120)
	write(t, dir, "recipe.yaml", "epsilon: 3\nmode: certified\nclip-radius: 2\nsteps: 40\n")
	data := []string{"--data", "patients.csv", "--schema", "patients.yaml", "--verbose"}
	for name, args := range map[string][]string{
		"old.json": {"train", "--mode", "nonprivate", "--steps", "40", "--epsilon", "2", "--public-data"}, "new.json": {"baseline", "--steps", "40", "--public-data"},
		"recipe.json": {"baseline", "--config", "recipe.yaml", "--public-data"}, "charged.json": {"baseline", "--steps", "40", "--yes"},
	} {
		if code, out, errs := dyad(t, dir, append(append(args, data...), "--out", name)...); code != exitOK || !strings.Contains(out, "no privacy guarantee") && !strings.Contains(out, "guarantee   none") {
			t.Fatalf("%s: exit %d: %s%s", name, code, out, errs)
		}
	}
	first := must.Get(readModel("new.json"))(t)
	for _, name := range []string{"old.json", "recipe.json", "charged.json"} {
		m, err := readModel(name)
		if err != nil || !slices.Equal(m.Weights, first.Weights) || m.Guarantee.Kind != map[bool]privacy.Kind{true: privacy.None, false: first.Guarantee.Kind}[name == "charged.json"] {
			t.Errorf("%s: %v, %v, %+v; the baseline has %v", name, err, m.Weights, m.Guarantee, first.Weights)
		}
	}
	ends(t, dir, exitInput, "--yes", append([]string{"baseline", "--out", "asked.json"}, data...)...)
	if out := mustRun(t, dir, "ledger", "show"); !strings.Contains(out, "no finite epsilon") && !strings.Contains(out, "infinite") && !strings.Contains(out, "Inf") {
		t.Errorf("%s", out)
	}
}

// A flag of an old name is the flag of today, on the command line and in a file of --config, and no other flag of its command has the name.
func TestOldNamesOfFlagsWork(t *testing.T) {
	dir := t.TempDir()
	parser := must.Get(wholeGrammar())(t)
	old := map[string]bool{}
	for _, leaf := range parser.Model.Leaves(false) {
		for _, f := range leaf.Flags {
			for _, alias := range f.Aliases {
				old[alias] = true
				if slices.ContainsFunc(leaf.Flags, func(o *kong.Flag) bool { return o.Name == alias }) {
					t.Errorf("%s: --%s is a flag, and an old name of --%s", leaf.FullPath(), alias, f.Name)
				}
			}
		}
	}
	for typed, now := range map[string]string{
		"account --sigma 20 --group 3": "account --sigma 20 --person-rows 3",
		"local plan --users 30 -d 3 --model mlp --hidden 2 --gradient-clip 1 --rate 3":        "local plan -n 30 -d 3 --model mlp --hidden 2 --clip 1 --step-size 3",
		"local plan -n 30 -d 3 --threshold 0.5":                                               "local plan -n 30 -d 3 --curriculum 0.5",
		"local audit djw --visits 2 --runs 200":                                               "local audit djw --epochs 2 --runs 200",
		"plan -n 50 -d 3 --alpha 0.5 --algorithm dpgdsc":                                      "plan -n 50 -d 3 --l2 0.5 --algorithm dpgdsc",
		"plan -n 50 -d 3 --path 0.5 --algorithm dpgdc":                                        "plan -n 50 -d 3 --total-step 0.5 --algorithm dpgdc",
		"lab curve --records 100 --epsilons 1 --algorithms moments --splits 1 --split-seed 7": "lab curve --records 100 --epsilon 1 --algorithm moments --splits 1 --public-seed 7",
	} {
		text := regexp.MustCompile(` --?(\S+) (\S+)`).ReplaceAllString(typed[strings.Index(typed, " -"):], "$1: $2\n")
		write(t, dir, "old.yaml", text)
		want := mustRun(t, dir, strings.Fields(now)...)
		ran(t, dir, strings.Fields(typed)...).exits(exitOK).warns("have another name: --").printsOnly(want)
		must.Equal(t, mustRun(t, dir, append(strings.Fields(typed[:strings.Index(typed, " -")]), "--config", "old.yaml")...), want, "%s in a file", typed)
		for _, name := range []string{"group", "users", "gradient-clip", "alpha", "path", "epsilons", "algorithms", "rate", "threshold", "visits", "split-seed"} {
			if strings.Contains(typed, "--"+name+" ") {
				delete(old, name)
			}
		}
	}
	for _, name := range []string{"compare", "devices", "to", "start-seed", "check", "rows"} { // in TestCompareTwoModels, and in those of the commands
		if !old[name] {
			t.Errorf("--%s is no old name", name)
		}
		delete(old, name)
	}
	if len(old) > 0 {
		t.Errorf("these old names are in no row: %v", old)
	}
}
