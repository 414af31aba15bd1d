package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// mostFlags is how many flags the first view of a command's help shows. A command with more has
// them in sections, and all of them in "dyad COMMAND --help all".
const mostFlags = 21

// The parts of a recipe, and what it leaves to each run.
const (
	guaranteed = "what is guaranteed"
	computed   = "how it is computed"
	ofRun      = "of this run"
)

// sections are those of the help of commands with many flags, in their order.
var sections = []struct{ part, title, flags string }{
	{ofRun, "Data:", "data schema n d records labels row user pairs pair-columns label-values density degree-cap pair-seed tuple all-pairs group-column group-sizes look-alike-ids follow balance public-data public-features dataset synthetic visits features"},
	{ofRun, "Candidates:", "candidates models road"},
	{guaranteed, "Model:", "model k metric task algorithm method loss loss-param loss-clip margin temperature rows radius l2 l2-grid folds bias average iterate"},
	{guaranteed, "Network, with --model:", "hidden activation dim similarity gain init init-seed jacobian-clip rate"},
	{guaranteed, "Privacy:", "mode paper-unsound epsilon delta unit kappa max-epsilon max-epochs max-direction-pairs holdout-epsilon exact-figures shuffle-delta"},
	{guaranteed, "Noise and steps; they change the mechanism:", "noise sampling noises steps rounds step-size total-step update momentum decay tail-average batch-records batch epochs clip shrink mechanisms printed-steps every buffer reservoir per-class burn-in secret-state " +
		"second-moments clip-radius ridge count-share centre-share second-share step-share gradient-share public-centre class-balance label-share response-share direction-pairs threshold threshold-step kwik-ratio kwik-delta"},
	{guaranteed, "Constants of the loss, as you assert them:", "G L Dg H radius-diameter"},
	{ofRun, "Evaluation:", "figures plan holdout split-seed splits intervals no-ceiling with regret neighbours top roc-thresholds aim at-least mean-loss loss-range reference confidence"},
	{ofRun, "Trials:", "runs time black-box canaries guesses worst-start person-rows"},
	{ofRun, "Server:", "server listen host protocol cert key ca token tokens memory check poll beat messages-per-second max-connections"},
	{computed, "Device; rounding depends on it, and so does the noise that covers rounding:", "device precision store"},
	{computed, "Performance; results and guarantees do not depend on it:", "workers parallel team team-deadline part part-out merge retry checkpoint-every"},
	{ofRun, "Output and ledger:", "out onnx sql python go npz safetensors table curves format force unknown yes dir state resume ledger data-id seed plot report approved study institution purpose responsible language needs track"},
}

// firstFlags are in the first view.
var firstFlags = words("data schema n d records state pairs out public-data candidates models k metric splits " +
	"task algorithm epsilon delta holdout holdout-epsilon max-epsilon with plan reference runs time plot server dir listen protocol cert key token memory")

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

// view is how much the help of a command shows.
type view int

const (
	firstView view = iota
	allFlags       // all of them: those that several commands take by name, unless they are in the first view
	reference      // the same, for the page that has the text of those
)

// allHelp takes "all" behind --help out of the arguments, and returns what is asked for.
func allHelp(args []string) (rest []string, all view) {
	for i, a := range args {
		switch {
		case a == "--":
			return append(rest, args[i:]...), all
		case a == "--help=reference":
			rest, all = append(rest, "--help"), reference
		case a == "--help-all" || a == "--help=all":
			rest, all = append(rest, "--help"), allFlags
		case a == "all" && i > 0 && args[i-1] == "--help":
			all = allFlags
		default:
			rest = append(rest, a)
		}
	}
	return rest, all
}

// bySection compares flags by their place in the sections.
func bySection(a, b *kong.Flag) int {
	s, p := sectionOf(a.Name)
	t, q := sectionOf(b.Name)
	return cmp.Or(cmp.Compare(s, t), cmp.Compare(p, q))
}

