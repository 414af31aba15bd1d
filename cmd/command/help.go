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
			return writeReference(ctx.Stdout, "", ctx.Model.Node, nil, nil)
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
		usage := usageOf(command)
		var named, keys []*kong.Flag
		count, hidden := 0, 0
		path := command.Path()
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
			return writeReference(ctx.Stdout, usage, command, named, keys)
		}
		fmt.Fprintf(ctx.Stdout, "Usage: dyad %s\n", usage)
		o.NoAppSummary = true // the line above
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
			writeNames(ctx.Stdout, `Keys, for --set KEY=VALUE or a --config file; "dyad help KEY" explains one`, "",
				keys)
		} else if len(keys) > 0 {
			fmt.Fprintf(ctx.Stdout,
				"\nSet its %d keys by --set KEY=VALUE or a --config file; \"%s --help all\" lists them.\n", len(keys),
				command.FullPath())
		}
		if all == firstView {
			fmt.Fprint(ctx.Stdout, "\n\"dyad --help\" has the flags of every command, such as --json.\n")
		}
		return nil
	}
}

// usageOf returns the usage of a command. Of flags that must be given and exclude each other, one is given.
func usageOf(command *kong.Node) string {
	var needed []string
	told := map[string]bool{}
	for _, f := range command.Flags {
		if !f.Required || f.Hidden || told[f.Name] {
			continue
		}
		var either []string
		for _, g := range command.Flags {
			excludes := func(x string) bool { return slices.Contains(f.Xor, x) }
			if g == f || g.Required && !g.Hidden && slices.ContainsFunc(g.Xor, excludes) {
				told[g.Name] = true
				either = append(either, g.Summary())
			}
		}
		text := strings.Join(either, " | ")
		if len(either) > 1 {
			text = "(" + text + ")"
		}
		needed = append(needed, text)
	}
	return strings.Replace(command.Summary(), command.FlagSummary(true), strings.Join(needed, " "), 1)
}

// writeReference writes the help of a command for the page of all commands. That page contains the texts of the
// flags in named only once.
func writeReference(w io.Writer, usage string, command *kong.Node, named, keys []*kong.Flag) error {
	var b strings.Builder
	// otherwise the usage repeats the title
	if usage = strings.TrimSuffix(usage, " [flags]"); usage != command.Path() && command.Parent != nil {
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

// alsoTakes lists names of flags, or keys. If it is much shorter, it refers to the flags of an earlier command instead.
func alsoTakes(command *kong.Node, named []*kong.Flag, keys bool) string {
	of := func(c *kong.Node) (names []string) {
		for _, f := range c.Flags {
			if isKey(c.Path(), f.Name) == keys {
				names = append(names, f.Name)
			}
		}
		return names
	}
	what, dashes := pick(keys, "keys", "flags"), pick(keys, " ", " --")
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
