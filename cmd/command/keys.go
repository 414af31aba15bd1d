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

// key is an option that several commands take with the same meaning. Its text appears once, on the page "dyad help
// keys". The help of these commands lists only its name.
type key struct {
	flag     *kong.Flag
	commands []string // names of the commands, without "dyad"
	set      bool     // the option is set by --set
}

// whole is the grammar of all commands, for look-up, with its keys. A key is an option that at least two commands take
// with the same text. Keys are in the order of sections. A flag without a text has the meaning of the first flag of the
// same name that has a text.
var whole struct {
	once    sync.Once
	parser  *kong.Kong
	options []key             // all options, including options of a single command
	texts   map[string]string // texts for flags without a text of their own
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
			command := leaf.Path()
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

// text returns the paragraph of a key: its flag, its meaning, and the commands that take it.
func (k key) text() string {
	return "  " + k.head() + "\n" + folded("      ", k.flag.Help) + folded("      ", "Of "+
		strings.Join(k.commands, ", ")+".")
}

// head returns the spelling of an option.
func (k key) head() string {
	if k.set {
		return strings.TrimPrefix(flagHead(k.flag), "--")
	}
	return flagHead(k.flag)
}

// flagHead returns the spelling of a flag.
func flagHead(f *kong.Flag) string {
	return pick(f.Short != 0, fmt.Sprintf("-%c, ", f.Short), "") + "--" + f.Name +
		pick(f.IsBool(), "", "="+f.FormatPlaceHolder())
}

// folded returns a text in lines that fit a page, each after an indent.
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

// keysTopic returns the page of all keys with the commands of each key. In the version for the page of all commands,
// which lists the keys of each command, a key names its commands only if its text differs from the text of most
// commands.
func keysTopic(all view) string {
	if _, err := wholeGrammar(); err != nil {
		return err.Error()
	}
	b := strings.Builder{}
	b.WriteString(folded("",
		`Options of several commands. In a --config file, --epsilon 2 is "epsilon: 2". Set options without dashes `+
			`with --set steps=5, or "steps: 5" in the file. For one option, see "dyad help steps"; for a group, `+
			`"dyad help charge".`))
	title, most := "", map[string]int{}
	for _, k := range whole.keys {
		most[k.flag.Name] = max(most[k.flag.Name], len(k.commands))
	}
	for _, k := range whole.keys {
		if all == reference && len(k.commands) == 1 && most[k.flag.Name] == 1 {
			continue // the help of its command has the text
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
			most[k.flag.Name] = -1 // if another text is as frequent, it also names its commands
		default:
			b.WriteString(behind(k.head(), k.flag.Help+" Of "+strings.Join(k.commands, ", ")+"."))
		}
	}
	return b.String()
}

// keyTopic returns the explanation of all options with a name, or of the section whose title begins with the name. It
// returns "" if there are none or a command has the name.
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
		text += "\"dyad help words\" explains the words of reports.\n"
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

// behind returns a text with its heading in front.
func behind(head, text string) string { return "  " + foldedAt(120, "    ", head+": "+text)[4:] }
