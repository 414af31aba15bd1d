package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// mostFlags is the largest number of flags in the first view of a command's help. A command with more flags
// lists them in sections. "dyad COMMAND --help all" shows all flags.
const mostFlags = 21

// The parts of a recipe, and the part that each run sets itself.
const (
	guaranteed = "what is guaranteed"
	computed   = "how it is computed"
	ofRun      = "of this run"
)

// The titles of groups of flags that commands share.
const (
	charge   = "Charge:"
	pagesOf  = "Pages and files:"
	sourceOf = "Source of pairs:"
)

// sections lists, in order, the sections of the help of commands with many flags. The keys of a section are options
// that most runs leave at their defaults. A command line sets a key by --set KEY=VALUE, and a file of --config sets
// it like any other option. Its name as a flag is still accepted as an old name.
var sections = []struct{ part, title, flags, keys string }{
	{ofRun, "Data:", "data schema n d records labels user pairs public-data group-column dataset follow visits",
		"row visit-rows pair-columns label-values pair-seed group-sizes look-alike-ids balance public-features " +
			"synthetic features"},
	{ofRun, sourceOf, "density degree-cap tuple all-pairs", ""},
	{ofRun, "Candidates:", "candidates models", "road"},
	{guaranteed, "Model:", "model k metric task algorithm method loss rows",
		"radius loss-param loss-clip margin temperature l2 l2-grid folds bias average iterate"},
	{guaranteed, "Network, with --model:", "", "init hidden activation dim similarity gain init-seed jacobian-clip"},
	{guaranteed, "Privacy:", "mode paper-unsound epsilon delta unit kappa max-epsilon holdout-epsilon exact-figures",
		"max-epochs max-direction-pairs shuffle-delta"},
	{guaranteed, "Noise and steps; they change the mechanism:", "mechanisms rate",
		"curriculum noise sampling noises steps rounds step-size total-step update momentum decay tail-average " +
			"batch-records batch epochs clip shrink printed-steps every buffer reservoir per-class burn-in secret-state " +
			"second-moments clip-radius ridge count-share centre-share second-share step-share gradient-share public-centre " +
			"class-balance label-share response-share direction-pairs threshold-step kwik-ratio kwik-delta"},
	{guaranteed, "Constants of the loss, as you assert them:", "", "G L Dg H radius-diameter"},
	{ofRun, "Evaluation:", "figures plan holdout splits with neighbours aim at-least reference threshold",
		"confidence split-seed public-seed intervals no-ceiling regret top leave-out roc-thresholds mean-loss loss-range"},
	{ofRun, "Trials:", "runs time", "black-box canaries worst-start person-rows choose-interactions"},
	{ofRun, "Server:", "server listen protocol cert key ca token tokens memory",
		"host check poll beat messages-per-second max-connections"},
	{computed, "Device; rounding depends on it, and so does the noise that covers rounding:", "device store", "precision"},
	{computed, "Performance; results and guarantees do not depend on it:", "workers parallel team part merge",
		"team-deadline part-out retry checkpoint-every"},
	{ofRun, charge, "ledger data-id yes resume seed", ""},
	{ofRun, pagesOf, "force report track plot", ""},
	{ofRun, "Output:", "out onnx sql python go npz safetensors curves format dir state approved encoded stability pages " +
		"pages-only relation coordinates padded",
		"table unknown mirror out-schema study institution purpose responsible language needs decimal sheet encoding " +
			"max-rows persons held-out held-out-schema envelope only peers variant"},
}

// firstFlags are the flags of the first view.
var firstFlags = words("data schema n d records state pairs out public-data candidates models k metric splits " +
	"task algorithm epsilon delta holdout holdout-epsilon max-epsilon with plan reference runs time server dir listen " +
	"protocol cert key token memory")

func words(s string) []string { return strings.Fields(s) }

// sectionOf returns the index of a flag's section and the flag's place in the section.
func sectionOf(name string) (section, place int) {
	for i, s := range sections {
		if p := slices.Index(words(s.flags+" "+s.keys), name); p >= 0 {
			return i, p
		}
	}
	last := len(sections) - 1
	return last, len(sections[last].flags)
}

// keyBut lists options that are keys of some commands and flags of others. For example, noise, steps and batches are
// the main inputs of dyad account.
var keyBut = map[string]string{"noise": "account", "steps": "account", "batch": "account", "person-rows": "account"}

// isKey reports whether an option of a command is set by --set.
func isKey(command, name string) bool {
	return !slices.Contains(strings.Split(keyBut[name], ", "), command) &&
		slices.ContainsFunc(sections, func(s struct {
			part, title, flags,
			keys string
		}) bool {
			return slices.Contains(words(s.keys), name)
		})
}

// view is the amount of text that the help of a command shows.
type view int

const (
	firstView view = iota
	allFlags       // all flags; flags that several commands take appear by name only, unless they are in the first view
	reference      // like allFlags, for the page that also has the texts of shared flags
)

// allHelp removes "all" after --help from the arguments and returns the requested view.
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

// bySection compares flags by their positions in the sections.
func bySection(a, b *kong.Flag) int {
	s, p := sectionOf(a.Name)
	t, q := sectionOf(b.Name)
	return cmp.Or(cmp.Compare(s, t), cmp.Compare(p, q))
}

// shared reports whether the help of a command lists a flag by name only, because several commands take the flag with
// the same text.
func shared(f *kong.Flag, all view) bool {
	return (all == reference || !slices.Contains(firstFlags, f.Name)) &&
		slices.ContainsFunc(whole.keys, func(k key) bool { return k.flag.Name == f.Name && k.flag.Help == f.Help })
}

