package command

import (
	"slices"
	"strings"
	"testing"

	"dyad/internal/sizes"
)

// TestFormulaWithMinus: every command that takes a formula takes one with a leading minus,
// after = and as a word of its own.
func TestFormulaWithMinus(t *testing.T) {
	sizes.NotShort(t, "slow")
	const formula = "-log(sigmoid(u))"
	for _, command := range []string{
		"train --epsilon 1 --steps 1 --algorithm gradient-perturbation --step-size 0.1",
		"plan -n 1000 -d 3 --epsilon 1 --steps 1 --algorithm gradient-perturbation --step-size 0.1",
		"local plan -n 100 -d 2 --epsilon 1", "local simulate -n 100 --epsilon 1",
		"local audit djw --runs 200",
	} {
		for _, loss := range [][]string{{"--loss=" + formula}, {"--loss", formula}, {"--loss", "-u"}, {"--loss=-u"}} {
			args := append(strings.Fields(command), loss...)
			mustRun(t, t.TempDir(), append(args, "--json")...)
		}
	}
	r := ran(t, t.TempDir(), "lab", "audit", "gradient-perturbation", "--runs", "100", "--loss", formula)
	r.want(r.code != exitInput, "a run")
	for _, args := range [][]string{
		{"lab", "losses", "check", formula}, {"lab", "losses", "check", "-u"}, {"lab", "losses", "check", "-n", "50", "-u^2", "-d", "3"},
		{"lab", "losses", "check", "-normcdf(u)", "--radius", "2"}, {"lab", "losses", "check", "--json", "--", "-u"}, {"--json", "lab", "losses", "check", "-2*u"},
	} {
		ran(t, t.TempDir(), args...).exits(exitOK).prints("-")
	}
	// A flag without its value is noticed, and short flags stay flags.
	for _, args := range [][]string{{"train", "--loss", "--json"}, {"train", "--loss"}, {"lab", "losses", "check", "-x", "u"}} {
		ran(t, t.TempDir(), args...).exits(exitInput)
	}
	for _, args := range []string{"lab losses check u -q", "lab losses check -n100 u -d 3", "lab losses check --radius=2 -h", "lab losses list -x", "train --loss -u", "lab losses check -- -u"} {
		if got := minusFormula(strings.Fields(args)); !slices.Equal(got, strings.Fields(args)) {
			t.Errorf("%s became %v", args, got)
		}
	}
}
