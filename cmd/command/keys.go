package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/alecthomas/kong"
)

// key is an option that several commands take in one meaning. Its text stands once, on the page "dyad help keys"; the help of
// those commands lists its name.
type key struct {
	flag     *kong.Flag
	commands []string // without "dyad"
	set      bool     // a command line gives it by --set
}

// whole is the grammar of all commands, to look at, with its keys: options that two commands or more take in the same words, in the
// order of sections. A flag without a text means the same as the first one of its name that has one.
var whole struct {
	once    sync.Once
	parser  *kong.Kong
	options []key             // all, those of one command, too
	texts   map[string]string // of flags without one
	keys    []key
	err     error
}

func wholeGrammar() (*kong.Kong, error) {
	whole.once.Do(func() {
		if whole.parser, whole.err = newParser(&cli{}, io.Discard, io.Discard); whole.err == nil {
			whole.options, whole.texts = optionsOf(whole.parser.Model)
			whole.keys = slices.DeleteFunc(slices.Clone(whole.options), func(k key) bool {
				return len(k.commands) < 2 && !k.set
			})
		}
	})
	return whole.parser, whole.err
}

func optionsOf(app *kong.Application) (all []key, texts map[string]string) {
	at, texts := map[string]int{}, map[string]string{}
	for _, leaf := range app.Leaves(true) {
		for _, f := range leaf.Flags {
			texts[f.Name] = cmp.Or(texts[f.Name], f.Help)
		}
	}
	for _, leaf := range app.Leaves(true) {
		for _, f := range leaf.Flags {
			if f.Hidden {
				continue
			}
			f.Help = cmp.Or(f.Help, texts[f.Name])
			command := strings.TrimPrefix(leaf.FullPath(), "dyad ")
			id := fmt.Sprintln(f.Name, f.Help, isKey(command, f.Name))
			if _, ok := at[id]; !ok {
				at[id] = len(all)
				all = append(all, key{flag: f, set: isKey(command, f.Name)})
			}
			k := &all[at[id]]
			k.commands = append(k.commands, command)
		}
	}
	slices.SortStableFunc(all, func(a, b key) int { return bySection(a.flag, b.flag) })
	return all, texts
}

// text is the paragraph of a key: its flag, its meaning, and the commands that take it.
func (k key) text() string {
	return "  " + k.head() + "\n" + folded("      ", k.flag.Help) + folded("      ", "Of "+strings.Join(k.commands, ", ")+".")
}

// head is how an option is written.
func (k key) head() string {
	if k.set {
		return strings.TrimPrefix(flagHead(k.flag), "--")
	}
	return flagHead(k.flag)
}

// flagHead is how a flag is written.
func flagHead(f *kong.Flag) string {
	head := "--" + f.Name
	if f.Short != 0 {
		head = fmt.Sprintf("-%c, %s", f.Short, head)
	}
	if !f.IsBool() {
		head += "=" + f.FormatPlaceHolder()
	}
	return head
}

// folded are the lines of a text that fit a page, each after an indent.
func folded(indent, text string) string { return foldedAt(100, indent, text) }

func foldedAt(width int, indent, text string) string {
	var b strings.Builder
	line := indent
	for i, w := range strings.Fields(text) {
		if i > 0 && len(line)+1+len(w) > width {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += w
	}
	return b.String() + line + "\n"
}

// keysTopic is the page of all keys, with the commands of each. For the page of all commands, which lists the keys of a command, only
// those with another text than most commands have name theirs.
func keysTopic(all view) string {
	if _, err := wholeGrammar(); err != nil {
		return err.Error()
	}
	b := strings.Builder{}
	b.WriteString(folded("", "Options that several commands take, and keys. In a file of --config, --epsilon 2 is \"epsilon: 2\". A key is written without dashes: "+
		"a command line gives it by --set, so that --set steps=5 is \"steps: 5\". \"dyad help steps\" prints one of them, \"dyad help charge\" a group."))
	title, most := "", map[string]int{}
	for _, k := range whole.keys {
		most[k.flag.Name] = max(most[k.flag.Name], len(k.commands))
	}
	for _, k := range whole.keys {
		if all == reference && len(k.commands) == 1 && most[k.flag.Name] == 1 {
			continue // its command has the text
		}
		if i, _ := sectionOf(k.flag.Name); sections[i].title != title {
			title = sections[i].title
			fmt.Fprintf(&b, "\n%s (%s)\n", strings.TrimSuffix(title, ":"), sections[i].part)
		}
		switch {
		case all != reference:
			b.WriteString(k.text())
		case len(k.commands) == most[k.flag.Name]:
			b.WriteString(behind(k.head(), k.flag.Help))
			most[k.flag.Name] = -1 // another of as many names its commands
		default:
			b.WriteString(behind(k.head(), k.flag.Help+" Of "+strings.Join(k.commands, ", ")+"."))
		}
	}
	return b.String()
}

// keyTopic explains all options of a name, or of the section whose title begins with it, "" if there are none or a command has the name.
func keyTopic(name string) string {
	parser, err := wholeGrammar()
	if err != nil || slices.ContainsFunc(parser.Model.Children, func(n *kong.Node) bool { return n.Name == name }) {
		return ""
	}
	var named, grouped strings.Builder
	for _, k := range whole.options {
		i, _ := sectionOf(k.flag.Name)
		if k.flag.Name == strings.TrimPrefix(name, "--") {
			named.WriteString(k.text())
		} else if strings.EqualFold(strings.Trim(words(sections[i].title)[0], ":;,"), name) {
			grouped.WriteString(k.text())
		}
	}
	text := cmp.Or(named.String(), grouped.String())
	if text != "" {
		text += "\"dyad help words\" has the words of reports.\n"
	}
	return text
}

// writeNames lists the names of some options of a command, by section.
func writeNames(w io.Writer, head, dashes string, flags []*kong.Flag) {
	if len(flags) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s:\n", head)
	for i := 0; i < len(flags); {
		s, _ := sectionOf(flags[i].Name)
		title, _, _ := strings.Cut(sections[s].title, ";")
		line := strings.TrimSuffix(title, ":") + ":"
		for ; i < len(flags); i++ {
			if t, _ := sectionOf(flags[i].Name); t != s {
				break
			}
			line += " " + dashes + flags[i].Name
		}
		fmt.Fprint(w, folded("  ", line))
	}
}
