package command

import (
	"strings"
	"testing"

	"dyad/internal/must"
)

// TestSlipsOfTheCommandLine: what newcomers type has an answer that says what to type.
func TestSlipsOfTheCommandLine(t *testing.T) {
	dir := clinic(t, 20)
	for _, c := range []struct{ args, want string }{
		{"train --data patients.csv --schema patients.yaml --epsilon -1", "dyad: --epsilon is -1, want a number above 0\n"},
		{"train --epsilon one", "dyad: --epsilon is \"one\", want a number\n"},
		{"plan -n -5", "dyad: -n is -5, want a whole number above 0\n"},
		{"train patients.csv", "dyad: dyad train needs a flag before the file patients.csv, such as --data patients.csv\n"},
		{"fit --data patients.csv", "dyad: there is no command fit; dyad train does that\n"},
		{"predict --data patients.csv",
			"dyad: dyad predict needs model; write this argument after the command, as in dyad predict MODEL\n"},
		{"trian", "dyad: unexpected argument trian, did you mean \"train\"?\n"},
		{"foo", "dyad: there is no command foo\nRun \"dyad --help\" for usage"},
		{"train --dat patients.csv", "dyad: unknown flag --dat, did you mean \"--data\"?\nRun \"dyad train --help\" for usage"},
		{"ledger init x --cap 3", "dyad: unknown flag --cap\nRun \"dyad ledger init --help\" for usage"},
		{"predict", "Run \"dyad predict --help\" for usage"},
		{"lab audit moments --set guesses=3", "--set canaries=M/K"},
		{"baseline --dim 3", "a network has no baseline"},
		{"train --data patients.csv --schema patients.yaml --out nowhere/m.json", "create it first"},
	} {
		ends(t, dir, exitInput, c.want, strings.Fields(c.args)...)
	}
	ends(t, dir, exitInput, "psilon", "train", "--data", "patients.csv", "--schema", "patients.yaml", "--epsilon=-1")
	for args, want := range map[string]string{
		"search --help": "Usage: dyad search (--data=FILE | --plan) --schema=FILE (--candidates=FILE | " +
			"--models=FILE,...) [flags]\n",
		"threshold --help": "Usage: dyad threshold (--data=FILE | --figures=FILE) <model> [flags]\n",
		"plan --help":      "Usage: dyad plan train (--schema=FILE | --d=INT) [flags]\n",
		"help share":       "share\n  Part of a run's mu^2",
		"help basis":       "basis\n  Functions by which a column",
	} {
		must.Contain(t, mustRun(t, dir, strings.Fields(args)...), want)
	}
}