// printHelp prints the help of a command. Its own flags and the flags of the first view have their texts; keys appear
// by name. Unless all flags are requested, a command with many flags shows the first view only. The flags of all
// commands are in "dyad --help".
func printHelp(all view) kong.HelpPrinter {
	return func(o kong.HelpOptions, ctx *kong.Context) error {
		command := ctx.Selected()
		if command == nil && all == reference {
			return writeReference(ctx.Stdout, ctx.Model.Node, nil, nil)
		}
		if command == nil {
			return printCommands(all == allFlags, o, ctx)
		}
		if _, err := wholeGrammar(); err != nil {
			return err
		}
		for _, f := range ctx.Model.Flags {
			f.Hidden = true
		}
		for n := command; n != nil; n = n.Parent {
			n.Group = nil // the group is used only in "dyad --help"
		}
		slices.SortStableFunc(command.Flags, bySection)
		var named, keys []*kong.Flag
		count, hidden := 0, 0
		path := strings.TrimPrefix(command.FullPath(), "dyad ")
		flags := slices.DeleteFunc(slices.Clone(command.Flags),
			func(f *kong.Flag) bool { return f.Hidden || isKey(path, f.Name) })
		many := len(flags) > mostFlags
		for _, f := range command.Flags {
			if f.Hidden {
				continue
			}
			f.Help = cmp.Or(f.Help, whole.texts[f.Name])
			if isKey(path, f.Name) {
				f.Hidden = true
				keys = append(keys, f)
				continue
			}
			count++
			switch s, _ := sectionOf(f.Name); {
			case shared(f, all):
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
			return writeReference(ctx.Stdout, command, named, keys)
		}
		if err := kong.DefaultHelpPrinter(o, ctx); err != nil {
			return err
		}
		if many && all == firstView {
			count, hidden, named = count-hidden-len(named), count, nil
			fmt.Fprintf(ctx.Stdout, "\nThese are %d of %d flags; \"%s --help all\" shows all.\n", count, hidden,
				command.FullPath())
		}
		writeNames(ctx.Stdout, "Also, explained by \"dyad help NAME\"", "--", named)
		if len(keys) > 0 && (all != firstView || !many && len(keys) <= mostFlags) {
			writeNames(ctx.Stdout, "Keys, given by --set KEY=VALUE or a file of --config and explained by \"dyad help KEY\"", "",
				keys)
		} else if len(keys) > 0 {
			fmt.Fprintf(ctx.Stdout,
				"\nIts %d keys are given by --set KEY=VALUE or a file of --config; \"%s --help all\" lists them.\n", len(keys),
				command.FullPath())
		}
		if all == firstView {
			fmt.Fprint(ctx.Stdout, "\n\"dyad --help\" has the flags of every command, such as --json.\n")
		}
		return nil
	}
}

// writeReference writes the help of a command for the page of all commands. That page contains the texts of the
// flags in named only once.
func writeReference(w io.Writer, command *kong.Node, named, keys []*kong.Flag) error {
	var b strings.Builder
	// otherwise the usage repeats the title
	if usage := strings.TrimSuffix(command.Summary(), " [flags]"); usage != command.Path() && command.Parent != nil {
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
		b.WriteString(behind("Also", alsoTakes(command, named, false)))
	}
	keys = slices.DeleteFunc(keys, func(f *kong.Flag) bool {
		alone := !slices.ContainsFunc(whole.keys, func(k key) bool { return k.flag.Name == f.Name && len(k.commands) > 1 })
		if alone {
			b.WriteString(behind(key{flag: f, set: true}.head(), f.Help))
		}
		return alone
	})
	if len(keys) > 0 {
		b.WriteString(behind("Keys", alsoTakes(command, keys, true)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// behind returns a text with its heading in front.
func behind(head, text string) string { return "  " + foldedAt(120, "    ", head+": "+text)[4:] }

// alsoTakes lists names of flags, or keys. If it is much shorter, it refers to the flags of an earlier command instead.
func alsoTakes(command *kong.Node, named []*kong.Flag, keys bool) string {
	of := func(c *kong.Node) (names []string) {
		for _, f := range c.Flags {
			if isKey(strings.TrimPrefix(c.FullPath(), "dyad "), f.Name) == keys {
				names = append(names, f.Name)
			}
		}
		return names
	}
	what, dashes := "flags", " --"
	if keys {
		what, dashes = "keys", " "
	}
	list := func(names, but []string) (text string) {
		for _, n := range names {
			if !slices.Contains(but, n) && n != "help" {
				text += dashes + n
			}
		}
		return text
	}
	var all []string
	for _, f := range named {
		all = append(all, f.Name)
	}
	names := list(all, nil)
	best := names
	for _, other := range whole.parser.Model.Leaves(true) {
		if other.FullPath() == command.FullPath() {
			break
		}
		text := " the " + what + " of " + other.FullPath()
		if without := list(of(other), of(command)); without != "" {
			text += " but" + without
		}
		if rest := list(all, of(other)); rest != "" {
			text += ", and" + rest
		}
		if len(text) < len(best) && len(text) < len(names)*4/5 {
			best = text
		}
	}
	return strings.TrimSpace(best)
}

// printCommands prints the commands of the program grouped by task and only the names of the others. If all is
// set, it prints all commands.
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
	_, err := fmt.Fprint(ctx.Stdout, folded("", "Others are "+strings.Join(others, ", ")+
		"; \"dyad --help all\" lists every command."))
	return err
}
