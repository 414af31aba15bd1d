package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// mostFlags is how many flags the first view of a command's help shows. A command with more has
// them in sections, and all of them in "dyad COMMAND --help all".
const mostFlags = 21

// sections are those of the help of commands with many flags, in their order.
var sections = []struct{ title, flags string }{
	{"Data:", "data schema store n d users records labels row user pairs pair-columns label-values density degree-cap pair-seed tuple all-pairs group-column group-sizes look-alike-ids follow balance public-data public-features dataset synthetic visits features"},
	{"Candidates:", "candidates models road"},
	{"Model:", "model k metric start-seed task algorithm algorithms method loss loss-param loss-clip margin temperature rows radius l2 l2-grid folds bias average iterate"},
	{"Network, with --model mlp:", "hidden activation dim similarity gain init init-seed jacobian-clip gradient-clip rate"},
	{"Privacy:", "mode paper-unsound epsilon epsilons delta unit kappa max-epsilon max-epochs max-direction-pairs holdout-epsilon exact-figures shuffle-delta"},
	{"Noise and steps; they change the mechanism:", "noise sampling noises steps rounds step-size total-step update momentum decay tail-average batch-records batch epochs clip shrink mechanisms printed-steps every buffer reservoir per-class burn-in secret-state " +
		"second-moments clip-radius ridge count-share centre-share second-share step-share gradient-share public-centre class-balance label-share response-share direction-pairs threshold threshold-step kwik-ratio kwik-delta"},
	{"Constants of the loss, as you assert them:", "G L Dg H radius-diameter"},
	{"Evaluation:", "figures plan holdout holdout-records split-seed splits intervals no-ceiling compare regret neighbours top roc-thresholds aim at-least mean-loss loss-range reference confidence"},
	{"Trials:", "runs time black-box canaries guesses worst-start person-rows"},
	{"Server:", "server listen host protocol cert key ca token tokens memory check poll beat messages-per-second max-connections"},
	{"Device; rounding depends on it, and so does the noise that covers rounding:", "device precision"},
	{"Performance; results and guarantees do not depend on it:", "workers parallel team team-deadline part part-out merge retry checkpoint-every"},
	{"Output and ledger:", "out onnx sql python go npz safetensors table curves format force unknown yes dir state resume ledger data-id seed plot report approved study institution purpose responsible language needs track"},
}

// firstFlags are in the first view.
var firstFlags = words("help json quiet verbose data schema n d users records state pairs tuple out public-data " +
	"candidates models model k metric algorithms epsilons splits task algorithm method loss radius mode epsilon delta unit kappa every holdout holdout-records holdout-epsilon " +
	"shuffle-delta max-epsilon compare plan reference runs time plot server dir listen protocol cert key token memory resume ledger")

func words(s string) []string { return strings.Fields(s) }

// sectionOf is the index of a flag's section, and its place there.
func sectionOf(name string) (section, place int) {
	for i, s := range sections {
		if p := slices.Index(words(s.flags), name); p >= 0 {
			return i, p
		}
	}
	last := len(sections) - 1
	return last, len(sections[last].flags)
}

// allHelp takes "all" behind --help out of the arguments, and says whether it was there.
func allHelp(args []string) (rest []string, all bool) {
	for i, a := range args {
		switch {
		case a == "--":
			return append(rest, args[i:]...), all
		case a == "--help-all" || a == "--help=all":
			rest, all = append(rest, "--help"), true
		case a == "all" && i > 0 && args[i-1] == "--help":
			all = true
		default:
			rest = append(rest, a)
		}
	}
	return rest, all
}

// printHelp prints the help of a command, with all flags or those of the first view.
func printHelp(all bool) kong.HelpPrinter {
	return func(o kong.HelpOptions, ctx *kong.Context) error {
		command := ctx.Selected()
		if command == nil {
			return kong.DefaultHelpPrinter(o, ctx)
		}
		count, hidden := 0, 0
		for _, level := range command.AllFlags(true) {
			count += len(level)
		}
		if count > mostFlags {
			for _, f := range command.Flags {
				s, _ := sectionOf(f.Name)
				f.Group = &kong.Group{Key: sections[s].title, Title: sections[s].title}
				if !all && !f.Hidden && !slices.Contains(firstFlags, f.Name) {
					f.Hidden = true
					hidden++
				}
			}
			for _, f := range ctx.Model.Flags { // of all commands
				if !all && f.Name == "log-format" {
					f.Hidden = true
					hidden++
				}
			}
			slices.SortStableFunc(command.Flags, func(a, b *kong.Flag) int {
				s, p := sectionOf(a.Name)
				t, q := sectionOf(b.Name)
				return cmp.Or(cmp.Compare(s, t), cmp.Compare(p, q))
			})
		}
		if err := kong.DefaultHelpPrinter(o, ctx); err != nil || hidden == 0 {
			return err
		}
		_, err := fmt.Fprintf(ctx.Stdout, "\nThese are %d of %d flags; \"%s --help all\" shows all.\n", count-hidden, count, command.FullPath())
		return err
	}
}
