package command

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"dyad/engine"
)

//go:embed topics/words.txt
var wordsTopic string

//go:embed topics/choosing.txt
var choosingTopic string

//go:embed topics/commands.txt
var commandTexts string

// details sets the texts of the help of all commands. Each text stands in the file behind a line with the command.
func details(k *kong.Kong) error {
	texts := map[string]string{}
	for part := range strings.SplitSeq("\n"+commandTexts, "\n== ") {
		command, text, _ := strings.Cut(part, "\n")
		texts[command] = strings.Replace(strings.TrimSpace(text), "{functions}", strings.Join(engine.Functions(), " "), 1)
	}
	return kong.Visit(k.Model, func(v kong.Visitable, next kong.Next) error {
		if n, ok := v.(*kong.Node); ok {
			n.Detail = texts[n.Path()]
		}
		return next(nil)
	})
}

// topic is a page that "dyad help NAME" prints.
type topic struct {
	name, title string
	text        func() string
}

func topics() []topic {
	return []topic{
		{"words", "what the words of reports mean", func() string { return wordsTopic }},
		{"choosing", "how to choose epsilon, delta, ranges and n", func() string { return choosingTopic }},
		{"exits", "exit codes, for scripts", func() string { return exitList("", "\t", "\n") }},
		{"keys", "options of several commands, and what they mean", func() string { return keysTopic(allFlags) }},
	}
}

// helpTopic prints the page with the given name, or the meaning of a key, and reports whether there is one. If a
// command and a key have the same name, the command is meant.
func helpTopic(w io.Writer, name string) bool {
	all := topics()
	i := slices.IndexFunc(all, func(t topic) bool { return t.name == name })
	text := ""
	if i >= 0 {
		text = all[i].text()
	} else {
		text = cmp.Or(keyTopic(name), wordTopic(name))
	}
	fmt.Fprint(w, text)
	return text != ""
}

// wordTopic returns the entry of "dyad help words" with a name, or "".
func wordTopic(name string) string {
	for _, w := range glossary() {
		if w.Name == name {
			return w.Name + "\n" + folded("  ", w.Means)
		}
	}
	return ""
}

// topicList returns a text with one line for each page.
func topicList() string {
	var b strings.Builder
	for _, t := range topics() {
		fmt.Fprintf(&b, "dyad help %s: %s\n\n", t.name, t.title)
	}
	return strings.TrimSuffix(b.String(), "\n\n")
}