// printHelp prints the help of a command: its own flags and those of the first view with their text, keys by name. Without all, a
// command with many flags shows the first view only. The flags of all commands stand in "dyad --help".
func printHelp(all view) kong.HelpPrinter {
	return func(o kong.HelpOptions, ctx *kong.Context) error {
		command := ctx.Selected()
		if command == nil && all == reference {
			return writeReference(ctx.Stdout, ctx.Model.Node, nil)
		}
		if command == nil {
			return printCommands(all == allFlags, o, ctx)
		}
		if _, err := wholeGrammar(); err != nil {
			return err
		}
		isKey := func(f *kong.Flag) bool {
			return (all == reference || !slices.Contains(firstFlags, f.Name)) && slices.ContainsFunc(whole.keys, func(k key) bool { return k.flag.Name == f.Name && k.flag.Help == f.Help })
		}
		for _, f := range ctx.Model.Flags {
			f.Hidden = true
		}
		for n := command; n != nil; n = n.Parent {
			n.Group = nil // its job in "dyad --help"
		}
		slices.SortStableFunc(command.Flags, bySection)
		var named []*kong.Flag
		count, hidden := 0, 0
		many := len(command.Flags) > mostFlags
		for _, f := range command.Flags {
			if f.Hidden {
				continue
			}
			f.Help = cmp.Or(f.Help, whole.texts[f.Name])
			count++
			switch s, _ := sectionOf(f.Name); {
			case isKey(f):
				f.Hidden = true
				named = append(named, f)
			case many && all == firstView && !slices.Contains(firstFlags, f.Name):
				f.Hidden = true
				hidden++
			case many:
				f.Group = &kong.Group{Key: sections[s].title, Title: sections[s].title}
			}
		}
		if all == reference {
			return writeReference(ctx.Stdout, command, named)
		}
		if err := kong.DefaultHelpPrinter(o, ctx); err != nil {
			return err
		}
		if many && all == firstView {
			count, hidden, named = count-hidden-len(named), count, nil
			fmt.Fprintf(ctx.Stdout, "\nThese are %d of %d flags; \"%s --help all\" shows all.\n", count, hidden, command.FullPath())
		}
		writeKeys(ctx.Stdout, named)
		if all == firstView {
			fmt.Fprint(ctx.Stdout, "\n\"dyad --help\" has the flags of every command, such as --json.\n")
		}
		return nil
	}
}

// writeReference writes the help of a command for the page of all commands, which has the texts of named once.
func writeReference(w io.Writer, command *kong.Node, named []*kong.Flag) error {
	var b strings.Builder
	if usage := strings.TrimSuffix(command.Summary(), " [flags]"); usage != command.Path() && command.Parent != nil { // else it is the title
		fmt.Fprintf(&b, "Usage: dyad %s\n\n", usage)
	}
	for text := range strings.SplitSeq(command.Help, "\n\n") {
		b.WriteString(folded("", text))
	}
	b.WriteString("\n")
	if command.Detail != "" {
		fmt.Fprintf(&b, "%s\n\n", strings.TrimSpace(command.Detail))
	}
	for _, p := range command.Positional {
		b.WriteString(behind(p.Summary(), p.Help))
	}
	for _, f := range command.Flags {
		if !f.Hidden {
			b.WriteString(behind(flagHead(f), f.Help))
		}
	}
	if len(named) > 0 {
		b.WriteString(behind("Also", alsoTakes(command, named)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// behind is a text behind its head.
func behind(head, text string) string { return "  " + foldedAt(120, "    ", head+": "+text)[4:] }

// alsoTakes lists names of flags; it names the flags of an earlier command together if that is much shorter.
func alsoTakes(command *kong.Node, named []*kong.Flag) string {
	has := func(flags []*kong.Flag, name string) bool {
		return slices.ContainsFunc(flags, func(f *kong.Flag) bool { return f.Name == name })
	}
	list := func(flags []*kong.Flag, but func(name string) bool) (text string) {
		for _, f := range flags {
			if !f.Hidden && !but(f.Name) {
				text += " --" + f.Name
			}
		}
		return text
	}
	names := ""
	for _, f := range named {
		names += " --" + f.Name
	}
	best := names
	for _, other := range whole.parser.Model.Leaves(true) {
		if other.FullPath() == command.FullPath() {
			break
		}
		text := " the flags of " + other.FullPath()
		if without := list(other.Flags, func(name string) bool { return has(command.Flags, name) }); without != "" {
			text += " but" + without
		}
		rest := ""
		for _, f := range named {
			if !has(other.Flags, f.Name) {
				rest += " --" + f.Name
			}
		}
		if rest != "" {
			text += ", and" + rest
		}
		if len(text) < len(best) && len(text) < len(names)*2/3 {
			best = text
		}
	}
	return strings.TrimSpace(best)
}

// printCommands prints the commands of the program by job, and the names of the others; or all of them.
func printCommands(all bool, o kong.HelpOptions, ctx *kong.Context) error {
	o.NoExpandSubcommands = !all
	var others []string
	ctx.Model.Children = slices.DeleteFunc(ctx.Model.Children, func(c *kong.Node) bool {
		if c.Group != nil || c.Hidden {
			return false
		}
		c.Group = &kong.Group{Key: "others", Title: "Others:"}
		others = append(others, c.Name)
		return !all
	})
	if err := kong.DefaultHelpPrinter(o, ctx); err != nil || all {
		return err
	}
	_, err := fmt.Fprint(ctx.Stdout, folded("", "Others are "+strings.Join(others, ", ")+"; \"dyad --help all\" lists every command."))
	return err
}
