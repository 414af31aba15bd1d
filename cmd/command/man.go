package command

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"dyad/internal/files"
)

type manCmd struct {
	Command []string `arg:"" optional:"" help:"Command, such as data schema. Default: the page of dyad."`
	Dir     string   `placeholder:"FOLDER" help:"Write the pages of all commands into this folder, and replace existing pages."`
}

// Run writes pages.
func (c *manCmd) Run(a *app) error {
	parser, err := wholeGrammar()
	if err != nil {
		return err
	}
	if c.Dir == "" {
		node := parser.Model.Node
		c.Command, _ = currentNames(c.Command)
		for i, word := range c.Command {
			next := slices.IndexFunc(node.Children, func(n *kong.Node) bool {
				return n.Type == kong.CommandNode &&
					n.Name == word
			})
			if next < 0 {
				return badInput("there is no command %s; dyad --help lists all", strings.Join(c.Command[:i+1], " "))
			}
			node = node.Children[next]
		}
		text := manPage(node)
		return a.print(map[string]string{"page": manName(node) + ".1", "text": text}, text)
	}
	if len(c.Command) > 0 {
		return badInput("--dir writes the pages of all commands, so leave %s out", strings.Join(c.Command, " "))
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return asInput(err)
	}
	var pages []string
	for _, n := range tree(parser.Model.Node) {
		pages = append(pages, manName(n)+".1")
		if err := files.Replace(filepath.Join(c.Dir, manName(n)+".1"), []byte(manPage(n))); err != nil {
			return asInput(err)
		}
	}
	return a.emit(map[string]any{"dir": c.Dir, "pages": pages}, fmt.Sprintf("%d pages are in %s\n", len(pages), c.Dir))
}

// manName returns the name of the manual page of a command.
func manName(n *kong.Node) string {
	return strings.ReplaceAll(n.FullPath(), " ", "-")
}

// commandsOf returns the commands of a command that users see.
func commandsOf(n *kong.Node) []*kong.Node {
	return slices.DeleteFunc(slices.Clone(n.Children),
		func(child *kong.Node) bool { return child.Type != kong.CommandNode || child.Hidden })
}

// tree returns a command and all commands below it.
func tree(n *kong.Node) []*kong.Node {
	all := []*kong.Node{n}
	for _, child := range commandsOf(n) {
		all = append(all, tree(child)...)
	}
	return all
}

// roff escapes a text for roff: backslashes, the hyphens of flags, and lines that begin like a request.
func roff(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\e`), "-", `\-`)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

// manPage returns the manual page of a command in the macros of man(7). The page has no date, so that the same
// program always writes the same page.
func manPage(n *kong.Node) string {
	var b strings.Builder
	title := strings.ToUpper(manName(n))
	fmt.Fprintf(&b, ".\\\" written by \"dyad man\"\n.TH %q 1 \"\" %q \"User Commands\"\n", roff(title), "dyad "+version)
	short := pick(n.Parent == nil, "pairwise learning with differential privacy", strings.TrimSuffix(n.Help, "."))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", roff(manName(n)), roff(short), roff(n.FullPath()))
	if !n.Leaf() {
		b.WriteString(".I COMMAND\n")
	}
	for _, p := range n.Positional {
		fmt.Fprintf(&b, ".I %s\n", roff(p.Summary()))
	}
	b.WriteString("[flags]\n.SH DESCRIPTION\n")
	description, examples, _ := strings.Cut(pick(n.Parent == nil, n.Help, n.Detail), "Examples:\n")
	description = cmp.Or(strings.TrimSpace(description), strings.TrimSpace(n.Help))
	for i, paragraph := range strings.Split(description, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(roff(paragraph) + "\n")
	}
	if len(n.Positional) > 0 {
		b.WriteString(".SH ARGUMENTS\n")
		for _, p := range n.Positional {
			fmt.Fprintf(&b, ".TP\n.I %s\n%s\n", roff(p.Summary()), roff(p.Help))
		}
	}
	var also []string
	if !n.Leaf() {
		b.WriteString(".SH COMMANDS\n")
		for _, child := range commandsOf(n) {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(child.FullPath()), roff(child.Help))
			also = append(also, manName(child))
		}
	}
	for i, level := range slices.Backward(n.AllFlags(true)) {
		heading := pick(i == 0 && n.Parent != nil, "OPTIONS OF ALL COMMANDS", "OPTIONS")
		fmt.Fprintf(&b, ".SH %s\n", heading)
		for _, f := range level {
			head := flagHead(f)
			if isKey(n.Path(), f.Name) {
				head = strings.Replace(head, "--", "--set ", 1)
			}
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(head), roff(f.Help))
		}
	}
	if examples != "" {
		var lines []string
		for line := range strings.Lines(examples) {
			lines = append(lines, strings.TrimSpace(line))
		}
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(strings.TrimSpace(strings.Join(lines, "\n"))))
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range exits() {
		fmt.Fprintf(&b, ".TP\n%d\n%s\n", e.code, roff(e.meaning))
	}
	if n.Parent != nil {
		also = append(also, manName(n.Parent))
	}
	for i := range also {
		also[i] = fmt.Sprintf(".BR %s (1)", roff(also[i]))
	}
	fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(also, ",\n"))
	return b.String()
}
